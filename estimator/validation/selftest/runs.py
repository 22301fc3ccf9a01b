"""The repeated runs of a self-test: steps of workloads in each setting, with measurements of shapes in between.

A process for each setting holds all workloads ready. Settings take turns within seconds, and so do repeats for
predictions and for truth, so that disturbances affect all of them; they share no step. After some repeats new
processes are started: the placement of a process's threads and memory changes all its steps by some per cent.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import ExitStack, contextmanager
from functools import cache, partial
from math import ceil
from multiprocessing import get_context
from pathlib import Path
from shutil import rmtree
from typing import Any

import numpy as np
import pandas as pd
import yaml

from estimator.collect.capture import describing
from estimator.collect.capture.watch import INTERVAL
from estimator.core import csv_files, files, units
from estimator.core.errors import EstimatorError, within
from estimator.core.processes import ended_when_interrupted
from estimator.core.table import Column, Table
from estimator.core.types import Floats
from estimator.validation.selftest import tables, worker
from estimator.validation.selftest.folder import Folder
from estimator.validation.selftest.settings import Setting, in_setting, process_error
from estimator.validation.selftest.workloads import Workload

BURST_S = 1.0  # of steps of one workload, in one repeat
MAX_TABLES, MEASURING_S = 4, 210.0  # tables of one setting's shapes at most, and time for all of them
REPEATS_PER_PROCESS = 4  # half of them for truth
KILLED = "it terminated abruptly; if memory ran out, give fewer workloads or settings, or a smaller scale"
STEPS = Table(
    "STEPS",
    (
        Column("repeat", "integer", "number of the repeat, from 1", required=True, above=0),
        Column("setting", "text", "what of the machine the step could use", required=True),
        Column("workload", "text", "with its scale", required=True),
        Column("wall_s", "number", "wall time of one step", "s", required=True, above=0),
    ),
)
PLAN_KEYS = ("workloads", "settings", "repeats")
Progress = Callable[[int, int], None]


def predicts(repeat: int) -> bool:
    """Whether a repeat is for predictions; the others are for truth. Their order alternates."""
    return repeat % 4 in (0, 1)


def run(
    folder: Folder, workloads: Sequence[Workload], settings: Sequence[Setting], repeats: int, progress: Progress
) -> None:
    """Run what the folder lacks, and merge the measurements into one device per setting.

    Raises EstimatorError where the folder holds runs of another plan, or a run fails.
    """
    _keep_plan(folder, workloads, settings, repeats)
    if not folder.steps.exists():
        for name in ("captures", "measured"):
            rmtree(folder.path / name, ignore_errors=True)  # of an interrupted run
        write_steps(folder, _run_steps(folder, workloads, settings, repeats, progress), workloads, settings)
    _check_kept_runs(folder, workloads, settings, repeats)
    for setting in settings:
        tables.merge(folder, setting)
    tables.write_known_rows(folder, settings)


def _check_kept_runs(folder: Folder, workloads: Sequence[Workload], settings: Sequence[Setting], repeats: int) -> None:
    """Raise EstimatorError where a capture or a repeat of a workload is missing in a folder of kept runs."""
    kept_runs = set(read_steps(folder)[["setting", "workload", "repeat"]].itertuples(index=False, name=None))
    for setting, workload in itertools.product(settings, workloads):
        capture = folder.captures(setting) / workload.name
        if not capture.is_dir() or not any(capture.iterdir()):
            raise EstimatorError(f"{capture}: the capture is gone; choose a new folder")
        missing = [number for number in range(1, repeats + 1) if (setting.name, workload.name, number) not in kept_runs]
        if missing:
            where = f"of {workload.name} in {setting.name} in repeat {missing[0]}"
            raise EstimatorError(f"{folder.steps}: holds no step {where}; choose a new folder")


def read_steps(folder: Folder) -> pd.DataFrame:
    """STEPS of a folder of kept runs. Raises EstimatorError where they cannot be read."""
    return STEPS.conform(csv_files.read_csv(folder.steps), str(folder.steps))


def write_steps(
    folder: Folder, steps: pd.DataFrame, workloads: Sequence[Workload], settings: Sequence[Setting]
) -> None:
    """Write the table of steps, and into the captures the step times of the repeats for predictions."""
    for setting, workload in itertools.product(settings, workloads):
        _write_wall_time(
            folder.captures(setting) / workload.name, seconds_of(steps, setting, workload, for_predictions=True)
        )
    files.write_text(folder.steps, steps[STEPS.names()].to_csv(index=False, lineterminator="\n"))


def seconds_of(steps: pd.DataFrame, setting: Setting, workload: Workload, *, for_predictions: bool) -> list[Floats]:
    """Wall times [s] of the steps of a workload in a setting, by repeat, of those for predictions or for truth."""
    rows = steps[(steps["setting"] == setting.name) & (steps["workload"] == workload.name)]
    by_repeat = rows.groupby("repeat")["wall_s"]
    return [walls.to_numpy(dtype=float) for repeat, walls in by_repeat if predicts(int(str(repeat))) is for_predictions]


def step_time(repeats: Sequence[Floats]) -> float:
    """The time of a step [s]: the median over repeats of the shortest step.

    Within a second, other processes only make steps longer; hence the shortest. But memory may be a third faster for
    some seconds, which only some repeats meet; hence the median.
    """
    return float(np.median([walls.min() for walls in repeats]))


def _write_wall_time(capture: Path, repeats: Sequence[Floats]) -> None:
    """Write the step time of some repeats into a capture's provenance, in place of its first one."""
    low, high = np.quantile(np.concatenate(repeats), [INTERVAL[0], INTERVAL[-1]])
    times = {"wall_step": step_time(repeats), "wall_step_low": low, "wall_step_high": high}
    path = capture / "provenance.yaml"
    provenance = yaml.safe_load(files.read_text(path)) | {
        name: units.show(float(time_s), "s", 4) for name, time_s in times.items()
    }
    describing.write(path, provenance | {"repeats": sum(map(len, repeats)), "warmup": len(repeats)})


