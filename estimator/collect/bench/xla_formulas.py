"""Ops that XLA compiles from their formulas, for TensorFlow and JAX."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def _momentum(p: Any, g: Any, v: Any) -> Any:
    v = 0.9 * v + g
    return p - 1e-3 * v, v


def _adam(p: Any, g: Any, m: Any, v: Any) -> Any:
    m, v = 0.9 * m + 0.1 * g, 0.99 * v + 0.01 * g * g
    return p - 1e-3 * m / (abs(v) ** 0.5 + 1e-4), m, v


FORMULAS: dict[str, Callable[..., Any]] = {"triad": lambda x, y: x + 3.0 * y, "sgd_momentum": _momentum, "adam": _adam}
