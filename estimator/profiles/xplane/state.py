"""What a training step of XLA keeps from step to step: the arrays that its program takes and gives back.

A program of JAX is a function without side effects. It takes weights, states of the optimizer and a batch, and gives
the updated weights and states back.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterable
from dataclasses import dataclass

Array = tuple[str, tuple[int, ...]]  # number format and sizes
MOST_COPIES = 5  # a weight, and at most four states of the optimizer
LEAST_DIMENSIONS = 2  # of arrays that tell the copies: statistics of a normalization are vectors, which have no states


@dataclass(frozen=True)
class State:
    """Numbers that a step keeps, and how many arrays there are of each weight's size, with the weight itself."""

    numbers: int
    copies: int

    @property
    def parameters(self) -> int:
        """Numbers of the weights alone."""
        return round(self.numbers / self.copies)


def kept_state(taken: Iterable[Array], given: Iterable[Array]) -> State | None:
    """The state of a program, by the arrays of floating-point numbers that it takes and gives; None without any."""
    kept = Counter(taken) & Counter(given)
    numbers = sum(count * math.prod(sizes) for (_, sizes), count in kept.items())
    if not numbers:
        return None
    of_matrices = [count for (_, sizes), count in kept.items() if len(sizes) >= LEAST_DIMENSIONS]
    return State(numbers, _copies(of_matrices or kept.values()))


def _copies(counts: Collection[int]) -> int:
    """Arrays for each weight, by how many there are of each size: three for Adam, six where two layers match."""
    common = math.gcd(*counts)
    if common <= MOST_COPIES:
        return common
    return next((copies for copies in (3, 2) if common % copies == 0), 1)
