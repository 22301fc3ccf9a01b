"""What a training step of JAX keeps from step to step: arrays that its program takes and gives back.

Such a program is a function without side effects: it takes weights, states of the optimizer and a batch, and gives the
updated weights and states back. The program names each array by its place in the function's arguments, such as
``params['Dense_0']['kernel']`` and ``state[0].mu['Dense_0']['kernel']``. Where it also tells what computes with an
array, that decides: passes use weights, and the update alone uses states.
"""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from estimator.core.types import ITEMSIZE
from estimator.profiles.xplane.passes import IN_PASSES, IN_PASSES_ALONE, IN_UPDATE

Sizes = tuple[int, ...]
Array = tuple[str, Sizes]  # number format and sizes
Place = tuple[str, ...]  # the argument's name, and the keys, numbers and fields that lead to an array in it
Leaves = dict[Place, Sizes]  # arrays by what follows the name of their container
PART = re.compile(r"""\[(?:'[^']*'|"[^"]*"|[^\]]*)\]|\.?\w+""")
NUMBER = re.compile(r"\d+")
LEAST_WEIGHTS = 3  # arrays of a container whose states are looked for; one layer has two
MATRIX = 2  # dimensions; statistics of a normalization are vectors, which have no states


@dataclass(frozen=True)
class Taken:
    """An array that a program takes: its name, what computes with it, and whether it comes back as it was."""

    name: str
    array: Array
    use: str = ""
    is_unchanged: bool = False

    @property
    def is_frozen(self) -> bool:
        """Whether it is a weight that is not trained."""
        return self.is_unchanged and self.use == IN_PASSES_ALONE


@dataclass(frozen=True)
class State:
    """How many numbers the weights have, and how many an optimizer keeps for each of them."""

    parameters: int
    slots: float | None  # in numbers of the weights' format; None where the program gives gradients alone
    precision: str = "fp32"  # of most weights
    frozen: int = 0  # numbers of weights that are not trained


def kept_state(taken: Iterable[Taken], given: Iterable[Array], gradients: Iterable[Array] = ()) -> State | None:
    """The state of a program, by the arrays that it takes and by those that it gives; ``gradients`` are among these.

    None where nothing comes back, and where names are missing.
    """
    kept = _kept([(tuple(PART.findall(each.name)), each) for each in taken], Counter(given))
    if () in kept:
        return None
    trained = {place: each for place, each in kept.items() if not each.is_frozen}
    states = _by_use(trained, set(_states({place: each.array[1] for place, each in trained.items()})))
    masters = _masters(trained, states)
    trained = {place: each for place, each in trained.items() if place not in masters}
    states -= set(masters.values())
    weights = _numbers(each for place, each in trained.items() if place not in states)
    if not (numbers := weights.total()):
        return None
    precision = max(weights, key=weights.__getitem__)
    of_states = _numbers(each for place, each in trained.items() if place in states)
    states_bytes = sum(count * ITEMSIZE[each] for each, count in of_states.items())
    frozen = _numbers(each for each in kept.values() if each.is_frozen).total()
    gives_gradients = not Counter(each.array for each in trained.values()) - Counter(gradients)
    slots = None if gives_gradients else states_bytes / (numbers * ITEMSIZE[precision])
    return State(numbers, slots, precision, frozen)


def _numbers(arrays: Iterable[Taken]) -> Counter[str]:
    """How many numbers of each format the arrays hold."""
    numbers: Counter[str] = Counter()
    for each in arrays:
        precision, sizes = each.array
        numbers[precision] += math.prod(sizes)
    return numbers


def _masters(kept: Mapping[Place, Taken], states: set[Place]) -> dict[Place, Place]:
    """The wide array that is the weight behind each narrow copy, which only passes use: the update makes it anew."""
    wide: defaultdict[Sizes, list[Place]] = defaultdict(list)
    for place in (place for place in kept if place in states and kept[place].use == IN_UPDATE):
        wide[kept[place].array[1]].append(place)
    masters = {}
    for place, each in kept.items():
        precision, sizes = each.array
        behind = [other for other in wide[sizes] if ITEMSIZE[kept[other].array[0]] > ITEMSIZE[precision]]
        if each.use == IN_PASSES_ALONE and behind:
            masters[place] = behind[0]
            wide[sizes].remove(behind[0])
    return masters


