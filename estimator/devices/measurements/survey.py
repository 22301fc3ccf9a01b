"""What a measured table holds: rows, flags and best rates by op class and precision, summed over frames."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pandas as pd

from estimator.core.types import DeviceSpec
from estimator.devices.measurements import bounds

KIND = ["op_class", "precision"]
COUNTS = ["rows", "left_out", "beats_bound", "above_peak"]
BEST = ["best_flop_per_s", "best_share"]
DTYPES = {**dict.fromkeys(KIND, "object"), **dict.fromkeys((*COUNTS, *BEST), "float64")}
NOTHING = pd.DataFrame(columns=[*KIND, *COUNTS, *BEST])


def survey(rows: pd.DataFrame, device: DeviceSpec | None, left_out: pd.DataFrame | None = None) -> pd.DataFrame:
    """Counts of one frame by op class and precision; ``best_share`` is the best rate over its peak."""
    rate, flag = bounds.rates(rows), rows["flag"].fillna("")
    peak = bounds.peaks(rows, device) if device else np.full(len(rows), np.inf)
    counted = rows[KIND].assign(
        rows=1,
        beats_bound=flag.eq("beats_bound").astype(int),
        above_peak=flag.eq("above_peak").astype(int),
        best_flop_per_s=rate,
        best_share=np.where(np.isfinite(peak), rate / peak, np.nan),
    )
    if left_out is not None:
        return total([counted, left_out.reindex(columns=KIND).astype(object).fillna("").assign(left_out=1)])
    return total([counted])


def total(surveys: Iterable[pd.DataFrame]) -> pd.DataFrame:
    """The sum of several surveys; of rates and shares the best."""
    filled = [found for found in surveys if len(found)] or [NOTHING]
    frame = pd.concat([found.reindex(columns=NOTHING.columns).astype(DTYPES) for found in filled])
    groups = frame.groupby(KIND, sort=True)
    return pd.concat([groups[COUNTS].sum().astype(int), groups[BEST].max()], axis=1).reset_index()
