"""What is run in each setting, again and again: workloads, and products and streams of their shapes.

Settings take turns, and so do runs for predictions and runs of truth, so that what else the machine does meets all of
them. They share no run.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from estimator.core import csv_files, files
from estimator.core.errors import EstimatorError
from estimator.core.schema import MEASUREMENTS, STREAMING
from estimator.devices import load_device
from estimator.devices.measure import kit, sweep
from estimator.profiles.capture.script import locate
from estimator.profiles.workload import read_provenance, side_files
from estimator.studies.profile_shapes import profile_shapes
from estimator.truth.selftest.settings import Setting, on_cores

STEPS = {"steps": 6, "warmup": 1, "profiled": 3}
PLAN = "plan.json"  # of a process that runs workloads, in the folder that is to hold their captures
BUDGET_S = 45  # of measuring in one setting, once
Progress = Callable[[int, int], None]
Job = Callable[["Folder", int, Setting, Sequence["Workload"]], None]


@dataclass(frozen=True)
class Workload:
    """A workload at a scale, ``nt3@0.02``; without one at full size."""

    name: str
    file: Path
    scale: float


def parse(text: str) -> Workload:
    """The workload of a file, a folder or a shipped name, at a scale. Raises EstimatorError where there is none."""
    name, _, scale = text.partition("@")
    try:
        size = float(scale or 1.0)
    except ValueError:
        raise EstimatorError(f"workload '{text}': '{scale}' is no scale; write a number, such as nt3@0.02") from None
    if not 0 < size <= 1:
        raise EstimatorError(f"workload '{text}': scale {scale} is none; write a number above 0, at most 1")
    file = locate(name)
    label = file.resolve().parent.name if file.name == "model.py" else file.stem
    return Workload(label + f"@{scale}" * bool(scale), file.resolve(), size)


@dataclass(frozen=True)
class Folder:
    """Where everything that ran lies."""

    path: Path

    def capture(self, repeat: int, setting: Setting, workload: str = "") -> Path:
        """The captures of a repeat in a setting, or one of them."""
        return self.path / f"repeat-{repeat}" / setting.name / workload

    def table(self, repeat: int, setting: Setting) -> Path:
        """What was measured beside a repeat: NAME.csv and NAME.yaml, without their suffix."""
        return self.path / f"repeat-{repeat}" / "measured" / setting.name

    def device(self, setting: Setting) -> Path:
        """The device that a setting is, its table beside it."""
        return self.path / "devices" / f"{setting.name}.yaml"


def predicts(repeat: int) -> bool:
    """Whether predictions use a repeat; the others are the truth."""
    return repeat % 2 == 1


def run(
    folder: Folder, workloads: Sequence[Workload], settings: Sequence[Setting], repeats: int, progress: Progress
) -> None:
    """Run everything that is not there yet, and merge what was measured into one device for each setting."""
    todo = list(_jobs(settings, repeats))
    for done, (job, repeat, setting) in enumerate(todo):
        progress(done, len(todo))
        job(folder, repeat, setting, workloads)
    progress(len(todo), len(todo))
    for setting in settings:
        _merge(folder, setting, [repeat for repeat in range(1, repeats + 1) if predicts(repeat)])


def _jobs(settings: Sequence[Setting], repeats: int) -> Iterator[tuple[Job, int, Setting]]:
    """What is run, in order. A repeat of truth stands beside one for predictions, before and behind it by turns."""
    for first in range(1, repeats, 2):
        pair = (first, first + 1) if first % 4 == 1 else (first + 1, first)
        yield from ((_capture, repeat, setting) for setting in settings for repeat in pair)
        yield from ((_measure, first, setting) for setting in settings)


def wall(capture: Path) -> float:
    """Time of a step [s] that was not profiled: the median of the capture's steps."""
    found = read_provenance(side_files(capture)).wall_step
    if found is None:
        raise EstimatorError(f"{capture}: its provenance.yaml tells no wall_step; delete the folder and run again")
    return found


