"""Steps watched as they run: first warm-up, then steps that are timed alone, then steps that a profiler records.

It records them twice, and the second dump replaces the first: a profiler that begins takes its memory from the system
page by page, and large outputs of ops, whose place its records took, do so too. So TensorFlow's made steps of P3B2 up
to three times as long, and its second dump a tenth longer.
"""

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
    """How many steps of each kind to run, those ``profiled`` twice, and the wall time [s] of each that ran."""

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
        return self.warmup + self.timed + 2 * self.profiled

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
            quiet.tensorflow().test.experimental.sync_devices()
        self.seconds.append(perf_counter() - self._started)
        self._mark.__exit__(None, None, None)
        if self.recorder and self.total - len(self.seconds) in (0, self.profiled):
            self.recorder.stop()
        self.progress(len(self.seconds), self.total)

    def step_s(self) -> Floats:
        """Low, mid (median) and high of the timed steps [s]; low and high leave out the outer tenth."""
        return np.quantile(self.seconds[self.warmup : self.warmup + self.timed], INTERVAL)

    def profiled_s(self) -> float:
        """The median of the profiled steps [s] that the dump holds."""
        return float(np.median(self.seconds[-self.profiled :]))
