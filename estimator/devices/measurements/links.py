"""Latency and rate of a machine's links from its timed collectives: MEASUREMENTS → α and β of each kind."""

from __future__ import annotations

import numpy as np
import pandas as pd

from estimator.core.types import Floats, MeasuredLink

SERIES = ["operator", "ranks", "ranks_per_node"]
LEAST_SHARE = 0.3  # of some time that α or β must make up to be known


def measured_links(measurements: pd.DataFrame) -> tuple[MeasuredLink, ...]:
    """α and β of every kind of collective and size of group that was timed at two or more sizes."""
    if measurements.empty:  # as of most devices
        return ()
    alone = (measurements["ranks"] > 1) & (measurements["groups_at_once"].fillna(1) == 1)
    rows = measurements[(measurements["op_class"] == "collective") & measurements["flag"].isna() & alone.fillna(False)]
    series = rows.groupby(SERIES, dropna=False, sort=True)
    links = (_link(dict(zip(SERIES, key, strict=True)), of_series) for key, of_series in series)
    return tuple(link for link in links if link)


def _link(key: dict[str, object], rows: pd.DataFrame) -> MeasuredLink | None:
    times = rows.groupby("bytes")["time_s"].median()
    if len(times) < 2:
        return None
    size, time = times.index.to_numpy(dtype=float), times.to_numpy(dtype=float)
    latency_s, per_byte = alpha_beta(size, time)
    known = {
        "latency_s": latency_s if np.max(latency_s / time) > LEAST_SHARE else None,
        "seconds_per_byte": per_byte if np.max(per_byte * size / time) > LEAST_SHARE else None,
    }
    named = {name: None if pd.isna(value) else value for name, value in key.items()}
    return MeasuredLink.model_validate({**named, **known}) if any(known.values()) else None


def alpha_beta(size: Floats, time: Floats) -> tuple[float, float]:
    """α [s] and β [s/B], neither negative, of the smallest squares of (α + β·S) / t − 1 (Hockney's model, 1994)."""
    columns = np.stack([1.0 / time, size / time], axis=1)
    (latency, per_byte), *_ = np.linalg.lstsq(columns, np.ones(len(time)), rcond=None)
    if latency < 0 or per_byte < 0:  # the better of the two alone
        alone = columns.sum(axis=0) / np.square(columns).sum(axis=0)
        errors = np.square(columns * alone - 1.0).sum(axis=0)
        latency, per_byte = (alone[0], 0.0) if errors[0] <= errors[1] else (0.0, alone[1])
    return float(latency), float(per_byte)
