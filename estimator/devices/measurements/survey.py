"""Survey of a measured table: rows, flags and best rates by op class and precision, summed over frames."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pandas as pd

from estimator.core.types import DeviceSpec
from estimator.devices.measurements import bounds

KIND_COLUMNS = ["op_class", "precision"]
COUNT_COLUMNS = ["rows", "left_out", "beats_bound", "above_peak"]
BEST_COLUMNS = ["best_flop_per_s", "best_share"]
DTYPES = {**dict.fromkeys(KIND_COLUMNS, "object"), **dict.fromkeys((*COUNT_COLUMNS, *BEST_COLUMNS), "float64")}
EMPTY = pd.DataFrame(columns=[*KIND_COLUMNS, *COUNT_COLUMNS, *BEST_COLUMNS])


def survey(rows: pd.DataFrame, device: DeviceSpec | None, left_out: pd.DataFrame | None = None) -> pd.DataFrame:
    """Survey one frame by op class and precision; ``best_share`` is the best rate over its peak."""
    rate, flag = bounds.rates(rows), rows["flag"].fillna("")
    peak = bounds.peaks(rows, device) if device else np.full(len(rows), np.inf)
    counted = rows[KIND_COLUMNS].assign(
        rows=1,
        beats_bound=flag.eq("beats_bound").astype(int),
        above_peak=flag.eq("above_peak").astype(int),
        best_flop_per_s=rate,
        best_share=np.where(np.isfinite(peak), rate / peak, np.nan),
    )
    if left_out is not None:
        return total([counted, left_out.reindex(columns=KIND_COLUMNS).astype(object).fillna("").assign(left_out=1)])
    return total([counted])


def total(surveys: Iterable[pd.DataFrame]) -> pd.DataFrame:
    """The sum of several surveys; for rates and shares the best."""
    non_empty = [table for table in surveys if len(table)] or [EMPTY]
    frame = pd.concat([table.reindex(columns=EMPTY.columns).astype(DTYPES) for table in non_empty])
    groups = frame.groupby(KIND_COLUMNS, sort=True)
    return pd.concat([groups[COUNT_COLUMNS].sum().astype(int), groups[BEST_COLUMNS].max()], axis=1).reset_index()
