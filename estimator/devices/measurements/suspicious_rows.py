"""Notes on rows that are kept though they look wrong: how many, and where the first is."""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd

from estimator.core.types import DeviceSpec, Flags
from estimator.core.units import and_more
from estimator.devices.measurements import bounds

SLOW_FACTOR, LONG_S = 1000.0, 1e-3  # times the bound, and seconds; beyond both the unit may be wrong


class SuspiciousRows:
    """Suspicious rows of the frames seen so far: count and first row of each kind."""

    def __init__(self) -> None:
        self.count_and_first: dict[str, tuple[int, str]] = {}

    def add(self, rows: pd.DataFrame, device: DeviceSpec, where: str) -> None:
        """Add MEASUREMENTS of a device."""
        for sentence, is_suspicious in _suspicious_rows(rows, device):
            if is_suspicious.any():
                count, first = self.count_and_first.get(
                    sentence, (0, f"{where}: row {rows.index[int(is_suspicious.argmax())] + 1}")
                )
                self.count_and_first[sentence] = count + int(is_suspicious.sum()), first

    def notes(self) -> Iterator[str]:
        """One note on each kind."""
        for sentence, (count, first) in self.count_and_first.items():
            yield f"{first}{and_more(count)}: {sentence}"


def _suspicious_rows(rows: pd.DataFrame, device: DeviceSpec) -> Iterator[tuple[str, Flags]]:
    time_s, bound_s = rows["time_s"].to_numpy(dtype=float), bounds.least_times(rows, device)
    is_slow = (time_s > SLOW_FACTOR * bound_s) & (bound_s > 0) & (time_s > LONG_S)
    yield f"over {SLOW_FACTOR:g} x the time that the data sheet of {device.name} allows; check the unit", is_slow
    for precision in rows["precision"].unique():
        without_path = bounds.without_hardware_path(rows, device, precision)
        yield f"{device.name} has no hardware path for {precision}; check the precision, and the device", without_path
