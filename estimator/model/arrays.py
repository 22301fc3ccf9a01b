"""Operations on arrays that have one entry per op."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from estimator.core.types import Flags, Floats, Names


def first_met(conditions: Sequence[Flags], names: Sequence[str], otherwise: str) -> Names:
    """The name of the first condition that each op meets."""
    positions = np.select(conditions, range(len(names)), len(names))
    return np.asarray(np.array([*names, otherwise], dtype=object)[positions])


def padded(values: Floats, count: int, missing: float) -> Floats:
    """Extend an array of the first ops to ``count`` ops with a ``missing`` value."""
    return np.concatenate([values, np.full(count - len(values), missing)])
