"""Where everything that a self-test ran lies."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from estimator.validation.selftest.settings import Setting


@dataclass(frozen=True)
class Folder:
    """The files by what they are."""

    path: Path

    @property
    def plan(self) -> Path:
        """What was asked for."""
        return self.path / "plan.json"

    @property
    def steps(self) -> Path:
        """Every step that was timed: repeat, setting, workload, wall_s."""
        return self.path / "steps.csv"

    def captures(self, setting: Setting) -> Path:
        """The captures of all workloads in a setting, each in a folder of its name."""
        return self.path / "captures" / setting.name

    def log(self, setting: Setting) -> Path:
        """What the process of workloads in a setting prints."""
        return self.path / f"{setting.name}.log"

    def table(self, number: int, setting: Setting) -> Path:
        """What was measured at one time: NAME.csv and NAME.yaml, without their suffix."""
        return self.path / "measured" / str(number) / setting.name

    def known(self, source: Setting, target: Setting) -> Path:
        """What was measured of the target, of shapes that captures of the source ask for."""
        return self.path / "devices" / f"{source.name} to {target.name}.csv"

    def device(self, setting: Setting) -> Path:
        """The device that a setting is, its table beside it."""
        return self.path / "devices" / f"{setting.name}.yaml"
