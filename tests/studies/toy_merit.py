"""Studies of given times, written as YAML and run."""

from pathlib import Path

from estimator.core.types import StudyResult
from estimator.studies.run import run_study

MACHINES = "machines: {old: {nodes: 100}, new: {nodes: 300, devices_per_node: 4}}"


def study_file(folder: Path, units: str, definition: str = "{preset: candle}", machines: str = MACHINES) -> Path:
    """A study of an old machine, the baseline, and a new one."""
    path = folder / "study.yaml"
    path.write_text(
        f"title: t\nbaseline: old\nfigure_of_merit: {definition}\n{machines}\nunits_of_work:\n{units}\n",
        encoding="utf-8",
    )
    return path


def run_toy(folder: Path, units: str, definition: str = "{preset: candle}", machines: str = MACHINES) -> StudyResult:
    """What the study comes to."""
    return run_study(study_file(folder, units, definition, machines))
