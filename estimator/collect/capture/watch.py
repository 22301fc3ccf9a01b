"""Steps watched as they run: first warm-up, then steps that are timed alone, then steps that a profiler records.

It records them in several sessions, of which the first counts for nothing: a profiler that begins takes its memory
from the system page by page, and so do large outputs of ops, whose place its records took. TensorFlow's made steps of
P3B2 up to three times as long so, and in later sessions a tenth longer. Of those the one of the shortest steps is
kept: what else the machine did disturbed it least.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any, Protocol

import numpy as np

from estimator.collect.capture import machine, tensorflow_import
from estimator.core.types import Floats

Progress = Callable[[int, int], None]  # steps done, and of how many
INTERVAL = (0.05, 0.5, 0.95)  # low, mid and high of the timed steps


class Recorder(Protocol):
    """What records the profiled steps."""

    def start(self) -> None:
        """Record from here on."""

    def step(self, number: int) -> AbstractContextManager[Any]:
        """A context around one recorded step."""

    def stop(self, *, keep: bool) -> None:
        """Write what was recorded since the last start in place of what was before, or forget it."""


@dataclass
class Watch:
    """How many steps of each kind to run, ``profiled`` in every session, and the wall time [s] of each that ran."""

    warmup: int
    timed: int = 0
    profiled: int = 0
    recorder: Recorder | None = None
    progress: Progress = lambda done, total: None
    seconds: list[float] = field(default_factory=list)
    tries: int = 1  # sessions that count
    kept: list[float] = field(default_factory=list)  # the part of seconds that the dump holds
    waits: bool = field(default_factory=lambda: bool(machine.accelerators()))

    @property
    def total(self) -> int:
        """How many steps to run."""
        return self.warmup + self.timed + (1 + self.tries) * self.profiled

    @property
    def done(self) -> bool:
        """Whether all of them ran."""
        return len(self.seconds) >= self.total

    def begin(self) -> None:
        """A step begins."""
        ran = len(self.seconds) - self.warmup - self.timed
        self._mark: AbstractContextManager[Any] = nullcontext()
        if self.recorder and ran >= 0:
            if ran % self.profiled == 0:
                self.recorder.start()
            self._mark = self.recorder.step(ran % self.profiled)
        self._mark.__enter__()
        self._started = perf_counter()

    def end(self) -> None:
        """The step has ended; what it started on a device is waited for."""
        if self.waits:
            tensorflow_import.import_tensorflow().test.experimental.sync_devices()
        self.seconds.append(perf_counter() - self._started)
        self._mark.__exit__(None, None, None)
        ran = len(self.seconds) - self.warmup - self.timed
        if self.recorder and ran > 0 and ran % self.profiled == 0:
            self._end_session(self.recorder, first=ran == self.profiled)
        self.progress(len(self.seconds), self.total)

    def _end_session(self, recorder: Recorder, *, first: bool) -> None:
        last = self.seconds[-self.profiled :]
        keep = not first and (not self.kept or sum(last) < sum(self.kept))
        recorder.stop(keep=keep)
        self.kept = last if keep else self.kept

    def step_s(self) -> Floats:
        """Low, mid (median) and high of the timed steps [s]; low and high leave out the outer tenth."""
        return np.quantile(self.seconds[self.warmup : self.warmup + self.timed], INTERVAL)

    def profiled_s(self) -> float:
        """The median of the profiled steps [s] that the dump holds."""
        return float(np.median(self.kept))
