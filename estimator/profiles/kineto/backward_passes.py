"""The backward passes of a Kineto trace: which gradients each hands over to parameters."""

from __future__ import annotations

import numpy as np

from estimator.core.types import Integers
from estimator.profiles.kineto.autograd import are_ends, in_order
from estimator.profiles.kineto.nesting import FORWARD, Nesting, are_numbered_gradients, are_products
from estimator.profiles.kineto.steps import Steps
from estimator.profiles.kineto.trace import ABSENT, Trace
from estimator.profiles.timeline import step_at


def backward_passes(trace: Trace, nest: Nesting, steps: Steps) -> list[Integers]:
    """The ops of each backward pass that hand gradients over, behind products of the forward pass.

    A stage of a pipeline runs its last backward passes, or all of them, one behind the other. Without any products of
    the forward pass, as in compiled code, a step is a pass.
    """
    ends = are_ends(trace)
    products = are_products(trace) & (nest.phase == FORWARD)
    rows = in_order(trace, (ends | products) & steps.ops)
    if ends[rows].all():
        return np.split(rows, np.flatnonzero(np.diff(step_at(steps.windows, trace.ops["start"][rows]))) + 1)
    in_a_row = [each for each in np.split(rows, np.flatnonzero(np.diff(ends[rows])) + 1)[1:] if ends[each[0]]]
    gradients = in_order(trace, are_numbered_gradients(trace))
    times = [_times(trace.ops["kind"][each], _numbers(trace, gradients, each)) for each in in_a_row]
    return [one for each, count in zip(in_a_row, times, strict=True) for one in np.split(each, count)]


def _numbers(trace: Trace, gradients: Integers, ends: Integers) -> Integers:
    """Autograd's number of the last of these ``gradients``, by start, before each of these ops."""
    before = np.searchsorted(trace.ops["start"][gradients], trace.ops["start"][ends]) - 1
    return np.where(before < 0, ABSENT, np.append(trace.ops["sequence"][gradients], ABSENT)[before])


def _times(kinds: Integers, numbers: Integers) -> int:
    """How many backward passes hand over gradients of these kinds, with these numbers of autograd.

    A pass runs down the numbers (PyTorch, torch/csrc/autograd/engine.cpp, ReadyQueue), so the next one begins higher.
    """
    for times in range(len(kinds), 1, -1):
        if len(kinds) % times == 0:
            each, number = kinds.reshape(times, -1), numbers.reshape(times, -1)
            if (each == each[0]).all() and (number[1:, 0] > number[:-1, -1]).all():
                return times
    return 1
