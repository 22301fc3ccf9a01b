"""The process of a setting: it profiles workloads, keeps them ready, and runs their steps on demand."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import ceil
from multiprocessing import parent_process
from pathlib import Path
from queue import SimpleQueue
from threading import Semaphore, Thread

import numpy as np

from estimator.collect.capture import Plan, open_training, record, tensorflow_import
from estimator.collect.capture.script import Script, blame_file
from estimator.collect.capture.training import Training
from estimator.collect.capture.watch import Watch

POLICY = {"fp32": "float32", "bf16": "mixed_bfloat16"}
PLAN = Plan(steps=3, warmup=2, profiled=12, verbose=True, tries=3)  # its output is in the log
MIN_STEPS, MAX_STEPS = 3, 100  # steps of one burst


class _StepsOnDemand(Watch):
    """Steps that run on demand within one long run of the training."""

    def __init__(self) -> None:
        super().__init__(warmup=sys.maxsize)
        self.permits, self.results = Semaphore(0), SimpleQueue[float | BaseException]()

    def begin(self) -> None:
        self.permits.acquire()
        super().begin()

    def end(self) -> None:
        super().end()
        self.results.put(self.seconds[-1])

    def keep_running(self, script: Script, training: Training) -> None:
        """Run the training until its data ends, and pass on what ended it."""
        try:
            with blame_file(script.path):
                training.run(self)
            raise script.fault(f"its data ended after {len(self.seconds)} steps; a self-test needs more")
        except BaseException as error:
            self.results.put(error)

    def run(self, count: int) -> list[float]:
        """Run steps; return their wall times [s]. Raises what ended the training."""
        for _ in range(count):
            self.permits.release()
        return [self._next_time() for _ in range(count)]

    def _next_time(self) -> float:
        result = self.results.get()
        if isinstance(result, BaseException):
            raise result
        return result


@dataclass
class _HeldWorkload:
    """A workload ready to run, and the time of its last steps [s]."""

    steps: _StepsOnDemand
    step_s: float


_held: dict[str, _HeldWorkload] = {}


def begin(log: Path) -> None:
    """Redirect this process's output to a file, and end the process with its parent."""
    handle = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o666)
    for stream in (1, 2):
        os.dup2(handle, stream)
    Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = parent_process()
    if parent:
        parent.join()
        os._exit(1)


def _without_autotuning() -> None:
    """Switch off autotuning of tf.data, whose thread may delay the end of an iterator by up to a minute."""
    data = tensorflow_import.import_tensorflow().data
    options, iterate = data.Options(), data.Dataset.__iter__
    options.autotune.enabled = False
    data.Dataset.__iter__ = lambda dataset: iterate(dataset.with_options(options))


def hold(workloads: Mapping[str, tuple[Path, float]], precision: str, folder: Path | None) -> None:
    """Keep each workload ready; where a ``folder`` is given, first capture its profile into a folder of its name.

    Raises EstimatorError as ``capture`` does.
    """
    _without_autotuning()
    for name, (file, scale) in workloads.items():
        tensorflow_import.import_tensorflow("keras").mixed_precision.set_global_policy(
            POLICY[precision]
        )  # a file may set another one
        plan = replace(PLAN, scale=scale)
        with open_training(file, plan) as (script, training):
            if folder:
                (folder / name).mkdir(parents=True)
                record(script, training, folder / name, plan)
            steps = _StepsOnDemand()
            Thread(target=steps.keep_running, args=(script, training), daemon=True).start()
            _held[name] = _HeldWorkload(steps, float(np.median(steps.run(PLAN.warmup + MIN_STEPS)[PLAN.warmup :])))
    gc.collect()
    gc.freeze()  # so that no step is interrupted to collect garbage of the captures


def run_burst(seconds: float) -> dict[str, list[float]]:
    """Run steps of each workload for about so many seconds, after one warm-up step; return wall times [s].

    Raises EstimatorError where the data ends early.
    """
    return {name: _run_burst(held, seconds) for name, held in _held.items()}


def _run_burst(workload: _HeldWorkload, seconds: float) -> list[float]:
    wall_s = workload.steps.run(1 + min(max(ceil(seconds / workload.step_s), MIN_STEPS), MAX_STEPS))[1:]
    workload.step_s = float(np.median(wall_s))
    return wall_s
