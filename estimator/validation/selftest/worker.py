"""What runs in the process of a setting: it profiles workloads, holds them ready, and runs their steps when asked."""

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

from estimator.collect.capture import Plan, opened, record, tensorflow_import
from estimator.collect.capture.script import Script, blamed
from estimator.collect.capture.training import Training
from estimator.collect.capture.watch import Watch

POLICY = {"fp32": "float32", "bf16": "mixed_bfloat16"}
PLAN = Plan(steps=3, warmup=2, profiled=12, verbose=True, tries=3)  # what it says is in the log
FEWEST, MOST = 3, 100  # steps of one burst


class _Turns(Watch):
    """Steps that run when they may, in one run of the training that goes on between them."""

    def __init__(self) -> None:
        super().__init__(warmup=sys.maxsize)
        self.may, self.ran = Semaphore(0), SimpleQueue[float | BaseException]()

    def begin(self) -> None:
        self.may.acquire()
        super().begin()

    def end(self) -> None:
        super().end()
        self.ran.put(self.seconds[-1])

    def keep_running(self, script: Script, training: Training) -> None:
        """Run the training until its data ends, and tell what ended it."""
        try:
            with blamed(script.path):
                training.run(self)
            raise script.fault(f"its data ended after {len(self.seconds)} steps; a self-test needs more")
        except BaseException as error:
            self.ran.put(error)

    def run(self, count: int) -> list[float]:
        """Wall times [s] of so many steps. Raises what ended the training."""
        for _ in range(count):
            self.may.release()
        return [self._next() for _ in range(count)]

    def _next(self) -> float:
        found = self.ran.get()
        if isinstance(found, BaseException):
            raise found
        return found


@dataclass
class _Held:
    """A workload that is ready to run, and the time of its last steps [s]."""

    turns: _Turns
    step_s: float


_held: dict[str, _Held] = {}


def begin(log: Path) -> None:
    """Lead what this process prints to a file, and end it where the one that asks is gone."""
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
    """Have no iterator of tf.data tune itself: one that has waited long takes up to a minute to be cleared away, as the
    thread that tunes it sleeps ever longer.
    """
    data = tensorflow_import.import_tensorflow().data
    options, iterate = data.Options(), data.Dataset.__iter__
    options.autotune.enabled = False
    data.Dataset.__iter__ = lambda dataset: iterate(dataset.with_options(options))


def hold(workloads: Mapping[str, tuple[Path, float]], precision: str, folder: Path | None) -> None:
    """Profile each workload, a file at a scale, into a folder of its name, where there is a ``folder``, and keep it.
    Raises EstimatorError as ``capture`` does.
    """
    _without_autotuning()
    for name, (file, scale) in workloads.items():
        tensorflow_import.import_tensorflow("keras").mixed_precision.set_global_policy(
            POLICY[precision]
        )  # a file may set another
        plan = replace(PLAN, scale=scale)
        with opened(file, plan) as (script, training):
            if folder:
                (folder / name).mkdir(parents=True)
                record(script, training, folder / name, plan)
            turns = _Turns()
            Thread(target=turns.keep_running, args=(script, training), daemon=True).start()
            _held[name] = _Held(turns, float(np.median(turns.run(PLAN.warmup + FEWEST)[PLAN.warmup :])))
    gc.collect()
    gc.freeze()  # nothing of the captures is cleared away in the middle of a step


def burst(seconds: float) -> dict[str, list[float]]:
    """Wall times [s] of about as many steps of each workload as take so long, behind one that warms up.

    Raises EstimatorError where its data ends before.
    """
    return {name: _burst(held, seconds) for name, held in _held.items()}


def _burst(held: _Held, seconds: float) -> list[float]:
    walls = held.turns.run(1 + min(max(ceil(seconds / held.step_s), FEWEST), MOST))[1:]
    held.step_s = float(np.median(walls))
    return walls
