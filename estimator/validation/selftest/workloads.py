"""Workloads of a self-test: files of training runs, at a scale."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from estimator.collect.capture.script import label, locate
from estimator.core.errors import EstimatorError

LEAST_SCALE = 1e-3  # as in a capture


@dataclass(frozen=True)
class Workload:
    """A workload at a scale, ``nt3@0.02``; without one at full size."""

    name: str
    file: Path
    scale: float


def parse(text: str) -> Workload:
    """Parse a workload: a file, a folder or a shipped name, at a scale. Raises EstimatorError."""
    name, separator, scale = text.rpartition("@")
    if not separator or not name or "/" in scale or Path(text).exists():  # a path may contain an @
        name, separator, scale = text, "", ""
    try:
        size = float(scale if separator else 1.0)
    except ValueError:
        raise EstimatorError(f"workload '{text}': '{scale}' is no scale; write a number, such as nt3@0.02") from None
    if not LEAST_SCALE <= size <= 1:
        raise EstimatorError(f"workload '{text}': scale {scale} is none; write a number from {LEAST_SCALE:g} to 1")
    file = locate(name)
    return Workload(label(file) + f"@{scale}" * bool(scale), file.resolve(), size)
