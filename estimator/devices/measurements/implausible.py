"""Rows whose times no device could show: of a whole table, whose unit is then wrong, or of single rows.

A time is compared with what the data sheet allows: ratio = time / (bound + launch), the bound of direct arithmetic and
compulsory traffic. In the tables of the library the median of a kind of op is below 8, and single rows are below 400.
A slip of a unit is a factor of 1000.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

from estimator.core.errors import EstimatorError
from estimator.core.types import DeviceSpec, Flags, Floats
from estimator.core.units import and_more
from estimator.devices.measurements import bounds

MOST_OF_TABLE = 300.0  # times the data sheet's, of the median row
MOST_OF_ROW = 400.0  # of a row whose table is plausible
LEAST = 0.01  # of both; caches and transforms make a row faster than the data sheet allows by less than 50
LAUNCH_S = 1e-5  # of a device that states none


class TimeRatios(NamedTuple):
    """Time of each row over what the data sheet allows; NaN where that is not known."""

    with_launch: Floats  # over the bound and one launch
    without: Floats  # over the bound alone, which measured peaks and bandwidths do not set


def time_ratios(rows: pd.DataFrame, device: DeviceSpec) -> TimeRatios:
    """How far the times of MEASUREMENTS are from what the device's data sheet allows."""
    launch_s = max(LAUNCH_S, device.launch_latency.value if device.launch_latency else 0.0)
    stated_s, physical_s = (bounds.least_times(rows, limits) for limits in (device, bounds.physical(device)))
    time_s = rows["time_s"].to_numpy(dtype=float)
    return TimeRatios(_ratio(time_s, stated_s, launch_s), _ratio(time_s, physical_s, 0.0))


def _ratio(time_s: Floats, least_s: Floats, launch_s: float) -> Floats:
    return np.asarray(np.divide(time_s, least_s + launch_s, out=np.full(len(time_s), np.nan), where=least_s > 0))


def refuse_wrong_unit(ratios: TimeRatios, device: DeviceSpec, path: Path) -> None:
    """Raise EstimatorError where the times of a whole table are far from what the data sheet allows."""
    slow, fast = _middle(ratios.with_launch), _middle(ratios.without)
    for ratio, is_off in ((slow, slow > MOST_OF_TABLE), (fast, fast < LEAST)):
        if is_off:
            raise EstimatorError(
                f"{path}: the median row takes {ratio:.3g} x the time that the data sheet of {device.name} allows; "
                "time_s is in seconds, so check its unit, or the device"
            )


def are_implausible(rows: pd.DataFrame, ratios: TimeRatios, device: DeviceSpec) -> Flags:
    """Which rows are far from what the data sheet allows."""
    unsupported = [bounds.without_hardware_path(rows, device, name) for name in rows["precision"].unique()]
    emulated = np.logical_or.reduce(unsupported) if unsupported else np.zeros(len(rows), dtype=bool)
    is_off = (ratios.with_launch > MOST_OF_ROW) | (ratios.without < LEAST)
    return np.asarray(is_off & ~emulated, dtype=bool)


def left_out_note(rows: pd.DataFrame, with_launch: Floats, device: DeviceSpec, where: str) -> Iterator[str]:
    """A note on implausible rows, which are left out, from their ratios with a launch."""
    if len(rows):
        yield (
            f"{where}: row {rows.index[0] + 1}{and_more(len(rows))}: {with_launch[0]:.3g} x the time that the "
            f"data sheet of {device.name} allows, unlike the others, and left out; check the unit, time_s is in seconds"
        )


def _middle(values: Floats) -> float:
    """The median of known values, the lower one of two; 1 where none is known."""
    known = values[~np.isnan(values)]
    return float(np.quantile(known, 0.5, method="lower")) if len(known) else 1.0