def _kept(taken: Iterable[tuple[Place, Taken]], given: Counter[Array]) -> dict[Place, Taken]:
    """The arrays that come back, by their places.

    Where more arrays of a size are taken than come back, those with the longest places count: a batch has a short one.
    """
    kept = {}
    for place, each in sorted(taken, key=lambda each: -len(each[0])):
        if given[each.array]:
            given[each.array] -= 1
            kept[place] = each
    return kept


def _by_use(kept: Mapping[Place, Taken], states: set[Place]) -> set[Place]:
    """The places of states, as what computes with the arrays tells, where it does.

    An average of weights that a pass uses, as a target network, is a state where weights of its sizes remain.
    """
    used = {place for place, each in kept.items() if each.use in (IN_PASSES, IN_PASSES_ALONE)}
    if not used:
        return states
    remain = {kept[place].array for place in used - states}
    weights = {place for place in used & states if kept[place].array not in remain}
    return (states - weights) | {place for place, each in kept.items() if each.use == IN_UPDATE}


def _states(kept: Leaves) -> Iterator[Place]:
    """Yield the places of states: in arguments of their own, in containers of their weights, or in copies of these."""
    arguments = _children(kept)
    moments = {name for name, each in arguments.items() if any(_are_moments(each, of) for of in arguments.values())}
    others = {name: leaves for name, leaves in arguments.items() if name not in moments}
    inside = {name: list(_next_to_weights(leaves)) for name, leaves in others.items()}
    whole = moments | set(_of_sizes({name: leaves for name, leaves in others.items() if not inside[name]}))
    states = inside | {name: list(arguments[name]) for name in whole}
    if not any(states.values()) and len(arguments) == 1:
        states = {name: list(_copies(leaves)) for name, leaves in arguments.items()}
    yield from ((name, *place) for name, places in states.items() for place in places)


def _children(leaves: Leaves) -> dict[str, Leaves]:
    """The containers in a container."""
    children: defaultdict[str, Leaves] = defaultdict(dict)
    for place, sizes in leaves.items():
        children[place[0]][place[1:]] = sizes
    return dict(children)


def _next_to_weights(leaves: Leaves) -> Iterator[Place]:
    """Yield the states in a container that holds their weights too, at any depth: ``.opt_state`` with ``.params``."""
    children = _children({place: sizes for place, sizes in leaves.items() if place})
    large = [each for each in children.values() if len(each) >= LEAST_WEIGHTS]
    states = [name for name, each in children.items() if any(_are_moments(each, of) for of in large)]
    if not states:
        for name, inner in children.items():
            yield from ((name, *place) for place in _next_to_weights(inner))
        return
    others = [name for name in children if name not in states]
    averages = [name for n, name in enumerate(others) if children[name] in [children[each] for each in others[:n]]]
    yield from ((name, *place) for name in (*states, *averages) for place in children[name])


def _are_moments(leaves: Leaves, weights: Leaves) -> bool:
    """Whether each matrix is in a field, such as ``[0].mu``, at the place of a weight of its sizes."""
    matrices = {place: sizes for place, sizes in leaves.items() if len(sizes) >= MATRIX}
    return bool(matrices) and all(
        any(weights.get(place[end:]) == sizes and _holds_field(place[:end]) for end in range(1, len(place)))
        for place, sizes in matrices.items()
    )


def _holds_field(place: Place) -> bool:
    return any(part.startswith(".") for part in place)


def _of_sizes(arguments: dict[str, Leaves]) -> Iterator[str]:
    """Yield the arguments whose matrices all have sizes of weights, which are in arguments of fewer arrays.

    An argument that is one array is a weight.
    """
    known: set[Sizes] = set()
    for name, leaves in sorted(arguments.items(), key=lambda each: len(each[1])):
        matrices = {sizes for sizes in leaves.values() if len(sizes) >= MATRIX}
        if matrices and matrices <= known and () not in leaves:
            yield name
        known |= matrices


def _copies(leaves: Leaves) -> Iterator[Place]:
    """Yield all but the first of containers that hold the same, where nothing else is there: weights and moments.

    Containers whose names differ by a number are layers.
    """
    children = _children({place: sizes for place, sizes in leaves.items() if place})
    first, *others = children.values() if children else [{}]
    if len({NUMBER.sub("", name) for name in children}) == len(children) and all(each == first for each in others):
        yield from ((name, *place) for name in list(children)[1:] for place in children[name])
