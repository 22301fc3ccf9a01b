"""Numbers of the weights that a Kineto trace's steps train, and of those that they do not."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence

import numpy as np

from estimator.core.types import Flags, Integers
from estimator.profiles.kineto.arguments import Call, base_name, read_precision, read_sizes
from estimator.profiles.kineto.autograd import are_ends, handed_over
from estimator.profiles.kineto.frozen_weights import WEIGHTS
from estimator.profiles.kineto.graph import Graph
from estimator.profiles.kineto.nesting import FORWARD, UPDATE, Nesting, are_around, are_calls, are_inside
from estimator.profiles.kineto.steps import Steps
from estimator.profiles.kineto.trace import Trace
from estimator.profiles.timeline import step_at


def trained_numbers(trace: Trace, nest: Nesting, graph: Graph, passes: Sequence[Integers]) -> int | None:
    """Trained numbers, by the gradients that the backward passes hand over; None where nothing tells.

    There are as many parameters of a size as one pass has gradients of it: two networks may take turns. The update
    reads each gradient. Where it reads most of them, one of a size that it does not read is an input's.
    """
    handed = [handed_over(call) for call in trace.calls]
    gradients = Counter[tuple[int, ...]]()
    for ends in passes:
        gradients |= Counter(size for kind in trace.ops["kind"][ends[~graph.of_input[ends]]] for size in handed[kind])
    updates = _often(trace, nest.phase == UPDATE)
    read = {size for call, _ in updates for argument in read_sizes(call.dims) for size in argument}
    trained = Counter({size: count for size, count in gradients.items() if size in read})
    counted = trained if 2 * trained.total() > gradients.total() else gradients
    return sum(count * math.prod(size) for size, count in counted.items()) or None


def handed_format(trace: Trace, in_steps: Flags) -> str | None:
    """The number format of most of the gradients that are handed over; None where nothing tells."""
    numbers: Counter[str | None] = Counter()
    for call, count in _often(trace, in_steps & are_ends(trace)):
        numbers[read_precision(call.types)] += count * sum(map(math.prod, handed_over(call)))
    return max(numbers, key=numbers.__getitem__, default=None)


def frozen_numbers(trace: Trace, nest: Nesting, graph: Graph, steps: Steps, passes: int) -> int | None:
    """Numbers of weights that are not trained, of so many forward passes; None where there are none.

    Of weights of one size there are no more than take part without a gradient of their own being handed over. Passes
    that evaluate the trained model itself hold no others: all its weights take part untracked ``again``. Once in each
    step they are those of a copy, such as a teacher.
    """
    in_steps, takes = steps.ops, are_calls(trace, _weights)
    forward: Flags = in_steps & (nest.phase == FORWARD) & ~are_inside(takes, nest.parent)  # transforms call an op twice
    untracked = forward & ~are_around(graph.tracked, nest.parent)
    frozen = _sizes(trace, untracked | (in_steps & graph.frozen), _weights)
    taken, trained = _sizes(trace, forward, _weights), _sizes(trace, in_steps, _trained)
    again = min((frozen[size] / count for size, count in trained.items() if size in taken), default=0.0)
    is_copy = again == 1 and not _differ_by_step(trace, untracked & takes, steps)
    without = {size: count / (1 + again * (not is_copy)) - trained[size] for size, count in taken.items()}
    total = sum(max(min(count, without.get(size, 0.0)), 0.0) * math.prod(size) for size, count in frozen.items())
    return round(total / passes) or None


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


def _sizes(trace: Trace, chosen: Flags, weights: Callable[[Call], Sequence[int]]) -> Counter[tuple[int, ...]]:
    """How often these ops take weights of each size, whatever the order of its dimensions."""
    sizes = Counter[tuple[int, ...]]()
    for call, count in _often(trace, chosen):
        if size := tuple(sorted(weights(call))):
            sizes[size] += count
    return sizes


def _weights(call: Call) -> tuple[int, ...]:
    """The size of the weights that a call takes; () for other calls."""
    name, sizes = base_name(call.name), read_sizes(call.dims)
    return _only(sizes[WEIGHTS[name]]) if name in WEIGHTS and len(sizes) > WEIGHTS[name] else ()


def _trained(call: Call) -> tuple[int, ...]:
    """The size of the parameter that a call hands a gradient to; () for other calls."""
    return _only(handed_over(call))


def _only(tensors: Sequence[tuple[int, ...]]) -> tuple[int, ...]:
    return tensors[0] if len(tensors) == 1 else ()
