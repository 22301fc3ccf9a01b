"""What is run in each setting, again and again: steps of workloads, and their shapes measured in between.

A process for each setting holds all workloads ready. Settings take turns within seconds, and so do repeats for
predictions and repeats of truth, so that what else the machine does meets all of them. They share no step. After some
repeats new processes take over: where a process's threads and memory happen to lie makes all its steps some per cent
shorter or longer.
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
from multiprocessing import active_children, get_context
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
from estimator.core.schema import Column, Table
from estimator.core.types import Floats
from estimator.validation.selftest import tables, worker
from estimator.validation.selftest.folder import Folder
from estimator.validation.selftest.settings import Setting, ended, in_setting
from estimator.validation.selftest.workloads import Workload

BURST_S = 1.0  # of steps of one workload, in one repeat
TABLES, MEASURING_S = 4, 210.0  # of one setting's shapes at most, and of measuring for all of those tables
TURN = 4  # repeats, half of them truth, after which new processes take over
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
PLANNED = ("workloads", "settings", "repeats")
Progress = Callable[[int, int], None]


def predicts(repeat: int) -> bool:
    """Whether predictions use a repeat; the others are the truth. By turns one stands before the other and behind."""
    return repeat % 4 in (0, 1)


def run(
    folder: Folder, workloads: Sequence[Workload], settings: Sequence[Setting], repeats: int, progress: Progress
) -> None:
    """Run everything that is not there yet, and merge what was measured into one device for each setting.

    Raises EstimatorError where the folder holds runs of another plan, or a run fails.
    """
    _keep_plan(folder, workloads, settings, repeats)
    if not folder.steps.exists():
        for name in ("captures", "measured"):
            rmtree(folder.path / name, ignore_errors=True)  # of a run that was cut off
        keep_steps(folder, _steps(folder, workloads, settings, repeats, progress), workloads, settings)
    _check_kept(folder, workloads, settings, repeats)
    for setting in settings:
        tables.merge(folder, setting)
    tables.tell(folder, settings)


def _check_kept(folder: Folder, workloads: Sequence[Workload], settings: Sequence[Setting], repeats: int) -> None:
    """Raises EstimatorError where a capture, or a repeat of a workload, is gone from a folder of kept runs."""
    there = set(read_steps(folder)[["setting", "workload", "repeat"]].itertuples(index=False, name=None))
    for setting, workload in itertools.product(settings, workloads):
        capture = folder.captures(setting) / workload.name
        if not capture.is_dir() or not any(capture.iterdir()):
            raise EstimatorError(f"{capture}: the capture is gone; choose a new folder")
        gone = [number for number in range(1, repeats + 1) if (setting.name, workload.name, number) not in there]
        if gone:
            where = f"of {workload.name} in {setting.name} in repeat {gone[0]}"
            raise EstimatorError(f"{folder.steps}: holds no step {where}; choose a new folder")


def read_steps(folder: Folder) -> pd.DataFrame:
    """STEPS of a folder of kept runs. Raises EstimatorError where they cannot be read."""
    return STEPS.conform(csv_files.read_csv(folder.steps), str(folder.steps))


def keep_steps(folder: Folder, steps: pd.DataFrame, workloads: Sequence[Workload], settings: Sequence[Setting]) -> None:
    """Write down every step, and in the captures how long those took that predictions know."""
    for setting, workload in itertools.product(settings, workloads):
        _tell_wall(folder.captures(setting) / workload.name, seconds_of(steps, setting, workload, known=True))
    files.write_text(folder.steps, steps[STEPS.names()].to_csv(index=False, lineterminator="\n"))


def seconds_of(steps: pd.DataFrame, setting: Setting, workload: Workload, *, known: bool) -> list[Floats]:
    """Wall times [s] of the steps of a workload in a setting, of each repeat that predictions know, or of truth."""
    rows = steps[(steps["setting"] == setting.name) & (steps["workload"] == workload.name)]
    of_repeats = rows.groupby("repeat")["wall_s"]
    return [walls.to_numpy(dtype=float) for repeat, walls in of_repeats if predicts(int(str(repeat))) is known]


def step_time(repeats: Sequence[Floats]) -> float:
    """The time of a step [s]: the median of the least of each repeat.

    Within a second, what else runs only makes steps longer; but a machine's memory may be a third faster for some
    seconds in many, and how a half of the repeats happens to catch those is not how long the step takes.
    """
    return float(np.median([walls.min() for walls in repeats]))


def _tell_wall(capture: Path, repeats: Sequence[Floats]) -> None:
    """Write what a step took in some repeats into a capture's provenance, in place of what it took at first."""
    low, high = np.quantile(np.concatenate(repeats), [INTERVAL[0], INTERVAL[-1]])
    times = {"wall_step": step_time(repeats), "wall_step_low": low, "wall_step_high": high}
    path = capture / "provenance.yaml"
    told = yaml.safe_load(files.read_text(path)) | {name: units.show(float(t), "s", 4) for name, t in times.items()}
    describing.write(path, told | {"repeats": sum(map(len, repeats)), "warmup": len(repeats)})


