"""What autograd's numbers tell of a Kineto trace: which calls of the forward pass it keeps tensors of."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from estimator.core.types import Flags, Integers
from estimator.profiles.kineto.arguments import Call, Sizes, read_sizes
from estimator.profiles.kineto.nesting import (
    BACK,
    FORWARD,
    Nesting,
    are_calls,
    are_inside,
    numbers_of_gradients,
    with_gradients,
)
from estimator.profiles.kineto.trace import Trace

OWN = "aten::"  # begins the names of PyTorch's own ops
GRADIENT_ENDS = "torch::autograd::AccumulateGrad"  # takes the gradient of one parameter
LAST_INSIDE = {"aten::_safe_softmax": "aten::where"}  # the op that writes its result


def tracked(trace: Trace, nest: Nesting) -> Flags:
    """Whether each op is one of the forward pass that has a gradient's op, or that such an op dispatches to.

    All ops of the forward pass, where there is no backward pass or no number.
    """
    forward: Flags = nest.phase == FORWARD
    flags = with_gradients(trace, forward)
    if not flags.any() or not (nest.phase == BACK).any():
        return forward
    is_own = are_calls(trace, lambda call: call.name.startswith(OWN))
    flags &= is_own | np.isin(trace.ops["sequence"], numbers_of_gradients(trace))
    works = is_own & ~nest.dispatch
    dispatched = are_inside(flags, nest.parent) & ~are_inside(works, nest.parent)  # what works calls keeps nothing
    return (flags | dispatched) & ~_between(trace, nest)


def _between(trace: Trace, nest: Nesting) -> Flags:
    """Ops inside an op with a gradient of its own whose results it hands on to another one inside."""
    around = are_calls(trace, lambda call: call.name in LAST_INSIDE)
    last = are_calls(trace, lambda call: call.name in LAST_INSIDE.values())
    between: Flags = are_inside(around, nest.parent) & ~around & ~last
    return between


def pass_numbers(trace: Trace, forward: Integers) -> Integers:
    """For each of these ops the number of its forward pass: between two of them parameters get gradients."""
    is_forward = np.zeros(len(trace.ops), dtype=bool)
    is_forward[forward] = True
    rows = in_order(trace, is_forward | are_ends(trace))
    number = np.zeros(len(is_forward), dtype=np.int64)
    number[rows] = np.cumsum(np.diff(is_forward[rows].astype(np.int64), prepend=0) > 0)
    return np.asarray(number[forward])


def handed_over(call: Call) -> Sequence[Sizes]:
    """The sizes of the gradients that an op hands over to a parameter; none for other ops."""
    sizes = read_sizes(call.dims) if call.name == GRADIENT_ENDS else []
    return sizes[0] if sizes else ()


def are_ends(trace: Trace) -> Flags:
    """The ops that hand gradients over to parameters."""
    return are_calls(trace, lambda call: call.name == GRADIENT_ENDS)


def in_order(trace: Trace, chosen: Flags) -> Integers:
    """The chosen ops, in the order of their starts."""
    rows = np.flatnonzero(chosen)
    return rows[np.argsort(trace.ops["start"][rows], kind="stable")]
