"""Any profiler dump → Profile: one module per format, tried in the order of READERS."""

from __future__ import annotations

import dataclasses
import importlib
from pathlib import Path
from types import ModuleType

from estimator.core import files, library
from estimator.core.errors import EstimatorError
from estimator.core.types import Profile, Workload
from estimator.profiles import canonical, executions, graph, phases, ranks, recurrent_loops
from estimator.profiles.dump import Dump
from estimator.profiles.workload import LAYERS_FILE, find_workload, read_provenance, side_files

# Modules that read one format each, in the order of trial; each is imported only when it is tried. A reader has FORMAT,
# recognises(head of the content), read(dumps of one run, workload), and VIEWS: True where several files are views of
# the same run and are read together, False where they are its ranks or hosts. COMPANIONS, where there is one, lists
# patterns of files that the format's own tool writes next to its dumps.
READERS = (
    "op_table", "tfprof.text", "tfprof.scope", "tfprof.step_stats", "tfprof.proto", "xplane",
    "tfprof.timeline", "kineto", "jax_trace",
    "layers",
)  # fmt: skip
REPORTS = {"report.html", "results.json"}
SIDE_FILE_SUFFIXES = {".yaml", ".yml", ".md", ".py"}


def read_profile(name: str | Path, *, batch: int | None = None, steps: int | None = None) -> Profile:
    """Read a dump, a folder of dumps of one run, or a shipped profile (``workload`` or ``workload/device.format``).

    ``batch`` overrides the batch size that the workload file or the provenance states; ``steps`` says how many
    training steps the dump covers. Raises EstimatorError where nothing there can be read.
    """
    place = _locate(files.place("profile", name))
    dumps, reader, left_out = _select_reader(_dumps(place))
    workload = find_workload(place)
    groups = [dumps] if reader.VIEWS else [[dump] for dump in dumps]
    runs = [_read(reader, group, place, workload, batch, steps) for group in groups]
    profile = ranks.merge(runs)
    sides = dict.fromkeys(path for dump in dumps for path in side_files(dump.path, place).values())
    return dataclasses.replace(
        profile,
        warnings=(*profile.warnings, *left_out),
        sha256=files.sha256(*(dump.path for dump in dumps), *sides),
        files=tuple(dump.path for dump in dumps),
    )


def _read(
    reader: ModuleType, dumps: list[Dump], place: Path, workload: Workload, batch: int | None, steps: int | None
) -> Profile:
    """One rank's profile, completed from the files beside its dump or beside all ranks' dumps."""
    sides = side_files(dumps[0].path, place)
    provenance = read_provenance(sides)
    if batch or provenance.batch_size:
        workload = workload.model_copy(update={"batch_size": batch or provenance.batch_size})
    read = reader.read(dumps, workload)
    if not read.ran:
        return _without_steps(read, dumps[0].path, steps)
    stated = steps or provenance.steps
    profile = canonical.per_step(read, stated) if stated else executions.with_single_steps(read)
    if profile.workload.mode == "inference":
        profile = dataclasses.replace(profile, ops=phases.fill_forward(profile.ops))
    profile = canonical.warn_of_ops_outside_steps(recurrent_loops.fill(profile, graph.read_side_file(sides)))
    return dataclasses.replace(
        canonical.remove_profiler_overhead(profile, provenance.wall_step),
        step_spread=provenance.step_spread,
        device=provenance.device or profile.device,
        tool_version=provenance.tool_version or profile.tool_version,
    )


def _without_steps(profile: Profile, path: Path, steps: int | None) -> Profile:
    """The profile of which nothing ran. Raises EstimatorError where a number of steps is stated."""
    if steps:
        raise EstimatorError(f"{path}: nothing ran, so that it covers no steps, and {steps} are stated; leave them out")
    return profile


def shipped() -> dict[str, Workload]:
    """The profiles of the library: name → workload."""
    folders = library.names("profiles", "*")
    return {name: find_workload(path) for name, path in folders.items() if (path / "workload.yaml").is_file()}


