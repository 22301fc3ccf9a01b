"""How the ops of a Kineto trace lie in each other: parents, parts of the step, and ops that hand their work on."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np

from estimator.core.errors import EstimatorError
from estimator.core.schema import PHASES
from estimator.core.types import Flags, Integers
from estimator.profiles import events
from estimator.profiles.columns import Columns, slices
from estimator.profiles.kineto import torch_ops
from estimator.profiles.kineto.trace import LOADER, OPTIMIZER, Trace

BACKWARD = re.compile(r"^autograd::engine::evaluate_function|^torch::autograd::|Backward\d*$")
FORWARD, BACK, UPDATE, INPUT, UNKNOWN = map(PHASES.index, ("forward", "backward", "optimizer", "input", "unknown"))
TOLERANCE_PS = 10**6  # times were once written in whole microseconds


@dataclass(frozen=True)
class Nesting:
    """For every op: the row of the op that it lies in (-1 for none), its time less that of the ops directly in it [ps],
    its phase, and whether it hands its work on.
    """

    parent: Integers
    self_ps: Integers
    phase: Integers
    dispatch: Flags


def nesting(trace: Trace) -> Nesting:
    """How the ops of a trace nest. Raises EstimatorError where one outlasts the op that it lies in."""
    parent, end = _parents(trace)
    duration = end - trace.ops["start"]
    child = np.flatnonzero(parent >= 0)
    self_ps = duration.copy()
    np.subtract.at(self_ps, parent[child], duration[child])
    return Nesting(parent, self_ps, _phases(trace), _dispatching(trace, parent, self_ps, end))


def inside(start: Integers, spans: Columns) -> Flags:
    """Whether each time lies in any of the spans."""
    order = np.argsort(spans["start"], kind="stable")
    begins, ends = spans["start"][order], (spans["start"] + spans["duration"])[order]
    reached = np.maximum.accumulate(np.concatenate([[start.min(initial=0)], ends]))
    return start < reached[np.searchsorted(begins, start, side="right")]


def is_matrix(trace: Trace) -> Flags:
    """Of every kind of op, whether it is a matrix product or a convolution."""
    return np.array([torch_ops.is_matrix(call.name) for call in trace.calls], dtype=bool)


def _parents(trace: Trace) -> tuple[Integers, Integers]:
    """The row of the op that each op lies in, -1 for none, and where each ends, no later than that one."""
    start, end = trace.ops["start"], trace.ops["start"] + trace.ops["duration"]
    parent = np.full(len(end), -1, dtype=np.int64)
    for lane in slices(trace.ops["lane"]):
        child, around = events.parents(start[lane], end[lane])
        if (end[lane][child] > end[lane][around]).any():
            end[lane] = _closed(trace, lane)
            child, around = events.parents(start[lane], end[lane])
        parent[child + lane.start] = around + lane.start
    return parent, end


def _closed(trace: Trace, lane: slice) -> list[int]:
    """The ends of a thread's ops, cut off where the op that each begins in ends, if that is within the tolerance."""
    ends: list[int] = []
    around: list[int] = []  # ops that have not ended, the last begun on top
    times = (trace.ops[name][lane].tolist() for name in ("start", "duration"))
    for row, (start, duration) in enumerate(zip(*times, strict=True)):
        while around and ends[around[-1]] <= start:
            around.pop()
        latest = ends[around[-1]] if around else start + duration
        overrun = start + duration - latest
        if overrun > TOLERANCE_PS:
            raise _unclosed(trace, lane.start + row, lane.start + around[-1], overrun)
        ends.append(min(start + duration, latest))
        around.append(row)
    return ends


def _unclosed(trace: Trace, child: int, around: int, overrun: int) -> EstimatorError:
    calls = list(trace.calls)
    inner, outer = (calls[trace.ops["kind"][row]].name for row in (child, around))
    return EstimatorError(
        f"{trace.where}: nesting that does not close: '{inner}' begins in '{outer}' and ends {overrun / 1e6:.3f} µs "
        "after it; expected the ops of a thread inside each other, so profile it again"
    )


def _phases(trace: Trace) -> Integers:
    """The part of the step that each op belongs to, by the annotations and backward ops that it lies in."""
    ops = trace.ops
    backward = np.array([bool(BACKWARD.search(call.name)) for call in trace.calls], dtype=bool)
    phase = np.full(len(ops), FORWARD, dtype=np.int64)
    spans = {
        BACK: ops.take(backward[ops["kind"]]),
        UPDATE: trace.marks.take(trace.marked(OPTIMIZER)).nested(),
        INPUT: trace.marks.take(trace.marked(LOADER)).nested(),
    }
    for code, found in spans.items():
        for of_lane in slices(found["lane"]):
            lane = slice(*np.searchsorted(ops["lane"], found["lane"][of_lane.start] + np.arange(2)))
            phase[lane][inside(ops["start"][lane], found.take(of_lane))] = code
    return phase


def _dispatching(trace: Trace, parent: Integers, self_ps: Integers, end: Integers) -> Flags:
    """Ops that hand their work on: products that hold another, and kinds of op that mostly wait for ops inside them
    which take as large an operand.
    """
    ops, matrix = trace.ops, is_matrix(trace)
    kind, duration = ops["kind"], end - ops["start"]
    size = np.array([torch_ops.largest(call.dims) for call in trace.calls], dtype=np.int64)
    child = np.flatnonzero(parent >= 0)
    around = kind[parent[child]]
    as_large = (size[kind[child]] >= size[around]) & (kind[child] != around)
    handed = np.bincount(around, duration[child] * as_large, len(matrix))
    flags = ((handed > np.bincount(kind, self_ps, len(matrix))) & ~matrix)[kind]
    products = np.flatnonzero(matrix[kind])
    lane, start, end = (of[products] for of in (ops["lane"], ops["start"], end))
    flags[products[:-1]] = (lane[1:] == lane[:-1]) & (start[1:] < end[:-1])  # the next one begins inside
    return flags
