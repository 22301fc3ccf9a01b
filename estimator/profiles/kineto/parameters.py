"""Numbers of the weights that a Kineto trace's steps train, and of those that they do not."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from itertools import chain

import numpy as np

from estimator.core.types import Flags, Integers
from estimator.profiles.kineto.arguments import Call, Sizes, base_name, read_precision, read_sizes
from estimator.profiles.kineto.autograd import are_ends, handed_over
from estimator.profiles.kineto.frozen_weights import WEIGHTS
from estimator.profiles.kineto.graph import Graph
from estimator.profiles.kineto.nesting import FORWARD, UPDATE, Nesting, are_around, are_calls, are_inside
from estimator.profiles.kineto.steps import Steps
from estimator.profiles.kineto.trace import Trace
from estimator.profiles.timeline import step_at

Counts = Counter[Sizes]  # how many tensors there are of each size


def trained_numbers(trace: Trace, nest: Nesting, graph: Graph, passes: Sequence[Integers]) -> int | None:
    """Trained numbers, by the gradients that the backward passes hand over; None where nothing tells.

    There are as many parameters of a size as one pass has gradients of it: two networks may take turns. The update
    reads each gradient. Where it reads most of them, one of a size that it does not read is an input's.
    """
    handed = [handed_over(call) for call in trace.calls]
    gradients = Counts()
    for ends in passes:
        kinds = trace.ops["kind"][ends[~graph.of_input[ends]]]
        gradients |= Counter(size for kind in kinds for size in handed[kind])
    updates = _often(trace, nest.phase == UPDATE)
    read = {size for call, _ in updates for size in chain(*read_sizes(call.dims))}
    updated = Counter({size: count for size, count in gradients.items() if size in read})
    if 2 * updated.total() > gradients.total():
        gradients = updated
    return sum(count * math.prod(size) for size, count in gradients.items()) or None


def handed_format(trace: Trace, in_steps: Flags) -> str | None:
    """The number format of most of the gradients that are handed over; None where nothing tells."""
    numbers: Counter[str | None] = Counter()
    for call, count in _often(trace, in_steps & are_ends(trace)):
        numbers[read_precision(call.types)] += count * sum(map(math.prod, handed_over(call)))
    return max(numbers, key=numbers.__getitem__, default=None)


def frozen_numbers(trace: Trace, nest: Nesting, graph: Graph, steps: Steps, passes: int) -> int | None:
    """Numbers of weights that are not trained, of so many forward passes; None where there are none.

    Of weights of one size there are no more than take part without a gradient of their own being handed over.
    """
    takes = are_calls(trace, _weights)
    outermost = ~are_inside(takes, nest.parent)  # transforms call an op twice
    forward: Flags = steps.ops & (nest.phase == FORWARD) & outermost
    untracked = forward & ~are_around(graph.tracked, nest.parent)
    taken, trained = _sizes(trace, forward, _weights), _sizes(trace, steps.ops, _trained)
    frozen = _sizes(trace, untracked | (steps.ops & graph.frozen), _weights)
    evaluations = _evaluations(frozen, taken, trained)
    if evaluations == 1 and not _differ_by_step(trace, untracked & takes, steps):
        evaluations = 0.0  # once in each step: these are the weights of a copy, such as a teacher
    without_gradient = {size: count / (1 + evaluations) - trained[size] for size, count in taken.items()}
    counts = {size: min(count, without_gradient.get(size, 0.0)) for size, count in frozen.items()}
    return round(sum(max(count, 0.0) * math.prod(size) for size, count in counts.items()) / passes) or None


def _evaluations(frozen: Counts, taken: Counts, trained: Counts) -> float:
    """Passes that evaluate the trained model itself, for each that trains it: all its weights take part untracked."""
    return min((frozen[size] / count for size, count in trained.items() if size in taken), default=0.0)


def _differ_by_step(trace: Trace, ops: Flags, steps: Steps) -> bool:
    """Whether there are more of these ops in one step than in another."""
    if not len(steps.windows):
        return False
    in_step = step_at(steps.windows, trace.ops["start"][ops])
    return bool(np.ptp(np.bincount(in_step[in_step >= 0], minlength=len(steps.windows))))


def _often(trace: Trace, chosen: Flags) -> list[tuple[Call, int]]:
    """The kinds of these ops, and how many of them are of each."""
    counts = np.bincount(trace.ops["kind"][chosen], minlength=len(trace.calls)).tolist()
    return [(call, count) for call, count in zip(trace.calls, counts, strict=True) if count]


def _sizes(trace: Trace, chosen: Flags, weights: Callable[[Call], Sequence[int]]) -> Counts:
    """How often these ops take weights of each size, whatever the order of its dimensions."""
    sizes = Counts()
    for call, count in _often(trace, chosen):
        if size := tuple(sorted(weights(call))):
            sizes[size] += count
    return sizes


def _weights(call: Call) -> Sizes:
    """The size of the weights that a call takes; () for other calls."""
    name, sizes = base_name(call.name), read_sizes(call.dims)
    return _only(sizes[WEIGHTS[name]]) if name in WEIGHTS and len(sizes) > WEIGHTS[name] else ()


def _trained(call: Call) -> Sizes:
    """The size of the parameter that a call hands a gradient to; () for other calls."""
    return _only(handed_over(call))


def _only(tensors: Sequence[Sizes]) -> Sizes:
    return tensors[0] if len(tensors) == 1 else ()
