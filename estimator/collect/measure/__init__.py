"""``estimator measure``: time shapes on this machine → NAME.csv (MEASUREMENTS) and NAME.yaml (a device).

``measure.py``, which is also the program of the vendor kit, times in a separate process. Its partial results lie in the
folder NAME.partial; the two files are written whole at the end.
"""

from __future__ import annotations

import csv
import io
import os
import re
import shutil
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from estimator.collect.bench.jobs import make_jobs
from estimator.collect.bench.libraries import LIBRARIES, choose
from estimator.collect.bench.machine import nvidia_gpu
from estimator.collect.bench.shapes import Shape
from estimator.collect.bench.types import FaultError
from estimator.collect.measure import child, described, kit
from estimator.core import csv_files, files
from estimator.core.errors import EstimatorError
from estimator.core.operators import with_operators
from estimator.core.schema import MEASUREMENTS
from estimator.core.units import percent, plural

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Measured", "Plan", "check_shapes", "chosen_backend", "measure", "precisions"]

WIDE_SPREAD = 0.5  # spread of a row beyond which other processes disturbed it
BUSY = 0.3  # load per thread beyond which the machine is busy
DISTURBED_SHARE = 0.2  # share of the samples beyond which the machine is busy
NAME = re.compile(r"\w[\w.+-]*")  # of a device
OWN_FILES = re.compile(r"\.?(shapes\.csv|measurements\.csv|provenance\.json).*")  # in NAME.partial, also temporary


@dataclass(frozen=True)
class Plan:
    """How to measure: back end, device, threads (None: one a core), relative error of each median, and budget [s]."""

    backend: str = "numpy"
    device: str = "auto"
    threads: int | None = None
    relative_error: float = 0.02
    budget_s: float = 600.0
    ranks: int = 0  # processes of an all-reduce

    def options(self) -> list[str]:
        """The options of measure.py."""
        options = {
            "--backend": self.backend, "--device": self.device, "--relative-error": self.relative_error,
            "--budget": self.budget_s, "--all-reduce": self.ranks,
        }  # fmt: skip
        if self.threads:
            options["--threads"] = self.threads
        return [str(word) for option in options.items() for word in option]


@dataclass(frozen=True)
class Measured:
    """The result of a run, and the paths of its two files."""

    csv: Path
    device: Path
    rows: pd.DataFrame = field(repr=False)
    provenance: Mapping[str, Any] = field(repr=False)
    warnings: tuple[str, ...] = ()

    def document(self) -> dict[str, Any]:
        """The run as a JSON document."""
        provenance = self.provenance
        facts = {key: provenance[key] for key in ("backend", "gpu", "library", "threads", "clock", "device", "date")}
        best = described.rates(described.best(self.rows, provenance["cache"]))
        counts = {str(name): int(count) for name, count in self.rows["op_class"].value_counts().items()}
        files = {"measurements": str(self.csv), "device": str(self.device)}
        return {"files": files, **facts, "reached_cache_b": provenance["cache"], "rows": counts, "best": best,
                "left_out": provenance["left_out"], "load": provenance["load"],
                "disturbed_share": provenance["disturbed_share"], "warnings": list(self.warnings)}  # fmt: skip


def chosen_backend(name: str) -> str:
    """The chosen back end. Raises EstimatorError where it is unknown or not installed."""
    try:
        return choose(name)
    except FaultError as error:
        raise EstimatorError(f"estimator measure: {error}") from None


def precisions(backend: str, device: str) -> tuple[str, ...]:
    """The precisions to measure with a back end, fp32 first; tf32 where there may be a GPU with it."""
    on_gpu = ("tf32",) if backend != "numpy" and device != "cpu" and nvidia_gpu() else ()
    return tuple(sorted(LIBRARIES[backend].precisions, key=lambda p: p != "fp32")) + on_gpu


