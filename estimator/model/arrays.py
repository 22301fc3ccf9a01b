"""Operations on arrays that have one entry per op."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from estimator.core.types import Flags, Floats, Names


def first_met(conditions: Sequence[Flags], names: Sequence[str], otherwise: str) -> Names:
    """The name of the first condition that each op meets."""
    first = np.select(conditions, range(len(names)), len(names))
    return np.asarray(np.array([*names, otherwise], dtype=object)[first])


def padded(values: Floats, count: int, missing: float) -> Floats:
    """The values of the first ops, and for each of the rest, up to so many ops, a missing one."""
    return np.concatenate([values, np.full(count - len(values), missing)])


def ratio(numerator: Floats, denominator: Floats) -> Floats:
    """One over the other; 1 where the denominator is 0 or not known."""
    return np.divide(numerator, denominator, out=np.ones_like(denominator), where=denominator > 0)
