"""When the calls of a Kineto trace ran that training keeps tensors of: the column ``places`` of OPS."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from estimator.core.places import Place, show_places
from estimator.core.types import Integers
from estimator.profiles.kineto import torch_ops
from estimator.profiles.kineto.autograd import pass_numbers
from estimator.profiles.kineto.graph import Graph
from estimator.profiles.kineto.trace import Trace


class Calls(NamedTuple):
    """Calls that autograd tracks in a step: the row of OPS, the op, and the start [ps] of each."""

    row: Integers
    op: Integers
    start: Integers


def places_of_rows(calls: Calls, rows: int, trace: Trace, graph: Graph) -> list[str | None]:
    """The places of each row's calls in the forward pass that reads most elements; None: no call."""
    calls = _of_largest_pass(calls, trace)
    listed: list[list[Place]] = [[] for _ in range(rows)]
    each = zip(calls.row.tolist(), graph.frozen[calls.op].tolist(), graph.block[calls.op].tolist(), strict=True)
    for number, (row, frozen, block) in enumerate(each):
        listed[row].append(Place(number, frozen, block))
    return [show_places(places) or None for places in listed]


def _of_largest_pass(calls: Calls, trace: Trace) -> Calls:
    """The calls of the forward pass that reads most elements, in their order."""
    number = pass_numbers(trace, calls.op)
    elements = np.array([1 + torch_ops.largest(call.dims) for call in trace.calls])
    largest = np.bincount(number, elements[trace.ops["kind"][calls.op]], minlength=1).argmax()
    chosen = np.flatnonzero(number == largest)
    chosen = chosen[np.argsort(calls.start[chosen], kind="stable")]
    return Calls(*(column[chosen] for column in calls))