def _capture(folder: Folder, repeat: int, setting: Setting, workloads: Sequence[Workload]) -> None:
    """Profile every workload."""
    named = {workload.name: (str(workload.file), workload.scale) for workload in workloads}
    text = json.dumps({"workloads": named, "precision": setting.precision, "steps": STEPS})
    known = folder.capture(repeat, setting) / PLAN
    if known.exists():
        if files.read_text(known) != text:
            raise EstimatorError(
                f"{folder.path}: holds runs of other workloads; choose a new folder, or delete it first"
            )
        return
    with files.whole_folder(known.parent) as place:
        files.write_text(place / PLAN, text)
        _process(setting, ["estimator.truth.selftest.child", str(place / PLAN)])


def _measure(folder: Folder, repeat: int, setting: Setting, workloads: Sequence[Workload]) -> None:
    """Time the shapes of every workload's products and streams, never a workload itself."""
    output = folder.table(repeat, setting)
    if output.with_suffix(".yaml").exists():
        return
    captures = [str(folder.capture(repeat, setting, workload.name)) for workload in workloads]
    needed = _distinct(profile_shapes(captures, setting.precision)[0])
    shapes = pd.concat([sweep.anchors([setting.precision], quick=True), needed], ignore_index=True)
    files.write_text(output.with_suffix(".shapes"), kit.csv_text(shapes))
    _process(setting, ["estimator", "measure", "--backend", "tensorflow", "--device", "cpu", "--quick", "--shapes",
                       str(output.with_suffix(".shapes")), "--budget", f"{BUDGET_S} s", "-o", str(output)])  # fmt: skip


def _distinct(shapes: pd.DataFrame) -> pd.DataFrame:
    """Every product and convolution, and of streams one for each class and half octave of bytes, in the cache's state
    that steps leave: warm.
    """
    size = np.log2(shapes["bytes"].astype(float)).mul(2).round()
    streams = shapes["op_class"].isin(STREAMING)
    thinned = ~streams | ~shapes.assign(size=size)[["op_class", "size"]].duplicated()
    return shapes.assign(cache=streams.map({True: "warm", False: None}))[thinned]


def _process(setting: Setting, command: Sequence[str]) -> None:
    """Run a module of ours in a setting. Raises EstimatorError with its last words where it fails."""
    with on_cores(setting.threads) as own:
        done = subprocess.run(
            [sys.executable, "-m", *command],
            env={**own, **setting.environment(), "PYTHONSAFEPATH": "1"},  # a file called keras.py here is not meant
            capture_output=True,
            text=True,
        )
    if done.returncode:
        last = done.stderr.strip().rpartition("\n")[2] or "without a word"
        raise EstimatorError(f"estimator selftest: in setting {setting.name}, {command[0]} ended so: {last}")


def _merge(folder: Folder, setting: Setting, repeats: Sequence[int]) -> None:
    """The fastest row of each shape, and the device file of the highest peak, so that no row beats it."""
    tables = [folder.table(repeat, setting) for repeat in repeats]
    read = [MEASUREMENTS.conform(csv_files.read_csv(t.with_suffix(".csv")), setting.name) for t in tables]
    rows = pd.concat(read, ignore_index=True)
    fastest = rows.loc[rows.groupby(sweep.OF_A_SHAPE, dropna=False)["time_s"].idxmin()]
    best = max(tables, key=lambda table: _peak(table.with_suffix(".yaml")))
    files.write_text(folder.device(setting), files.read_text(best.with_suffix(".yaml")))
    files.write_text(folder.device(setting).with_suffix(".csv"), kit.csv_text(fastest.sort_index()))


def _peak(path: Path) -> float:
    """The highest rate [FLOP/s] that a measured device reached in fp32."""
    found = load_device(str(path)).peak_of("fp32").vector
    return found.value if found else 0.0