def _keep_plan(folder: Folder, workloads: Sequence[Workload], settings: Sequence[Setting], repeats: int) -> None:
    """Write down what is run, or check that it is what the folder holds. Raises EstimatorError."""
    named = {w.name: [files.sha256(w.file), w.scale] for w in workloads}
    plan = dict(zip(PLANNED, (named, sorted(s.name for s in settings), repeats), strict=True))
    if not folder.plan.exists():
        if folder.path.exists() and any(folder.path.iterdir()):
            raise EstimatorError(f"{folder.path}: holds something else; choose a new folder")
    elif (kept := _plan(files.read_text(folder.plan))) is None:
        raise EstimatorError(f"{folder.path}: holds something else, with a {folder.plan.name}; choose a new folder")
    elif kept == plan:
        return
    elif folder.steps.exists():
        raise EstimatorError(f"{folder.path}: holds runs of other workloads, settings or repeats; choose a new folder")
    files.write_text(folder.plan, json.dumps(plan, indent=2))  # also of a run that was cut off, with nothing to keep


def _plan(text: str) -> dict[str, Any] | None:
    """What a self-test wrote down, settings in order; None where another program wrote it: what stands beside that is
    not to be cleared away.
    """
    try:
        found = json.loads(text)
        return {**found, "settings": sorted(found["settings"])} if {*found} == {*PLANNED} else None
    except (ValueError, TypeError):
        return None


def _steps(
    folder: Folder, workloads: Sequence[Workload], settings: Sequence[Setting], repeats: int, progress: Progress
) -> pd.DataFrame:
    """Profile every workload in every setting, then by turns time its steps and its shapes."""
    found: list[pd.DataFrame] = []
    needed = cache(partial(tables.needed, folder, settings))
    every = max(2, ceil(repeats / TABLES))
    budget_s = MEASURING_S / ceil(repeats / every)

    def measure(repeat: int) -> None:
        for setting in settings if repeat % every == 1 else ():
            tables.measure(folder, repeat // every, setting, needed(setting.precision), budget_s)

    for first in range(1, repeats + 1, TURN):
        these = range(first, min(first + TURN, repeats + 1))
        found += _turn(folder, workloads, settings, measure, these, lambda done: progress(done, repeats))
    progress(repeats, repeats)
    return pd.concat(found, ignore_index=True)


def _turn(
    folder: Folder, workloads: Sequence[Workload], settings: Sequence[Setting],
    measure: Callable[[int], None], repeats: range, progress: Callable[[int], None],
) -> Iterator[pd.DataFrame]:  # fmt: skip
    """The steps of some repeats, by processes of their own. Those of the first turn profile them as well, which tells
    the shapes that are needed. They are measured before some repeats, of truth or not: a processor that has worked long
    may be slower.
    """
    named = {workload.name: (workload.file, workload.scale) for workload in workloads}
    with _processes(folder, settings) as ask:
        for setting in settings:
            ask(setting, worker.hold, named, setting.precision, folder.captures(setting) if repeats[0] == 1 else None)
        for repeat in repeats:
            progress(repeat - 1)
            measure(repeat)
            for setting in settings:
                seconds = ask(setting, worker.burst, BURST_S)
                walls = [(name, wall) for name, several in seconds.items() for wall in several]
                yield pd.DataFrame(walls, columns=["workload", "wall_s"]).assign(repeat=repeat, setting=setting.name)


@contextmanager
def _processes(folder: Folder, settings: Sequence[Setting]) -> Iterator[Callable[..., Any]]:
    """A process in each setting; yields what asks one of them for a function.

    That raises EstimatorError where the function does, or the process ends.
    """
    with ExitStack() as stack:
        pools = {}
        for setting in settings:
            pool = ProcessPoolExecutor(1, get_context("spawn"), worker.begin, (folder.log(setting),))
            pools[setting] = stack.enter_context(pool)

        def ask(setting: Setting, function: Callable[..., Any], *arguments: Any) -> Any:
            try:
                with within(f"in setting {setting.name}"), in_setting(setting):  # where its process begins
                    return pools[setting].submit(function, *arguments).result()
            except EstimatorError:
                raise
            except Exception as error:
                words = KILLED if isinstance(error, BrokenProcessPool) else str(error)
                raise ended(setting, f"the process of workloads ({folder.log(setting)})", words) from None

        try:
            yield ask
        except KeyboardInterrupt:  # a request to end reaches this process alone
            for child in active_children():
                child.terminate()
            raise
