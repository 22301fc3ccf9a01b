"""The folder of a self-test."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from estimator.validation.selftest.settings import Setting


@dataclass(frozen=True)
class Folder:
    """The files of a self-test."""

    path: Path

    @property
    def plan(self) -> Path:
        """The plan as JSON."""
        return self.path / "plan.json"

    @property
    def steps(self) -> Path:
        """The table of timed steps: repeat, setting, workload, wall_s."""
        return self.path / "steps.csv"

    def captures(self, setting: Setting) -> Path:
        """The captures of all workloads in a setting, each in a folder of its name."""
        return self.path / "captures" / setting.name

    def log(self, setting: Setting) -> Path:
        """The output of the process in a setting."""
        return self.path / f"{setting.name}.log"

    def table(self, number: int, setting: Setting) -> Path:
        """The measurements of one occasion, NAME.csv and NAME.yaml, as path without suffix."""
        return self.path / "measured" / str(number) / setting.name

    def known_rows(self, source: Setting, target: Setting) -> Path:
        """The measurements of the target for shapes in captures of the source."""
        return self.path / "devices" / f"{source.name} to {target.name}.csv"

    def device(self, setting: Setting) -> Path:
        """The device file of a setting; its table is beside it."""
        return self.path / "devices" / f"{setting.name}.yaml"
