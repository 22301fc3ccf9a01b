"""Write starter files: a commented study, device and op table that run as they are."""

from __future__ import annotations

from importlib.resources import files as resources
from pathlib import Path

from estimator.core.errors import EstimatorError
from estimator.core.files import write_text

FILES = ("study.yaml", "my-device.yaml", "my-profile.csv", "workload.yaml")


def write_starter(folder: Path) -> list[Path]:
    """Write the starter files into a folder. Raises EstimatorError where one of them is there already."""
    targets = [folder / name for name in FILES]
    for target in targets:
        if target.exists():
            raise EstimatorError(f"{target}: is there already; choose a new folder, or delete it first")
    for target in targets:
        write_text(target, (resources("estimator.studies") / "starter_files" / target.name).read_text("utf-8"))
    return targets
