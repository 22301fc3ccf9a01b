"""What the user declares of a file, and the first line of a file's head."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from estimator.core import units
from estimator.core.errors import EstimatorError
from estimator.core.number_formats import read_format
from estimator.core.types import ITEMSIZE, DeviceSpec


@dataclass(frozen=True)
class Declared:
    """Values for every row where the file itself gives none."""

    device: DeviceSpec | None = None
    library: str | None = None
    clock: str | None = None
    precision: str | None = None
    source: str | None = None
    topology: Path | None = None  # the layers of a simulated network

    def checked(self) -> Declared:
        """A copy with the precision in our words. Raises EstimatorError for an unknown precision or a bad clock."""
        precision = read_format(self.precision) if self.precision else None
        if precision not in (None, *ITEMSIZE):
            known = ", ".join(ITEMSIZE)
            raise EstimatorError(f"--precision is {self.precision!r}, which is not known; expected one of {known}")
        if self.clock is not None:
            self.parse_clock(self.clock)
        return replace(self, precision=precision)

    @staticmethod
    def parse_clock(clock: str) -> float:
        """Parse a clock [Hz]. Raises EstimatorError where it is no frequency."""
        try:
            value_hz = units.parse(clock, "Hz")
        except ValueError as error:
            raise EstimatorError(f"--clock {error}") from None
        if value_hz <= 0:
            raise EstimatorError(f"--clock is {clock!r}, which is not above zero; write a frequency such as '1 GHz'")
        return value_hz

    def columns(self) -> dict[str, str]:
        """The declared values by column of MEASUREMENTS."""
        device = self.device.name if self.device else None
        values = {name: getattr(self, name) for name in ("library", "clock", "precision", "source")}
        return {name: value for name, value in {"device": device, **values}.items() if value}


def first_line(head: bytes) -> str:
    """The first line of a head, decoded as text."""
    return head.decode("utf-8-sig", errors="replace").split("\n", 1)[0].strip()
