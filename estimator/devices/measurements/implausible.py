"""Rows whose times no device could show: of a whole table, whose unit is then wrong, or of single rows.

A time is compared with what the data sheet allows: ratio = time / (bound + launch), the bound of direct arithmetic and
compulsory traffic. In the tables of the library the median of a kind of op is below 8, and single rows are below 400.
A slip of a unit is a factor of 1000.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd

from estimator.core.errors import EstimatorError
from estimator.core.types import DeviceSpec, Flags, Floats
from estimator.devices.measurements import bounds
from estimator.devices.measurements.suspicious_rows import and_more

MOST_OF_TABLE = 300.0  # times the data sheet's, of the median row
MOST_OF_ROW = 400.0  # of a row whose table is plausible
LEAST = 0.01  # of both; caches and transforms make a row faster than the data sheet allows by less than 50
LAUNCH_S = 1e-5  # of a device that states none


def refuse_wrong_unit(rows: pd.DataFrame, device: DeviceSpec, path: Path) -> None:
    """Raise EstimatorError where the times of a whole table are far from what the data sheet allows."""
    slow, fast = ratios(rows, device), _over_least_times(rows, device)
    for ratio, is_off in ((_middle(slow), _middle(slow) > MOST_OF_TABLE), (_middle(fast), _middle(fast) < LEAST)):
        if is_off:
            raise EstimatorError(
                f"{path}: the median row takes {ratio:.3g} x the time that the data sheet of {device.name} allows; "
                "time_s is in seconds, so check its unit, or the device"
            )


def are_implausible(rows: pd.DataFrame, device: DeviceSpec) -> Flags:
    """Which rows are far from what the data sheet allows."""
    unsupported = [bounds.without_hardware_path(rows, device, name) for name in rows["precision"].unique()]
    emulated = np.logical_or.reduce(unsupported) if unsupported else np.zeros(len(rows), dtype=bool)
    is_off = (ratios(rows, device) > MOST_OF_ROW) | (_over_least_times(rows, device) < LEAST)
    return np.asarray(is_off & ~emulated, dtype=bool)


def left_out_note(rows: pd.DataFrame, device: DeviceSpec, where: str) -> Iterator[str]:
    """A note on implausible rows, which are left out."""
    if len(rows):
        ratio = ratios(rows.head(1), device)[0]
        yield (
            f"{where}: row {rows.index[0] + 1}{and_more(len(rows))}: {ratio:.3g} x the time that the data sheet of "
            f"{device.name} allows, unlike the others, and left out; check the unit, time_s is in seconds"
        )


def ratios(rows: pd.DataFrame, device: DeviceSpec) -> Floats:
    """Time of each row over what the data sheet allows with one launch; NaN where it is not known."""
    launch_s = max(LAUNCH_S, device.launch_latency.value if device.launch_latency else 0.0)
    least_s = bounds.least_times(rows, device)
    return np.asarray(np.where(least_s > 0, rows["time_s"].to_numpy(dtype=float) / (least_s + launch_s), np.nan))


def _over_least_times(rows: pd.DataFrame, device: DeviceSpec) -> Floats:
    """Time of each row over what the data sheet allows without a launch; NaN where it is not known."""
    least_s = bounds.least_times(rows, bounds.physical(device))
    time_s = rows["time_s"].to_numpy(dtype=float)
    return np.asarray(np.divide(time_s, least_s, out=np.full(len(rows), np.nan), where=least_s > 0))


def _middle(values: Floats) -> float:
    """The median of known values, the lower one of two; 1 where none is known."""
    known = values[~np.isnan(values)]
    return float(np.quantile(known, 0.5, method="lower")) if len(known) else 1.0