def _keep_plan(folder: Folder, workloads: Sequence[Workload], settings: Sequence[Setting], repeats: int) -> None:
    """Write the plan, or check that it is the folder's. Raises EstimatorError."""
    files_and_scales = {workload.name: [files.sha256(workload.file), workload.scale] for workload in workloads}
    plan = dict(zip(PLAN_KEYS, (files_and_scales, sorted(setting.name for setting in settings), repeats), strict=True))
    if not folder.plan.exists():
        if folder.path.exists() and any(folder.path.iterdir()):
            raise EstimatorError(f"{folder.path}: holds something else; choose a new folder")
    elif (kept_plan := _parse_plan(files.read_text(folder.plan))) is None:
        raise EstimatorError(f"{folder.path}: holds something else, with a {folder.plan.name}; choose a new folder")
    elif kept_plan == plan:
        return
    elif folder.steps.exists():
        raise EstimatorError(f"{folder.path}: holds runs of other workloads, settings or repeats; choose a new folder")
    files.write_text(folder.plan, json.dumps(plan, indent=2))  # also for an interrupted run without steps


def _parse_plan(text: str) -> dict[str, Any] | None:
    """Parse a written plan, settings sorted; None where another program wrote it, whose files must not be deleted."""
    try:
        plan = json.loads(text)
        return {**plan, "settings": sorted(plan["settings"])} if {*plan} == {*PLAN_KEYS} else None
    except (ValueError, TypeError):
        return None


def _run_steps(
    folder: Folder, workloads: Sequence[Workload], settings: Sequence[Setting], repeats: int, progress: Progress
) -> pd.DataFrame:
    """Profile every workload in every setting, then time steps and shapes in turns."""
    frames: list[pd.DataFrame] = []
    needed_shapes = cache(partial(tables.needed_shapes, folder, settings))
    interval = max(2, ceil(repeats / MAX_TABLES))
    budget_s = MEASURING_S / ceil(repeats / interval)

    def measure(repeat: int) -> None:
        for setting in settings if repeat % interval == 1 else ():
            tables.measure(folder, repeat // interval, setting, needed_shapes(setting.precision), budget_s)

    for first in range(1, repeats + 1, REPEATS_PER_PROCESS):
        turn_repeats = range(first, min(first + REPEATS_PER_PROCESS, repeats + 1))
        frames += _run_turn(folder, workloads, settings, measure, turn_repeats, lambda done: progress(done, repeats))
    progress(repeats, repeats)
    return pd.concat(frames, ignore_index=True)


def _run_turn(
    folder: Folder, workloads: Sequence[Workload], settings: Sequence[Setting],
    measure: Callable[[int], None], repeats: range, progress: Callable[[int], None],
) -> Iterator[pd.DataFrame]:  # fmt: skip
    """Run the steps of some repeats in new processes; those of the first turn also capture profiles, for the shapes.

    Shapes are measured before repeats of both kinds, as a processor that has worked long may be slower.
    """
    files_and_scales = {workload.name: (workload.file, workload.scale) for workload in workloads}
    with _processes(folder, settings) as call:
        for setting in settings:
            call(
                setting,
                worker.hold,
                files_and_scales,
                setting.precision,
                folder.captures(setting) if repeats[0] == 1 else None,
            )
        for repeat in repeats:
            progress(repeat - 1)
            measure(repeat)
            for setting in settings:
                times_by_workload = call(setting, worker.run_burst, BURST_S)
                walls = [(name, wall) for name, times_s in times_by_workload.items() for wall in times_s]
                yield pd.DataFrame(walls, columns=["workload", "wall_s"]).assign(repeat=repeat, setting=setting.name)


@contextmanager
def _processes(folder: Folder, settings: Sequence[Setting]) -> Iterator[Callable[..., Any]]:
    """Start a process in each setting; yield a function that calls a function in one of them.

    It raises EstimatorError where the called function does, or the process ends.
    """
    with ExitStack() as stack:
        pools = {}
        for setting in settings:
            pool = ProcessPoolExecutor(1, get_context("spawn"), worker.begin, (folder.log(setting),))
            pools[setting] = stack.enter_context(pool)

        def call(setting: Setting, function: Callable[..., Any], *arguments: Any) -> Any:
            try:
                with within(f"in setting {setting.name}"), in_setting(setting):  # where its process starts
                    return pools[setting].submit(function, *arguments).result()
            except EstimatorError:
                raise
            except Exception as error:
                reason = KILLED if isinstance(error, BrokenProcessPool) else str(error)
                raise process_error(setting, f"the process of workloads ({folder.log(setting)})", reason) from None

        with ended_when_interrupted():
            yield call
