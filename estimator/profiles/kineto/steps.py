"""The steps of a Kineto trace: their number, their length, and which ops and device events belong to them.

A step is a ``ProfilerStep`` mark in which something ran. Without such marks n updates by the optimizer bound n − 1
steps; what lies before the first is start-up. A device event belongs to the step in which the host launched it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from estimator.core.types import Flags, Integers
from estimator.profiles import events
from estimator.profiles.columns import Columns, slices
from estimator.profiles.device_steps import last_ends, non_empty, outside_warnings, wall_ps
from estimator.profiles.kineto.nesting import are_products
from estimator.profiles.kineto.trace import ABSENT, OPTIMIZER_STEP, PROFILER_STEP, Trace
from estimator.profiles.steps import NO_WINDOWS, STATE_STEPS
from estimator.profiles.timeline import step_at

FROM_UPDATES = (
    "no {mark} marks a step, so the optimizer's updates bound {steps} steps; two optimizers of one class double that "
    f"number: {STATE_STEPS}"
)
NO_STEPS = f"no step is marked, so the trace counts as one step{{wall}}: profile with a schedule, or {STATE_STEPS}"
STUB, FEW = 0.05, 10  # share of a step, and events
NO_WALL = ", whose wall time is unknown"


@dataclass(frozen=True)
class Steps:
    """The steps of a trace: their number, wall time together [s], and which ops and device events are part of them.

    ``windows`` are start and end of each on the host [ps], none where no step is marked; ``step`` is that of each
    device event, −1 where it is in none.
    """

    count: int
    wall_s: float | None
    ops: Flags
    step: Integers
    windows: Integers
    warnings: tuple[str, ...] = ()
    updates: int | None = None  # that bound them


def find_steps(trace: Trace, launched: Integers) -> Steps:
    """The steps of a trace; ``launched`` is when the host launched each device event [ps], ABSENT where unknown."""
    if len(trace.device) and (launched == ABSENT).all():
        launched = trace.device["start"]
    launched = _at_the_earliest(trace.device, launched)
    is_device = bool(len(trace.device))
    times, timed = (launched, trace.device) if is_device else (trace.ops["start"], trace.ops)
    windows = _whole(_marked(trace), times, timed["duration"])
    bounds, warnings = (windows, ()) if len(windows) else _updates(trace)
    if not len(bounds):
        return _whole_trace(trace)
    step, of_op = step_at(bounds, launched), step_at(bounds, trace.ops["start"])
    completed = last_ends(step, trace.device.end, len(bounds)) if is_device else None
    wall_s = wall_ps(bounds, completed, _busy_ps(trace.device.take(step >= 0))) / 1e12
    outside = _outside(trace.device if is_device else trace.ops, (step if is_device else of_op) < 0)
    updates = len(bounds) + 1 if warnings else None
    return Steps(len(bounds), wall_s, of_op >= 0, step, bounds, (*warnings, *outside), updates)


def _whole_trace(trace: Trace) -> Steps:
    """A trace without marks as one step, whose wall time is known of the host alone."""
    first, last = span_ps(trace)
    is_device = bool(len(trace.device))
    all_ops, first_step = np.ones(len(trace.ops), dtype=bool), np.zeros(len(trace.device), dtype=np.int64)
    warning = NO_STEPS.format(wall=NO_WALL if is_device else "")
    return Steps(1, None if is_device else (last - first) / 1e12, all_ops, first_step, NO_WINDOWS, (warning,))


def _at_the_earliest(device: Columns, launched: Integers) -> Integers:
    """When each device event was launched; where that is unknown, the launch of an event before it on its stream, or on
    any stream where no launch of its own is known.

    A stream runs in the order of launches. Older profilers record no launch by libraries that call the driver itself.
    """
    times, of_any = launched.copy(), np.empty_like(launched)
    by_start = np.argsort(device["start"], kind="stable")
    of_any[by_start] = np.maximum.accumulate(launched[by_start])
    for stream in slices(device["lane"]):
        own = launched[stream]
        times[stream] = np.maximum.accumulate(own) if (own != ABSENT).any() else of_any[stream]
    return np.where(launched == ABSENT, times, launched)


def span_ps(trace: Trace) -> tuple[int, int]:
    """The first start and the last end, since the first event in the file [ps]."""
    tables = [columns for columns in (trace.ops, trace.device, trace.marks) if len(columns)]
    ends = (int(columns.end.max()) for columns in tables)
    return min(int(columns["start"].min()) for columns in tables), max(ends)


def busy_s(timed: Columns) -> float:
    """Time during which any of the events ran [s]."""
    return _busy_ps(timed) / 1e12


def _busy_ps(timed: Columns) -> int:
    return events.covered(np.column_stack([timed["start"], timed["duration"]]))


def _marked(trace: Trace) -> Integers:
    """Start and end of each marked step on the host [ps], in the order of time; the longest mark of each name."""
    marks = trace.marks.take(trace.marked(PROFILER_STEP))
    longest = marks.take(np.lexsort((-marks["duration"], marks["name"])))
    longest = longest.take(np.unique(longest["name"], return_index=True)[1])
    return longest.windows()


def _whole(windows: Integers, times: Integers, durations: Integers) -> Integers:
    """The windows in which anything began, all of them where nothing did; without a last one that the trace's end cut
    off, soon after its begin. After a step of autotuning a whole one may be as short, but does more.
    """
    step = step_at(windows, times)
    inside = step >= 0
    begun, done_ps = (np.bincount(step[inside], each, len(windows)) for each in (None, durations[inside]))
    rows = non_empty(np.column_stack([windows, begun, done_ps.astype(np.int64)]), begun > 0)
    start, end, count, done = rows.T
    is_cut = len(rows) > 1 and count[-1] <= FEW and _last_is_stub(end - start) and _last_is_stub(done)
    return rows[: len(rows) - is_cut, :2]


def _last_is_stub(amounts: Integers) -> bool:
    """Whether the last step has next to nothing of what the others have."""
    return bool(amounts[-1] < STUB * np.median(amounts[:-1]))


def _updates(trace: Trace) -> tuple[Integers, tuple[str, ...]]:
    """The steps between the updates of the optimizer with the fewest: each makes at least one a step.

    Updates without a product between them are one: several optimizers of one class, each for a part of the weights.
    """
    marks = trace.marks.take(trace.marked(OPTIMIZER_STEP))
    names, counts = np.unique(marks["name"], return_counts=True)
    if not len(names):
        return NO_WINDOWS, ()
    updates = marks.take(marks["name"] == names[counts.argmin()])
    ends = _last_in_a_row(trace, updates.windows())
    if len(ends) < 2:
        return NO_WINDOWS, ()
    warning = FROM_UPDATES.format(mark=PROFILER_STEP, steps=len(ends) - 1)
    return np.column_stack([ends[:-1], ends[1:]]), (warning,)


def _last_in_a_row(trace: Trace, updates: Integers) -> Integers:
    """The ends of the updates behind which a product comes first, and of the last one [ps]; of all without products."""
    products = np.sort(trace.ops["start"][are_products(trace)])
    before = np.searchsorted(products, updates[:, 0])
    is_last = np.append(np.diff(before) > 0, True)
    return np.sort(updates[is_last, 1] if len(products) else updates[:, 1])


def _outside(timed: Columns, outside: Flags) -> Iterator[str]:
    """A warning about the share of time that belongs to no step."""
    yield from outside_warnings(_busy_ps(timed.take(outside)), _busy_ps(timed))
