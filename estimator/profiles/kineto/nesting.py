"""How the ops of a Kineto trace nest: their parents, their phases, and the ops that only dispatch others."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from estimator.core.errors import EstimatorError
from estimator.core.schema import PHASES
from estimator.core.types import Flags, Integers
from estimator.profiles import events
from estimator.profiles.columns import Columns, slices
from estimator.profiles.kineto import torch_ops
from estimator.profiles.kineto.arguments import Call
from estimator.profiles.kineto.trace import ABSENT, LOADER, OPTIMIZER, Trace

BACKWARD = re.compile(r"^autograd::engine::evaluate_function|^torch::autograd::|Backward\d*$")
PREPARES = re.compile(r"aten::(new_)?empty(_like|_strided)?|aten::resize_(as_)?|aten::contiguous")
FILLS = re.compile(r"aten::((new_)?(zeros|ones|full)(_like)?|(_foreach_)?zero_?|fill_?)")
FORWARD, BACK, UPDATE, INPUT, UNKNOWN = map(PHASES.index, ("forward", "backward", "optimizer", "input", "unknown"))
NO_OP = -1
TOLERANCE_PS = 10**6  # times were once written in whole microseconds


@dataclass(frozen=True)
class Nesting:
    """For each op: its parent's row (-1: none), self time [ps], phase, and whether it only dispatches other ops.

    ``crossing`` is the number of ops that ended after their parent, and were cut off there.
    """

    parent: Integers
    self_ps: Integers
    phase: Integers
    dispatch: Flags
    crossing: int = 0


def nest_ops(trace: Trace) -> Nesting:
    """The nesting of a trace's ops.

    Raises EstimatorError where an op ends after its parent in a trace of the host alone. Where a device ran, the ops
    only launch, and one may end late that waits for another thread, as gloo's do.
    """
    parent, end, crossing = _parents(trace)
    duration = end - trace.ops["start"]
    child = np.flatnonzero(parent >= 0)
    self_ps = duration.copy()
    np.subtract.at(self_ps, parent[child], duration[child])
    phase = _phases(trace, parent)
    return Nesting(parent, self_ps, phase, _dispatch(trace, parent, self_ps, duration, phase), crossing)


def product_above(trace: Trace, nest: Nesting, rows: Integers) -> Integers:
    """The nearest product around each op that does its own work; -1: none."""
    does_work = are_products(trace) & ~nest.dispatch
    above = np.where(rows >= 0, nest.parent[rows], -1)
    while (open_ := (above >= 0) & ~does_work[above]).any():
        above[open_] = nest.parent[above[open_]]
    return above


def inside(start: Integers, spans: Columns) -> Flags:
    """Whether each start lies inside any of the spans."""
    order = np.argsort(spans["start"], kind="stable")
    begins, ends = spans["start"][order], spans.end[order]
    reached = np.maximum.accumulate(np.concatenate([[start.min(initial=0)], ends]))
    return start < reached[np.searchsorted(begins, start, side="right")]


def spread_inside(values: Integers, parent: Integers, missing: int) -> Integers:
    """The value of each op, or that of the nearest op around it that has one; else ``missing``."""
    values, above = values.copy(), parent.copy()
    while (open_ := (above >= 0) & (values == missing)).any():
        values[open_] = values[above[open_]]
        above[open_] = parent[above[open_]]
    return values


def are_inside(flags: Flags, parent: Integers) -> Flags:
    """Whether each op is inside one of these ops."""
    around = spread_inside(flags.astype(np.int64), parent, missing=0) > 0
    return np.asarray(around[parent] & (parent >= 0))


def are_around(flags: Flags, parent: Integers) -> Flags:
    """Whether each op is one of these, or around one."""
    around = flags.copy()
    above = np.unique(parent[flags])
    while len(above := above[above != NO_OP]):
        around[above] = True
        above = np.unique(parent[above])
    return around


def nearest(rows: Sequence[int] | Integers, parent: Integers) -> Integers:
    """For each op the nearest of these rows that it is, or is inside; NO_OP without any."""
    marked = np.full(len(parent), NO_OP, dtype=np.int64)
    marked[rows] = rows
    return spread_inside(marked, parent, NO_OP)


def is_gradient(call: Call) -> bool:
    """Whether a call is of the backward pass by its name."""
    return _names_gradient(call.name)


@lru_cache(maxsize=1 << 14)
def _names_gradient(name: str) -> bool:
    return bool(BACKWARD.search(name))


def are_calls(trace: Trace, accept: Callable[[Call], object]) -> Flags:
    """Which ops are calls that meet a condition, which is asked once for each kind of op."""
    return np.asarray(are_kinds(trace, accept)[trace.ops["kind"]])


def are_kinds(trace: Trace, accept: Callable[[Call], object]) -> Flags:
    """Which kinds of op meet a condition."""
    return np.array([bool(accept(call)) for call in trace.calls], dtype=bool)


def are_products(trace: Trace) -> Flags:
    """Which ops are matrix products or convolutions."""
    return are_calls(trace, torch_ops.does_product)


def first_behind(trace: Trace, row: int) -> int:
    """The op of the same thread that is first to start once this one has ended; where there is none, the row behind the
    thread's last op. Those before it, from the next row on, are inside this one.
    """
    start, duration, lane = trace.ops["start"], trace.ops["duration"], trace.ops["lane"]
    thread = slice(row, int(np.searchsorted(lane, lane[row], side="right")))
    return row + int(np.searchsorted(start[thread], start[row] + duration[row]))


def _parents(trace: Trace) -> tuple[Integers, Integers, int]:
    """The row of each op's parent (-1: none); each op's end, which is no later than its parent's; and how many ops
    were cut off for that.
    """
    start, end = trace.ops["start"], trace.ops.end
    parent, crossing = np.full(len(end), -1, dtype=np.int64), 0
    for lane in slices(trace.ops["lane"]):
        child, outer = events.parents(start[lane], end[lane])
        if (end[lane][child] > end[lane][outer]).any():
            cut = np.array(_ends_cut_off(trace, lane), dtype=np.int64)
            crossing += int((end[lane] - cut > TOLERANCE_PS).sum())
            end[lane] = cut
            child, outer = events.parents(start[lane], end[lane])
        parent[child + lane.start] = outer + lane.start
    return parent, end, crossing


def _ends_cut_off(trace: Trace, lane: slice) -> list[int]:
    """The ends of a thread's ops, cut off at their parent's end. Raises EstimatorError beyond the tolerance where no
    device ran.
    """
    ends: list[int] = []
    open_ops: list[int] = []  # ops that have not ended, the last begun on top
    times = (trace.ops[name][lane].tolist() for name in ("start", "duration"))
    for row, (start, duration) in enumerate(zip(*times, strict=True)):
        while open_ops and ends[open_ops[-1]] <= start:
            open_ops.pop()
        latest = ends[open_ops[-1]] if open_ops else start + duration
        overrun = start + duration - latest
        if overrun > TOLERANCE_PS and not len(trace.device):
            raise _unclosed(trace, lane.start + row, lane.start + open_ops[-1], overrun)
        ends.append(min(start + duration, latest))
        open_ops.append(row)
    return ends


def _unclosed(trace: Trace, child: int, outer_row: int, overrun: int) -> EstimatorError:
    calls = list(trace.calls)
    inner_name, outer_name = (calls[trace.ops["kind"][row]].name for row in (child, outer_row))
    return EstimatorError(
        f"{trace.where}: nesting that does not close: '{inner_name}' begins in '{outer_name}' and ends "
        f"{overrun / 1e6:.3f} µs after it; expected the ops of a thread inside each other, so profile it again"
    )


def with_gradients(trace: Trace, chosen: Flags) -> Flags:
    """Which of these ops have a gradient's op.

    An op tells the number that its gradient's op would get. Those of one number before the last one that tells it made
    none (PyTorch, torch/csrc/autograd/function.h, sequence_nr).
    """
    rows = np.flatnonzero(are_numbered(trace, chosen))
    lane, number, start = (trace.ops[name][rows] for name in ("lane", "sequence", "start"))
    order = np.lexsort((start, number, lane))
    is_last = np.append((np.diff(number[order]) != 0) | (np.diff(lane[order]) != 0), True)
    flags = np.zeros(len(chosen), dtype=bool)
    flags[rows[order[is_last[: len(rows)]]]] = True
    return flags


def are_numbered(trace: Trace, chosen: Flags) -> Flags:
    """Which of these ops tell autograd's number."""
    return np.asarray(chosen & (trace.ops["sequence"] != ABSENT))


