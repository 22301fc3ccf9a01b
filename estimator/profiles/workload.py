"""The files beside a dump: ``workload.yaml`` (the training run) and ``provenance.yaml`` (the origin of the dump)."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from pydantic import Field

from estimator.core import yaml_files
from estimator.core.interval import log_spread
from estimator.core.types import File, Seconds, Whole, Workload

LAYERS_FILE = "layers.yaml"  # whatever it holds, it is read as such
DUMP_FILES = ("provenance.yaml", "graph.csv", "graph.csv.gz")  # belong to one dump; a workload may have several dumps


class Provenance(File):
    """The origin of one dump: whatever the dump itself does not hold."""

    device: str | None = None  #: the source device: a name of the catalogue, or a path
    batch_size: Whole | None = None  #: of the profiled steps
    steps: Whole | None = None  #: that the dump covers
    wall_step: Seconds | None = None  #: time of a step without the profiler, median; in a self-test as its `step_time`
    wall_step_low: Seconds | None = None  #: of steps without the profiler, low end of the 90 % interval
    wall_step_high: Seconds | None = None  #: its high end
    repeats: Whole | None = None  #: steps behind those three
    warmup: int | None = Field(default=None, ge=0)  #: steps left out before them
    profiled_step: Seconds | None = None  #: time of a step under the profiler, median
    processor: str | None = None  #: that ran it, in words
    threads: Whole | None = None  #: of the processor that took part
    date: str | None = None  #: of the run
    tool_version: str | None = None  #: of the profiler and the framework
    source: str | None = None  #: who took the dump, and how

    @property
    def step_spread(self) -> float:
        """Standard deviation of the logarithm of the unprofiled steps' wall time, from its 90 % interval; 0 without."""
        low, high = self.wall_step_low, self.wall_step_high
        return float(log_spread(low, high)) if low and high else 0.0


def side_files(place: Path, top: Path | None = None) -> dict[str, Path]:
    """The files beside a dump by name: in its folder, the ranks' common folder, or TensorBoard's log folder;
    workload.yaml also one above, but for layers, which no run wrote into a folder of its own.
    """
    folders = [path if path.is_dir() else path.parent for path in (place, top or place)]
    above = [] if (folders[-1] / LAYERS_FILE).is_file() else [folders[-1].parent]
    log = _log_folders(folders[-1])
    searched = {name: [*folders, *log] for name in DUMP_FILES} | {"workload.yaml": [*folders, *above, *log]}
    paths = {name: next((f / name for f in near if (f / name).is_file()), None) for name, near in searched.items()}
    return {name: path for name, path in paths.items() if path}


def _log_folders(run: Path) -> list[Path]:
    """TensorBoard's log folder, which holds the run in ``plugins/profile/``; none elsewhere."""
    runs = run.resolve().parent
    return [runs.parents[1]] if runs.parts[-2:] == ("plugins", "profile") else []


def read_provenance(sides: Mapping[str, Path]) -> Provenance:
    """The provenance among the files beside a dump; empty where there is none."""
    path = sides.get("provenance.yaml")
    return yaml_files.check(Provenance, yaml_files.read_yaml(path)) if path else Provenance()


def find_workload(place: Path) -> Workload:
    """The workload of a dump, by default named as its folder; without ``workload.yaml``, only the dump's own name."""
    path = side_files(place).get("workload.yaml")
    if path is None:
        return Workload(name=Path(place.resolve().name.removesuffix(".gz")).stem)
    document = yaml_files.read_yaml(path)
    if document.data.get("name") in (None, ""):
        document.data["name"] = path.resolve().parent.name
    return yaml_files.check(Workload, document)
