"""The plan of a capture."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from estimator.core.types import Mode

Format = Literal["xplane", "tfprof"]


@dataclass(frozen=True)
class Plan:
    """Numbers of steps of each kind, mode and scale of the training, and the dump's format.

    ``tries``: profiler sessions of which the best is kept, see watch.py.
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