def are_numbered_gradients(trace: Trace) -> Flags:
    """Which ops of the backward pass tell autograd's number."""
    return are_numbered(trace, are_calls(trace, is_gradient))


def numbers_of_gradients(trace: Trace) -> Integers:
    """Autograd's numbers that ops of the backward pass tell: functions without gradients have numbers too."""
    return np.asarray(trace.ops["sequence"][are_numbered_gradients(trace)])


def _phases(trace: Trace, parent: Integers) -> Integers:
    """The phase of each op, from the annotations and backward ops around it.

    An update may run forward and backward passes itself, as that of L-BFGS does.
    """
    ops = trace.ops
    backward = are_kinds(trace, is_gradient)
    phase = np.full(len(ops), FORWARD, dtype=np.int64)
    spans = {
        BACK: ops.take(backward[ops["kind"]]),
        UPDATE: trace.marks.take(trace.marked(OPTIMIZER)).sorted_by_lane(),
        INPUT: trace.marks.take(trace.marked(LOADER)).sorted_by_lane(),
    }
    for code, marked in spans.items():
        for rows in slices(marked["lane"]):
            lane = slice(*np.searchsorted(ops["lane"], marked["lane"][rows.start] + np.arange(2)))
            phase[lane][inside(ops["start"][lane], marked.take(rows))] = code
    _mark_passes_of_updates(trace, parent, phase)
    return phase


