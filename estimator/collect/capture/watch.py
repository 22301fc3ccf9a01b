"""The watch over steps: warm-up, then timed steps, then steps recorded by a profiler.

The profiler runs in several sessions, of which the first is discarded: a starting profiler, and large outputs of ops
that lose their memory to its records, take new memory page by page. With TensorFlow's profiler, steps of P3B2 took up
to three times as long in the first session, and a tenth longer in later ones. Of these the session with the shortest
steps is kept, as it was disturbed least.
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

Progress = Callable[[int, int], None]  # steps done, number of steps
INTERVAL = (0.05, 0.5, 0.95)  # low, mid and high of the timed steps


class Recorder(Protocol):
    """A recorder of the profiled steps."""

    def start(self) -> None:
        """Start recording."""

    def step(self, number: int) -> AbstractContextManager[Any]:
        """A context around one recorded step."""

    def stop(self, *, keep: bool) -> None:
        """Write the recording since the last start in place of an earlier one, or discard it."""


@dataclass
class Watch:
    """Numbers of steps of each kind (``profiled``: per session), and the wall times of the steps run [s]."""

    warmup: int
    timed: int = 0
    profiled: int = 0
    recorder: Recorder | None = None
    progress: Progress = lambda done, total: None
    seconds: list[float] = field(default_factory=list)
    tries: int = 1  # sessions after the first
    kept: list[float] = field(default_factory=list)  # wall times of the steps in the dump [s]
    waits: bool = field(default_factory=lambda: bool(machine.accelerators()))

    @property
    def total(self) -> int:
        """The number of steps to run."""
        return self.warmup + self.timed + (1 + self.tries) * self.profiled

    @property
    def done(self) -> bool:
        """Whether all steps have run."""
        return len(self.seconds) >= self.total

    def begin(self) -> None:
        """Begin a step."""
        profiled_count = len(self.seconds) - self.warmup - self.timed
        self._mark: AbstractContextManager[Any] = nullcontext()
        if self.recorder and profiled_count >= 0:
            if profiled_count % self.profiled == 0:
                self.recorder.start()
            self._mark = self.recorder.step(profiled_count % self.profiled)
        self._mark.__enter__()
        self._started = perf_counter()

    def end(self) -> None:
        """End a step, after waiting for the device."""
        if self.waits:
            tensorflow_import.import_tensorflow().test.experimental.sync_devices()
        self.seconds.append(perf_counter() - self._started)
        self._mark.__exit__(None, None, None)
        profiled_count = len(self.seconds) - self.warmup - self.timed
        if self.recorder and profiled_count > 0 and profiled_count % self.profiled == 0:
            self._end_session(self.recorder, first=profiled_count == self.profiled)
        self.progress(len(self.seconds), self.total)

    def _end_session(self, recorder: Recorder, *, first: bool) -> None:
        session_s = self.seconds[-self.profiled :]
        keep = not first and (not self.kept or sum(session_s) < sum(self.kept))
        recorder.stop(keep=keep)
        self.kept = session_s if keep else self.kept

    def step_s(self) -> Floats:
        """Low, median and high of the timed steps [s]: the 5 %, 50 % and 95 % quantiles."""
        return np.quantile(self.seconds[self.warmup : self.warmup + self.timed], INTERVAL)

    def profiled_s(self) -> float:
        """The median of the profiled steps in the dump [s]."""
        return float(np.median(self.kept))
