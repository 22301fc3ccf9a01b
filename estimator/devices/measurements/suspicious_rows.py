"""Rows that are taken though they look wrong: sentences on how many there are, and where the first stands."""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd

from estimator.core.types import DeviceSpec, Flags
from estimator.devices.measurements import bounds

SLOW, LONG = 1000.0, 1e-3  # times over what the data sheet allows, and seconds, above which a unit may be wrong


class SuspiciousRows:
    """What is odd in the frames seen so far: how many rows each sentence is about, and where the first stands."""

    def __init__(self) -> None:
        self.found: dict[str, tuple[int, str]] = {}

    def add(self, rows: pd.DataFrame, device: DeviceSpec, where: str) -> None:
        """Look at the MEASUREMENTS of a device."""
        for what, odd in _odd(rows, device):
            if odd.any():
                count, first = self.found.get(what, (0, f"{where}: row {rows.index[int(odd.argmax())] + 1}"))
                self.found[what] = count + int(odd.sum()), first

    def sentences(self) -> Iterator[str]:
        """One sentence on each kind."""
        for what, (count, first) in self.found.items():
            yield f"{first}{and_more(count)}: {what}"


def and_more(count: int) -> str:
    """What to say behind the first of several rows."""
    return f" and {count - 1} more" if count > 1 else ""


def _odd(rows: pd.DataFrame, device: DeviceSpec) -> Iterator[tuple[str, Flags]]:
    time_s, least = rows["time_s"].to_numpy(dtype=float), bounds.least_times(rows, device)
    slow = (time_s > SLOW * least) & (least > 0) & (time_s > LONG)
    yield f"over {SLOW:g} x the time that the data sheet of {device.name} allows; check the unit", slow
    for precision in rows["precision"].unique():
        odd = bounds.of_no_path(rows, device, precision)
        yield f"{device.name} has no hardware path for {precision}; check the precision, and the device", odd
