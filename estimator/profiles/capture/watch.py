"""Steps watched as they run: first warm-up, then steps that are timed alone, then steps that a profiler records."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any, Protocol

import numpy as np

from estimator.core.types import Floats
from estimator.profiles.capture import machine, quiet

Progress = Callable[[int, int], None]  # steps done, and of how many
INTERVAL = (0.05, 0.5, 0.95)  # low, mid and high of the timed steps


class Recorder(Protocol):
    """What records the profiled steps."""

    def start(self) -> None:
        """Record from here on."""

    def step(self, number: int) -> AbstractContextManager[Any]:
        """A context around one recorded step."""

    def stop(self) -> None:
        """Write what was recorded, where anything was."""


@dataclass
class Watch:
    """How many steps of each kind to run, and the wall time [s] of each that ran."""

    warmup: int
    timed: int = 0
    profiled: int = 0
    recorder: Recorder | None = None
    progress: Progress = lambda done, total: None
    seconds: list[float] = field(default_factory=list)
    waits: bool = field(default_factory=lambda: bool(machine.accelerators()))

    @property
    def total(self) -> int:
        """How many steps to run."""
        return self.warmup + self.timed + self.profiled

    @property
    def done(self) -> bool:
        """Whether all of them ran."""
        return len(self.seconds) >= self.total

    def begin(self) -> None:
        """A step begins."""
        number = len(self.seconds) - self.warmup - self.timed
        self._mark: AbstractContextManager[Any] = nullcontext()
        if self.recorder and number >= 0:
            if number == 0:
                self.recorder.start()
            self._mark = self.recorder.step(number)
        self._mark.__enter__()
        self._started = perf_counter()

    def end(self) -> None:
        """The step has ended; what it started on a device is waited for."""
        if self.waits:
            quiet.tensorflow().test.experimental.sync_devices()
        self.seconds.append(perf_counter() - self._started)
        self._mark.__exit__(None, None, None)
        if self.recorder and self.done:
            self.recorder.stop()
        self.progress(len(self.seconds), self.total)

    def step_s(self) -> Floats:
        """Low, mid (median) and high of the timed steps [s]; low and high leave out the outer tenth."""
        return np.quantile(self.seconds[self.warmup : self.warmup + self.timed], INTERVAL)

    def profiled_s(self) -> float:
        """The median of the profiled steps [s]."""
        return float(np.median(self.seconds[self.warmup + self.timed :]))
