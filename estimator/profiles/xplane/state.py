"""What a training step of JAX keeps from step to step: arrays that its program takes and gives back.

Such a program is a function without side effects: it takes weights, states of the optimizer and a batch, and gives the
updated weights and states back. The program names each array by its place in the function's arguments, such as
``params['Dense_0']['kernel']`` and ``state[0].mu['Dense_0']['kernel']``.
"""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from estimator.core.types import ITEMSIZE

Sizes = tuple[int, ...]
Array = tuple[str, Sizes]  # number format and sizes
Place = tuple[str, ...]  # the argument's name, and the keys, numbers and fields that lead to an array in it
PART = re.compile(r"""\[(?:'[^']*'|"[^"]*"|[^\]]*)\]|\.?\w+""")
MATRIX = 2  # dimensions; statistics of a normalization are vectors, which have no states


@dataclass(frozen=True)
class State:
    """How many numbers the weights have, and how many an optimizer keeps for each of them."""

    parameters: int
    slots: float  # in numbers of the weights' format
    precision: str = "fp32"  # of most weights


def kept_state(taken: Iterable[tuple[str, Array]], given: Iterable[Array]) -> State | None:
    """The state of a program, by the arrays that it takes, with their names, and by those that it gives.

    None where nothing comes back, and where names are missing.
    """
    kept = _kept([(tuple(PART.findall(name)), array) for name, array in taken], Counter(given))
    if not kept or not all(place for place, _ in kept):
        return None
    states = _of_fields(kept)
    states |= _of_arguments([each for each in kept if each[0] not in states])
    weights: Counter[str] = Counter()
    states_bytes = 0.0
    for place, (precision, sizes) in kept:
        if place in states:
            states_bytes += math.prod(sizes) * ITEMSIZE[precision]
        else:
            weights[precision] += math.prod(sizes)
    numbers, precision = weights.total(), max(weights, key=weights.__getitem__)
    return State(numbers, states_bytes / (numbers * ITEMSIZE[precision]), precision)


def _kept(taken: Iterable[tuple[Place, Array]], given: Counter[Array]) -> list[tuple[Place, Array]]:
    """The arrays with their places that come back; of more of one size the longest places, as a batch has a short
    one.
    """
    kept = []
    for place, array in sorted(taken, key=lambda each: -len(each[0])):
        if given[array]:
            given[array] -= 1
            kept.append((place, array))
    return kept


def _of_fields(kept: Sequence[tuple[Place, Array]]) -> set[Place]:
    """The states in fields, whose places end with that of a weight of their sizes: ``.mu['Dense_0']['kernel']``.

    Weights are in another argument, or in another part of the only one: ``state.params`` and ``state.opt_state``.
    """
    lead = 1 if len({place[0] for place, _ in kept}) > 1 else 2
    holders = defaultdict(set)
    for place, (_, sizes) in kept:
        holders[place[lead:], sizes].add(place[:lead])
    return {
        place
        for place, (_, sizes) in kept
        for end in range(lead + 1, len(place))
        if any(part.startswith(".") for part in place[lead:end]) and holders[place[end:], sizes] - {place[:lead]}
    }


def _of_arguments(kept: Sequence[tuple[Place, Array]]) -> set[Place]:
    """The states in arguments whose matrices all have sizes of weights, which are in arguments of fewer arrays.

    An argument that is an array by itself is a weight.
    """
    arguments = defaultdict(list)
    for place, array in kept:
        arguments[place[0] if len(place) > 1 else place].append((place, array))
    weights: set[Sizes] = set()
    states: set[Place] = set()
    for argument, arrays in sorted(arguments.items(), key=lambda each: len(each[1])):
        matrices = {sizes for _, (_, sizes) in arrays if len(sizes) >= MATRIX}
        if matrices and matrices <= weights and isinstance(argument, str):
            states.update(place for place, _ in arrays)
        weights |= matrices
    return states