def measure(
    shapes: pd.DataFrame, output: Path, plan: Plan, command: str, progress: child.Progress = lambda done, total: None
) -> Measured:
    """Time every row of SHAPES and write ``output``.csv and ``output``.yaml; ``command`` goes into their source.

    Raises EstimatorError where the files exist or cannot be written, the back end fails, or a stopped run had other
    conditions.
    """
    table_csv, device = _output_paths(output)
    folder = _begin_folder(output, shapes)
    table = folder / "measurements.csv"
    try:
        child.run([*plan.options(), "--shapes", str(folder / "shapes.csv"), "-o", str(table)], progress)
    finally:
        if not {path.name for path in folder.iterdir()} - {"shapes.csv"}:
            shutil.rmtree(folder)  # nothing was measured
    provenance = child.provenance(folder / "provenance.json")
    rows = with_operators(MEASUREMENTS.conform(csv_files.read_csv(table), str(table))).assign(device=output.name)
    if rows.empty:
        raise EstimatorError(f"{table}: nothing was measured ({next(iter(provenance['left_out'].values()))})")
    best = described.best(rows, provenance["cache"])
    warnings, conditions = tuple(_warnings(rows, provenance)), _conditions(provenance)
    text = described.device_file(output.name, best, provenance, command, [conditions, *_disturbed_note(provenance)])
    files.write_text(table_csv, kit.csv_text(rows))
    files.write_text(device, text)
    shutil.rmtree(folder)
    return Measured(table_csv, device, rows, provenance, warnings)


def check_shapes(shapes: pd.DataFrame, where: str) -> None:
    """Raise EstimatorError at a row that the program would refuse."""
    rows = csv.DictReader(io.StringIO(kit.csv_text(shapes)))
    try:
        make_jobs(Shape(row, f"{where}: row {number}") for number, row in enumerate(rows, 1))
    except FaultError as fault:
        raise EstimatorError(str(fault)) from None


def _output_paths(output: Path) -> Iterator[Path]:
    """The paths of the two files. Raises EstimatorError where they cannot be written."""
    if not NAME.fullmatch(output.name):
        raise EstimatorError(f"-o {output}: is no name of a device; write letters and digits, such as -o my-machine")
    if not output.parent.is_dir() or not os.access(output.parent, os.W_OK):
        raise EstimatorError(f"-o {output}: there is no folder {output.parent} to write to; make it, or choose another")
    for suffix in (".csv", ".yaml"):
        path = output.with_name(f"{output.name}{suffix}")
        if path.exists():
            raise EstimatorError(f"{path}: is there already; choose another name, or delete it first")
        yield path


def _begin_folder(output: Path, shapes: pd.DataFrame) -> Path:
    """Make or reuse the folder of a run's partial results, with its shapes; it is deleted at the end.

    Raises EstimatorError where the folder holds other files, or a run of other shapes.
    """
    folder, text = output.with_name(f"{output.name}.partial"), kit.csv_text(shapes)
    shapes_file = folder / "shapes.csv"
    if folder.is_dir() and not all(OWN_FILES.fullmatch(path.name) for path in folder.iterdir()):
        raise EstimatorError(f"{folder}: holds something else; choose another name, or move it away")
    if shapes_file.exists() and files.read_text(shapes_file) != text:
        raise EstimatorError(
            f"{folder}: holds a stopped run of other shapes; repeat its command, or delete the folder to begin anew"
        )
    files.write_text(shapes_file, text)
    return folder


def _warnings(rows: pd.DataFrame, provenance: Mapping[str, Any]) -> Iterator[str]:
    reasons = Counter(provenance["left_out"].values())
    for reason, count in reasons.items():
        yield f"{count} {plural('shape', count)} left out: {reason}"
    wide_count = int(((rows["time_high_s"] - rows["time_low_s"]) / rows["time_s"] > WIDE_SPREAD).sum())
    if wide_count:
        rows_text = f"{wide_count} of {len(rows)} rows vary by more than {percent(WIDE_SPREAD)} of their time"
        yield f"{rows_text}; run nothing else meanwhile"
    if (provenance["load"] or 0.0) > BUSY * provenance["threads"] or (
        provenance["disturbed_share"] or 0.0
    ) > DISTURBED_SHARE:
        yield f"the machine was busy: {_conditions(provenance)}"
    yield from _disturbed_note(provenance)
    if not provenance["clock"]:
        yield "the machine does not tell its clock"


def _conditions(provenance: Mapping[str, Any]) -> str:
    load = "not told" if provenance["load"] is None else f"{provenance['load']:.1f}"
    text = f"load {load} before the run, on {provenance['threads']} threads"
    share = provenance["disturbed_share"]
    return text if share is None else f"{text}; other processes disturbed {percent(share)} of the samples"


def _disturbed_note(provenance: Mapping[str, Any]) -> list[str]:
    rows = provenance["disturbed"]
    return [f"{len(rows)} rows hold samples alone that other processes disturbed: {'; '.join(rows)}"] if rows else []
