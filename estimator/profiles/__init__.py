"""Any profiler dump → Profile: one module per foreign format, tried in the order of READERS."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from types import ModuleType

from estimator.core import files, library
from estimator.core.errors import EstimatorError
from estimator.core.types import Profile, Workload
from estimator.profiles import canonical, op_table, tfprof_text
from estimator.profiles.workload import find_workload, read_provenance, side_files

READERS = (op_table, tfprof_text)
REPORTS = {"report.html", "results.json"}
BESIDE_A_DUMP = {".yaml", ".yml", ".md", ".py"}


def read_profile(name: str | Path, *, batch: int | None = None, steps: int | None = None) -> Profile:
    """Read a dump, a folder of dumps of one run, or a shipped profile (``workload`` or ``workload/device.format``).

    ``batch`` overrides the batch size that the workload file or the provenance states; ``steps`` says how many
    training steps the dump covers. Raises EstimatorError where nothing there can be read.
    """
    place = _locate(str(name))
    provenance, workload = read_provenance(place), find_workload(place)
    if batch or provenance.batch_size:
        workload = workload.model_copy(update={"batch_size": batch or provenance.batch_size})
    dumps = _dumps(place)
    reader = _reader_of(dumps)
    profile = reader.read(dumps, workload)
    return dataclasses.replace(
        canonical.per_step(profile, steps or provenance.steps),
        device=provenance.device or profile.device,
        wall_step_s=provenance.wall_step or profile.wall_step_s,
        tool_version=provenance.tool_version or profile.tool_version,
        sha256=files.sha256(*dumps, *side_files(place).values()),
        files=tuple(dumps),
    )


def shipped() -> dict[str, Workload]:
    """Every profile of the library: name → workload."""
    found = library.names("profiles", "*")
    return {name: find_workload(path) for name, path in found.items() if (path / "workload.yaml").is_file()}


def _locate(name: str) -> Path:
    """The path of a dump or dump folder; a workload folder leads to its default profile."""
    place = Path(name)
    if not place.exists():
        inside = [folder / name for folder in library.folders("profiles") if (folder / name).exists()]
        if not inside or place.is_absolute() or ".." in place.parts:
            known = {p.name for folder in library.folders("profiles") for p in folder.iterdir() if p.is_dir()}
            raise library.unknown("profile", name, known, "ingest --list")
        place = inside[0]
    default = find_workload(place).default_profile if (place / "workload.yaml").is_file() else None
    return place / default if default else place


def _dumps(place: Path) -> list[Path]:
    if not place.is_dir():
        if not place.is_file():
            raise EstimatorError(f"{place}: this is no regular file; save the dump to a file first")
        return [place]
    found = [p for p in sorted(place.iterdir()) if p.is_file() and not _beside(p)]
    if not found:
        raise EstimatorError(f"{place}: expected a profiler dump in this folder, found none; name the dump itself")
    return found


def _beside(path: Path) -> bool:
    return path.suffix in BESIDE_A_DUMP or path.name in REPORTS or path.name.startswith(".")


def _reader_of(dumps: list[Path]) -> ModuleType:
    readers = {path: next((r for r in READERS if r.recognises(files.read_text(path))), None) for path in dumps}
    for path, reader in readers.items():
        if not path.stat().st_size:
            raise EstimatorError(f"{path}: the file is empty; expected a profiler dump, so capture it again")
        if reader is None:
            formats = ", ".join(r.FORMAT for r in READERS)
            raise EstimatorError(f"{path}: no reader knows this dump; expected one of: {formats}")
    first, *others = (reader for reader in readers.values() if reader)
    if any(other is not first for other in others):
        raise EstimatorError(f"{dumps[0].parent}: dumps of different formats lie here; name one of them")
    return first
