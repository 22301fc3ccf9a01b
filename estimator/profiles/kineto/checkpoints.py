"""Blocks of a Kineto trace whose tensors a checkpoint drops, and which it runs again in the backward pass.

PyTorch has two kinds (torch/utils/checkpoint.py). One is a function with a gradient of its own, inside which the whole
block runs again. The other one runs the block again inside the gradient of its last op that keeps a tensor. Autograd
numbers the ops of both runs in their order: where the first run has 4, 5 and 6, and the second one 100, 101 and 102
inside the gradient of 6, the numbers differ by 96.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import NamedTuple

import numpy as np

from estimator.core.places import NO_BLOCK
from estimator.core.types import Flags, Integers
from estimator.profiles.kineto.arguments import Call, Sizes, read_sizes
from estimator.profiles.kineto.autograd import are_ends
from estimator.profiles.kineto.nesting import (
    BACK,
    FORWARD,
    NO_OP,
    Nesting,
    are_calls,
    are_numbered,
    first_behind,
    is_gradient,
    nearest,
    spread_inside,
    with_gradients,
)
from estimator.profiles.kineto.trace import Trace

OF_FUNCTION = "Backward"  # ends the name of a function's gradient, behind that of the function
LEAST_DIMENSIONS = 3  # of an input whose size alone shows that it is no parameter


class Block(NamedTuple):
    """The gradient that a block runs again in, and its ops in the first run: those that autograd numbers, or the
    function that they are inside.
    """

    gradient: int
    rows: Integers
    is_function: bool


def runs_again(trace: Trace, nest: Nesting) -> Flags:
    """Ops of the forward pass that a checkpoint runs again inside of a gradient: those that autograd numbers."""
    return are_numbered(trace, (nest.phase == BACK) & ~are_calls(trace, is_gradient))


def block_numbers(blocks: Sequence[Block], nest: Nesting) -> Integers:
    """The block of each op of the forward pass that a checkpoint runs again, from 1 on; NO_BLOCK for all others."""
    number = np.full(len(nest.parent), NO_BLOCK, dtype=np.int64)
    for place, block in enumerate(blocks, start=1):
        number[block.rows] = place
    return spread_inside(number, nest.parent, NO_BLOCK)


def gradients_of_inputs(blocks: Sequence[Block], trace: Trace, nest: Nesting) -> Flags:
    """The ends of gradients that belong to inputs of blocks that are functions, not to parameters.

    Such a block's own backward pass ends at its inputs as at parameters, and there last of all. An end inside no block
    that has the size of an input with three dimensions or more is that of the first block's input.
    """
    kind, flags = trace.ops["kind"], np.zeros(len(nest.parent), dtype=bool)
    functions = [block for block in blocks if block.is_function]
    if not functions:
        return flags
    sizes = [_sizes(call) for call in trace.calls]
    inputs = {block.gradient: Counter(sizes[kind[block.rows[-1]]]) for block in functions}
    large = {size for each in inputs.values() for size in each if len(size) >= LEAST_DIMENSIONS}
    around = nearest(list(inputs), nest.parent)
    for row in np.flatnonzero(are_ends(trace))[::-1].tolist():
        left = inputs.get(int(around[row]), Counter(large))
        for size in sizes[kind[row]]:
            flags[row] = left[size] > 0
            left[size] -= 1
    return flags


def _sizes(call: Call) -> list[Sizes]:
    """The sizes of a call's tensors."""
    return [size for size in chain(*read_sizes(call.dims)) if size]


def find_blocks(trace: Trace, nest: Nesting, second_runs: Flags) -> Iterator[Block]:
    """Yield the blocks of a trace, one for each gradient with ops that run again.

    The first run of a block inside another block may be part of that one's second run.
    """
    around = nearest(np.flatnonzero(are_calls(trace, is_gradient)), nest.parent)
    again = np.flatnonzero(with_gradients(trace, second_runs) & (around != NO_OP))
    if not len(again):
        return
    again = again[np.argsort(around[again], kind="stable")]
    begins = np.flatnonzero(np.diff(around[again], prepend=NO_OP))
    runs = [_Run.of(trace, chosen) for chosen in (nest.phase == FORWARD, second_runs)]
    for rows, gradient in zip(np.split(again, begins[1:]), around[again[begins]].tolist(), strict=True):
        if block := next(filter(None, (run.block(gradient, rows) for run in runs)), None):
            yield block


@dataclass(frozen=True)
class _Run:
    """A trace with some of its ops that autograd numbers, by their numbers."""

    trace: Trace
    names: Sequence[str]  # of each kind of op
    has_gradient: Flags  # of each op
    rows: Integers
    numbers: Integers  # of these rows

    @classmethod
    def of(cls, trace: Trace, chosen: Flags) -> _Run:
        """These ops of a trace, where autograd numbers them."""
        rows = np.flatnonzero(are_numbered(trace, chosen))
        rows = rows[np.argsort(trace.ops["sequence"][rows], kind="stable")]
        names = [call.name for call in trace.calls]
        return cls(trace, names, with_gradients(trace, chosen), rows, trace.ops["sequence"][rows])

    def block(self, gradient: int, again: Integers) -> Block | None:
        """The block that runs again inside of a gradient."""
        for rows, is_function in ((self.function(gradient, again), True), (self.numbered(gradient, again), False)):
            if len(rows):
                return Block(gradient, rows, is_function)
        return None

    def between(self, first: int, last: int) -> Integers:
        """The ops with these numbers."""
        return self.rows[slice(*np.searchsorted(self.numbers, (first, last + 1)))]

    def function(self, gradient: int, again: Integers) -> Integers:
        """The function whose gradient this is, where the ops that run again are of kinds that ran inside it."""
        kind, number = self.trace.ops["kind"], self.trace.ops["sequence"][gradient]
        name, own = self.names[kind[gradient]], self.between(number, number).tolist()
        functions = [row for row in own if self.names[kind[row]] + OF_FUNCTION == name]
        ran = [row for row in functions if np.isin(kind[again], kind[row + 1 : first_behind(self.trace, row)]).all()]
        return np.array(ran, dtype=np.int64)

    def numbered(self, gradient: int, again: Integers) -> Integers:
        """The ops whose numbers differ by one offset from those of the ops that run again.

        None where other kinds of ops ran, as in the gradient of a gradient.
        """
        kind, number, lane = (self.trace.ops[name] for name in ("kind", "sequence", "lane"))
        own = self.between(number[gradient], number[gradient])
        repeats = again[np.isin(kind[again], kind[own])]
        if not len(repeats):
            return again[:0]
        offset = number[gradient] - number[repeats[-1]]
        block = self.between(number[again].min() + offset, number[again].max() + offset)
        block = block[lane[block] == lane[own[kind[own] == kind[repeats[-1]]][0]]]
        kinds = set(kind[block[self.has_gradient[block]]].tolist())
        return block if kinds == set(kind[again].tolist()) else again[:0]