def _mark_passes_of_updates(trace: Trace, parent: Integers, phase: Integers) -> None:
    """Set the phases of the passes that updates run: of gradients inside an update, and of ops that have gradients."""
    inner = are_calls(trace, is_gradient) & (phase == UPDATE)
    phase[inner | are_inside(inner, parent)] = BACK
    forward = (phase == UPDATE) & np.isin(trace.ops["sequence"], numbers_of_gradients(trace))
    if forward.any():  # of few optimizers
        forward &= with_gradients(trace, phase != BACK)
        phase[(are_around(forward, parent) | are_inside(forward, parent)) & (phase == UPDATE)] = FORWARD


def _dispatch(trace: Trace, parent: Integers, self_ps: Integers, duration: Integers, phase: Integers) -> Flags:
    """Whether each op only dispatches others: a product that holds another one, or a kind of op that in its phase
    spends most of its time in ops that do its work.

    Compiled code runs kernels between its ops, unless these are ops themselves.
    """
    is_product = are_products(trace)
    is_compiled = are_calls(trace, torch_ops.is_compiled)
    kernels_are_ops = are_kinds(trace, lambda call: torch_ops.GENERATED_KERNEL.match(call.name)).any()
    flags = _mostly_dispatch(trace, parent, self_ps, duration, phase) & ~is_product
    flags[is_compiled] = kernels_are_ops
    products = np.flatnonzero(is_product)
    lane, start = trace.ops["lane"][products], trace.ops["start"][products]
    flags[products[:-1]] = (lane[1:] == lane[:-1]) & (start[1:] < (start + duration[products])[:-1])  # next one inside
    has_child = np.isin(np.arange(len(parent)), parent)
    return flags | (has_child & are_calls(trace, torch_ops.calls_products))


def _mostly_dispatch(trace: Trace, parent: Integers, self_ps: Integers, duration: Integers, phase: Integers) -> Flags:
    """Whether ops of each one's kind, in its phase, last less by themselves than the ops that do their work."""
    kind, child = trace.ops["kind"], np.flatnonzero(parent >= 0)
    outer = parent[child]
    does_work = _do_work_of(trace, kind[child], kind[outer])
    group = kind * len(PHASES) + phase  # a square only copies in the backward pass
    groups = len(trace.calls) * len(PHASES)
    dispatched_ps = np.bincount(group[outer], duration[child] * does_work, groups)
    return np.asarray((dispatched_ps > np.bincount(group, self_ps, groups))[group])


def _do_work_of(trace: Trace, inner: Integers, outer: Integers) -> Flags:
    """Whether ops of the inner kinds do the work of those of the outer kinds, which call them: they have an operand as
    large as any of the caller's, and do not just prepare a tensor for it.
    """
    largest = np.array([torch_ops.largest(call.dims) for call in trace.calls], dtype=np.int64)
    prepares = are_kinds(trace, lambda call: PREPARES.fullmatch(call.name))[inner]
    clones = are_kinds(trace, lambda call: call.name == "aten::clone")[inner]
    in_place = are_kinds(trace, lambda call: call.name.endswith("_"))[outer]
    fills = are_kinds(trace, lambda call: FILLS.fullmatch(call.name))
    clears = fills[inner] & ~fills[outer]  # an op that sums into its result clears that first
    is_as_large = (largest[inner] >= largest[outer]) & (inner != outer)
    return np.asarray(is_as_large & ~(prepares | (clones & in_place) | clears))
