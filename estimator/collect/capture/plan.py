"""What a capture is asked to run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from estimator.core.types import Mode

Format = Literal["xplane", "tfprof"]


@dataclass(frozen=True)
class Plan:
    """How many steps of each kind to run, of which part and size of the training, and the dump's format; ``tries`` are
    sessions of the profiler that count, as watch.py says.
    """

    steps: int | None = None
    epochs: int | None = None
    warmup: int = 5
    profiled: int = 5
    batch: int | None = None
    format: Format = "xplane"
    verbose: bool = False
    scale: float = 1.0
    mode: Mode = "training"
    tries: int = 1
