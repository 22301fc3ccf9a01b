"""Blocks of a Kineto trace whose tensors a checkpoint drops, and which it runs again in the backward pass.

PyTorch has two kinds (torch/utils/checkpoint.py). One is a function with a gradient of its own, inside which the whole
block runs again. The other one runs the block again inside the gradient of its last op that keeps a tensor: autograd
numbers the ops of both runs, and these numbers differ by one offset.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from estimator.core.types import Flags, Integers, Names
from estimator.profiles.kineto.arguments import Call, read_sizes
from estimator.profiles.kineto.nesting import (
    BACK,
    BACKWARD,
    FORWARD,
    Nesting,
    are_calls,
    are_inside,
    spread_inside,
)
from estimator.profiles.kineto.trace import ABSENT, Trace

NO_BLOCK = 0
NO_OP = -1
GRADIENT = "Backward"  # ends the name of a function's gradient


def computed_again(trace: Trace, nest: Nesting) -> Flags:
    """Ops of the forward pass that a checkpoint runs again inside of a gradient: those that autograd numbers."""
    numbered: Flags = (nest.phase == BACK) & (trace.ops["sequence"] != ABSENT)
    return numbered & ~are_calls(trace, is_gradient)


def is_gradient(call: Call) -> bool:
    """Whether a call is of the backward pass by its name."""
    return bool(BACKWARD.search(call.name))


def checkpointed_blocks(trace: Trace, nest: Nesting) -> Integers:
    """The block of each op of the forward pass that a checkpoint runs again, from 1 on; NO_BLOCK for all others."""
    block = np.full(len(nest.parent), NO_BLOCK, dtype=np.int64)
    for number, rows in enumerate(_blocks(trace, nest), start=1):
        block[rows] = number
    return spread_inside(block, nest.parent, NO_BLOCK)


def _blocks(trace: Trace, nest: Nesting) -> Iterator[Integers]:
    """Yield the numbered ops of each block in the forward pass, or the function that they are inside."""
    again = np.flatnonzero(computed_again(trace, nest))
    gradient = np.where(are_calls(trace, is_gradient), np.arange(len(nest.parent)), NO_OP)
    around = spread_inside(gradient, nest.parent, NO_OP)[again]
    order = np.argsort(around, kind="stable")
    again, around = again[order], around[order]
    begins = np.flatnonzero(np.diff(around, prepend=NO_OP - 1))
    forward, names = _numbered(trace, nest), np.array([call.name for call in trace.calls], dtype=object)
    for rows, row in zip(np.split(again, begins[1:]), around[begins].tolist(), strict=False):
        yield _first_run(trace, rows, row, forward, names)


def _numbered(trace: Trace, nest: Nesting) -> Integers:
    """The ops of the forward pass that autograd numbers, by their numbers."""
    number = trace.ops["sequence"]
    rows = np.flatnonzero((nest.phase == FORWARD) & (number != ABSENT))
    return rows[np.argsort(number[rows], kind="stable")]


def _first_run(trace: Trace, again: Integers, gradient: int, forward: Integers, names: Names) -> Integers:
    """The ops of the forward pass that ran again inside of a gradient, or the function that they are inside.

    None where other ops ran than in the forward pass, as in the gradient of a gradient.
    """
    number, kind = trace.ops["sequence"], trace.ops["kind"]

    def between(first: int, last: int) -> Integers:
        return forward[slice(*np.searchsorted(number[forward], (first, last + 1)))]

    last = between(number[gradient], number[gradient])
    function: Integers = last[names[kind[last]] + GRADIENT == names[kind[gradient]]]
    repeats = again[np.isin(kind[again], kind[last])]
    if len(function) or not len(repeats):
        return function
    offset = number[gradient] - number[repeats[-1]]
    block = between(number[again].min() + offset, number[again].max() + offset)
    is_same = bool(np.isin(kind[again], kind[block]).all())
    return block if is_same else block[:0]


def inner_gradients(trace: Trace, nest: Nesting) -> Flags:
    """Ops inside a function's gradient whose operands have the sizes of arguments of functions.

    The backward pass of a checkpoint's block hands gradients to the block's inputs as to parameters.
    """
    names = {call.name for call in trace.calls}
    functions = {call for call in trace.calls if call.name + GRADIENT in names}
    arguments = {size for call in functions for size in _sizes(call)}
    gradients = {call.name + GRADIENT for call in functions}
    inside = are_inside(are_calls(trace, lambda call: call.name in gradients), nest.parent)
    return inside & are_calls(trace, lambda call: arguments.issuperset(_sizes(call)))


def _sizes(call: Call) -> list[tuple[int, ...]]:
    return [size for argument in read_sizes(call.dims) for size in argument if size]
