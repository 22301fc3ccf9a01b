"""What stands beside a dump: ``workload.yaml`` (the training run) and ``provenance.yaml`` (where the dump is from)."""

from __future__ import annotations

from pathlib import Path

from estimator.core import files
from estimator.core.types import File, Seconds, Whole, Workload


class Provenance(File):
    """Where one dump was taken, when the dump itself does not say."""

    device: str | None = None
    batch_size: Whole | None = None
    steps: Whole | None = None
    wall_step: Seconds | None = None
    tool_version: str | None = None
    source: str | None = None


def read_provenance(place: Path) -> Provenance:
    """The provenance in a dump's folder; empty where there is none."""
    path = (place if place.is_dir() else place.parent) / "provenance.yaml"
    return files.check(Provenance, files.read_yaml(path)) if path.is_file() else Provenance()


def find_workload(place: Path) -> Workload:
    """The workload of a dump: from its folder or the one above; else only its name is known."""
    folder = place if place.is_dir() else place.parent
    for candidate in (folder / "workload.yaml", folder.parent / "workload.yaml"):
        if candidate.is_file():
            return files.check(Workload, files.read_yaml(candidate))
    return Workload(name=place.stem)