def _locate(name: str) -> Path:
    """The path of a dump or dump folder; for a workload folder, its default profile."""
    place = Path(name)
    if not place.exists():
        candidates = [folder / name for folder in library.folders("profiles") if (folder / name).exists()]
        if not candidates or place.is_absolute() or ".." in place.parts:
            raise _unknown(name)
        place = candidates[0]
    default = find_workload(place).default_profile if (place / "workload.yaml").is_file() else None
    return _run_folder(place / default if default else place)


def _unknown(name: str) -> EstimatorError:
    """The error for a name of which there is no profile, nor a file where it is a path."""
    known = library.names("profiles", "*")
    workload, separator, dump = name.partition("/")
    if workload in known and dump:
        return files.missing(known[workload] / dump, name)
    if separator or library.looks_like_path(name):
        return files.missing(Path(name), name)
    return library.unknown("profile", name, known, "ingest --list")


def _run_folder(place: Path) -> Path:
    """The folder itself; for TensorBoard's log folder, its one profiled run."""
    runs_folder = place / "plugins" / "profile"
    runs = [p for p in _entries(runs_folder) if p.is_dir()] if runs_folder.is_dir() else []
    if len(runs) > 1:
        names = ", ".join(run.name for run in runs)
        raise EstimatorError(f"{runs_folder}: expected one profiled run, found {len(runs)} ({names}); name one of them")
    return runs[0] if runs else place


def _dumps(place: Path) -> list[Dump]:
    if not place.is_dir():
        if not place.is_file():
            raise EstimatorError(f"{place}: this is no regular file; save the dump to a file first")
        return [Dump(place)]
    folders = [p for p in _entries(place) if p.is_dir() and not p.name.startswith(".") and not p.is_symlink()]
    paths = [p for folder in (place, *folders) for p in _entries(folder) if p.is_file() and not _is_side_file(p)]
    if not paths:
        raise EstimatorError(f"{place}: expected a profiler dump in this folder, found none; name the dump itself")
    return [Dump(path) for path in paths]


def _entries(folder: Path) -> list[Path]:
    """The entries of a folder, by name."""
    try:
        return sorted(folder.iterdir())
    except OSError as error:
        raise EstimatorError(f"{folder}: cannot be read ({error.strerror}); check the path") from None


def _is_side_file(path: Path) -> bool:
    if path.name == LAYERS_FILE:
        return False
    return path.suffix in SIDE_FILE_SUFFIXES or path.name in REPORTS.union(graph.FILES) or path.name.startswith(".")


def _load_reader(name: str) -> ModuleType:
    return importlib.import_module(f"{__name__}.{name}")


def _recognise(dump: Dump) -> str | None:
    """The name of the reader that knows a dump."""
    if dump.path.name == LAYERS_FILE:
        return "layers"
    return next((name for name in READERS if _load_reader(name).recognises(dump.head)), None)


def _unread(dump: Dump) -> EstimatorError:
    """The error for a file that no reader knows, which says what else it is."""
    from estimator.profiles import no_profiles  # only for what no reader knows: start-up

    if not dump.head:
        return EstimatorError(f"{dump}: the file is empty; expected a profiler dump, so capture it again")
    if reason := no_profiles.reason(dump.head) or _load_reader("op_table").reason(dump.head):
        return EstimatorError(f"{dump}: {reason}")
    formats = ", ".join(_load_reader(name).FORMAT for name in READERS)
    return EstimatorError(f"{dump}: no reader knows this dump; expected one of: {formats}")


def _select_reader(dumps: list[Dump]) -> tuple[list[Dump], ModuleType, list[str]]:
    """The dumps of one format, their reader, and warnings about files that are no dumps.

    The format's COMPANIONS get no warning. Raises EstimatorError where dumps have several formats.
    """
    names = {dump: _recognise(dump) for dump in dumps}
    if not any(names.values()):
        raise _unread(dumps[0])
    first = min((name for name in names.values() if name), key=READERS.index)
    reader, own = _load_reader(first), [dump for dump, name in names.items() if name == first]
    companions = getattr(reader, "COMPANIONS", ())
    others = [d for d in dumps if d not in own and not any(d.path.match(pattern) for pattern in companions)]
    second = next((dump for dump in others if names[dump]), None)
    if second:
        raise EstimatorError(f"{second}: its format differs from that of {own[0].path.name}; name the dump itself")
    return own, reader, [f"{dump.path.name} is no dump that any reader knows: left out" for dump in others]
