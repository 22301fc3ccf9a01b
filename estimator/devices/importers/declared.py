"""What the user says of a file that the file does not, and what readers tell of a file's head."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from estimator.core import units
from estimator.core.errors import EstimatorError
from estimator.core.types import ITEMSIZE, DeviceSpec
from estimator.devices.importers import names


@dataclass(frozen=True)
class Declared:
    """What holds of every row for which the file itself does not say otherwise."""

    device: DeviceSpec | None = None
    library: str | None = None
    clock: str | None = None
    precision: str | None = None
    source: str | None = None
    topology: Path | None = None  # the layers of a simulated network

    def checked(self) -> Declared:
        """The same with the precision in our words. Raises EstimatorError for a precision or clock that is none."""
        precision = names.precision(self.precision) if self.precision else None
        if precision not in (None, *ITEMSIZE):
            known = ", ".join(ITEMSIZE)
            raise EstimatorError(f"--precision is {self.precision!r}, which is not known; expected one of {known}")
        if self.clock is not None:
            self.hertz(self.clock)
        return replace(self, precision=precision)

    @staticmethod
    def hertz(clock: str) -> float:
        """The clock [Hz]. Raises EstimatorError where it is no frequency."""
        try:
            found = units.parse(clock, "Hz")
        except ValueError as error:
            raise EstimatorError(f"--clock {error}") from None
        if found <= 0:
            raise EstimatorError(f"--clock is {clock!r}, which is not above zero; write a frequency such as '1 GHz'")
        return found

    def columns(self) -> dict[str, str]:
        """The columns of MEASUREMENTS that it fills."""
        device = self.device.name if self.device else None
        found = {name: getattr(self, name) for name in ("library", "clock", "precision", "source")}
        return {name: value for name, value in {"device": device, **found}.items() if value}


def first_line(head: bytes) -> str:
    """The first line of what may be text."""
    return head.decode("utf-8-sig", errors="replace").split("\n", 1)[0].strip()
