"""What the user says of a file that the file does not, and what readers tell of a file's head."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from estimator.core.types import DeviceSpec


@dataclass(frozen=True)
class Said:
    """What holds of every row for which the file itself does not say otherwise."""

    device: DeviceSpec | None = None
    library: str | None = None
    clock: str | None = None
    precision: str | None = None
    source: str | None = None
    topology: Path | None = None  # the layers of a simulated network

    def columns(self) -> dict[str, str]:
        """The columns of MEASUREMENTS that it fills."""
        device = self.device.name if self.device else None
        found = {name: getattr(self, name) for name in ("library", "clock", "precision", "source")}
        return {name: value for name, value in {"device": device, **found}.items() if value}


def first_line(head: bytes) -> str:
    """The first line of what may be text."""
    return head.decode("utf-8-sig", errors="replace").split("\n", 1)[0].strip()
