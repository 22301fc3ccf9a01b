"""Timed events of threads and device streams → calls and self time of each kind of op.

Events of one lane (thread or stream) nest: an op's *self time* is its duration minus that of the events directly
inside it. Times are whole picoseconds, so that sums are exact. Lanes come in batches, so that a large dump is never
in memory as a whole.
"""

from __future__ import annotations

import heapq
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from estimator.core.errors import EstimatorError
from estimator.core.types import Flags, Floats, Integers
from estimator.profiles.columns import NONE
from estimator.profiles.sharing import Sharing

Pieces = tuple[Integers, Integers]  # starts and ends
LONGEST_SUM = 2.0**62  # [ps], so that no sum overflows
FIRST, LAST = -(2**63), 2**63 - 1  # in time


@dataclass(frozen=True)
class Batch:
    """Events of one lane sorted by start, then falling duration; each batch continues the last one.

    ``kind`` is the number of an op's kind; ``start`` and ``duration`` are in ps.
    """

    kind: Integers
    start: Integers
    duration: Integers

    def __len__(self) -> int:
        return len(self.kind)

    @property
    def end(self) -> Integers:
        """When each event ended [ps]."""
        return self.start + self.duration

    def take(self, rows: Flags | Integers | slice) -> Batch:
        """The events of these rows."""
        return Batch(self.kind[rows], self.start[rows], self.duration[rows])

    def in_order(self) -> bool:
        """Whether the events are in the order that a batch needs."""
        step, longer = np.diff(self.start), np.diff(self.duration)
        return not bool(((step < 0) | (step == 0) & (longer > 0)).any())

    def sorted(self) -> Batch:
        """The same events in the order that a batch needs."""
        return self.take(np.lexsort((-self.duration, self.start)))


NO_EVENTS = Batch(NONE, NONE, NONE)


def join(*batches: Batch) -> Batch:
    """Concatenate batches."""
    parts = [(b.kind, b.start, b.duration) for b in batches]
    return Batch(*(np.concatenate(column) for column in zip(*parts, strict=True)))


@dataclass
class Tally:
    """Calls, self time [ps], first start [ps] and share, by kind; and the busy time [ps] of all lanes together.

    ``share`` is the part of an event's time by which it lengthens the step, as lanes run side by side. ``crossing``
    counts events that end after their parent.
    """

    calls: Integers = field(default_factory=lambda: NONE)
    self_ps: Integers = field(default_factory=lambda: NONE)
    first_ps: Integers = field(default_factory=lambda: NONE)
    share: Floats = field(default_factory=lambda: np.empty(0))
    busy_ps: int = 0
    sum_ps: float = 0.0
    crossing: int = 0

    def add(self, kind: Integers, start: Integers, self_ps: Integers) -> None:
        """Count finished events of one lane, in the order of their starts."""
        if len(kind):
            size = max(len(self.calls), int(kind.max()) + 1)
            # weights are summed as floats, which count picoseconds exactly up to 2.5 hours a batch
            times = np.bincount(kind, self_ps, size)
            self.calls = _pad(self.calls, size) + np.bincount(kind, minlength=size)
            self.self_ps = _pad(self.self_ps, size) + times.astype(np.int64)
            first = np.full(size, LAST)
            first[kind[::-1]] = start[::-1]  # the value written last remains
            self.first_ps = np.minimum(_pad(self.first_ps, size, LAST), first)
            self.sum_ps += float(times.sum())
            if self.sum_ps > LONGEST_SUM:
                raise EstimatorError(f"the ops took {self.sum_ps / 1e12:.3g} s; expected days at most, so mend them")

    def count_once(self, kinds: list[int], covered_ps: int) -> None:
        """Shorten kinds of several lanes to the time that their events cover; their shared time stays."""
        whole_ps = int(self.self_ps[kinds].sum()) if kinds else 0
        if covered_ps < whole_ps:
            self.self_ps[kinds] = np.rint(self.self_ps[kinds] * (covered_ps / whole_ps)).astype(np.int64)
            self.share[kinds] *= whole_ps / max(covered_ps, 1)
            self.sum_ps -= whole_ps - covered_ps


def tally(lanes: Iterable[Iterable[Batch]], flat: Iterable[Iterable[Batch]] = (), waits: Collection[int] = ()) -> Tally:
    """Tally the events of all lanes.

    Events of ``flat`` lanes, such as the streams of a GPU, do not nest: each keeps its whole time. All lanes are read
    side by side in the order of time; only events between their fronts are in memory. The kinds of ``waits``, which may
    grow meanwhile, take the time in which any lane waits: what several threads see is one wait.
    """
    result = Tally()
    busy, waiting, sharing = _Union(), _Union(), Sharing()
    nests = [_Nest(iter(lane), result) for lane in lanes] + [_Flat(iter(lane), result) for lane in flat]
    fronts = [(nest.front, number) for number, nest in enumerate(nests)]  # a heap, the lane furthest behind first
    while fronts:
        for _ in range(len(fronts)):
            number = heapq.heappop(fronts)[1]
            if nests[number].advance():
                heapq.heappush(fronts, (nests[number].front, number))
        horizon = fronts[0][0] if fronts else LAST
        released = [nest.release(horizon) for nest in nests if nest.waits_before(horizon)]
        busy.cover([batch for batch, _ in released])
        if waits:
            waiting.cover([batch.take(np.isin(batch.kind, [*waits])) for batch, _ in released])
        if released and (len(nests) > 1 or any(isinstance(nest, _Flat) for nest in nests)):
            _share(sharing, released)
    result.busy_ps = busy.total
    result.share = sharing.shares(len(result.calls))
    result.count_once([*waits], waiting.total)
    return result


def _share(sharing: Sharing, released: list[tuple[Batch, Pieces]]) -> None:
    events = join(*(batch for batch, _ in released))
    events = events.take(np.argsort(events.start, kind="stable"))
    opening, closing = (np.concatenate(ends) for ends in zip(*(pieces for _, pieces in released), strict=True))
    sharing.add(events.kind, events.start, events.duration, opening, closing)


def covered(runs: npt.ArrayLike) -> int:
    """The time covered by the union of runs; each run is a start and a duration in one unit."""
    times = np.asarray(runs, dtype=np.int64).reshape(-1, 2)
    start, duration = times[np.argsort(times[:, 0], kind="stable")].T
    union = _Union()
    union.cover([Batch(np.zeros_like(start), start, duration)])
    return union.total


def crossing_warnings(total: Tally) -> tuple[str, ...]:
    """A warning where events end after their parent."""
    count = total.crossing
    return (f"{count} ops end after the op that contains them; their time is cut off at its end",) if count else ()


class _Nest:
    """One lane while it is read: its events that have not ended, and its events not yet released to busy time."""

    def __init__(self, batches: Iterator[Batch], result: Tally) -> None:
        self.batches, self.result = batches, result
        self.front = FIRST
        self.open, self.inside = NO_EVENTS, NONE  # events not yet ended, and the time of the events inside each
        self.waiting, self.reached = NO_EVENTS, FIRST  # events not yet released, and the end of the released ones

    def advance(self) -> bool:
        """Read one batch; whether there was one. After the last batch, all open events are counted."""
        batch = next(self.batches, None)
        if batch is None:
            self.result.add(self.open.kind, self.open.start, self.open.duration - self.inside)
            return False
        if len(batch):
            self.front = int(batch.start[-1])
            self.waiting = join(self.waiting, batch)
            self._nest(batch)
        return True

    def waits_before(self, horizon: int) -> bool:
        """Whether an event that starts no later than the horizon waits."""
        return len(self.waiting) > 0 and int(self.waiting.start[0]) <= horizon

    def release(self, horizon: int) -> tuple[Batch, Pieces]:
        """Remove and return the events that start no later than the horizon, and the spans by which they extend the
        lane's busy time.
        """
        count = int(np.searchsorted(self.waiting.start, horizon, "right"))
        released, self.waiting = self.waiting.take(slice(count)), self.waiting.take(slice(count, None))
        return released, self._busy(released)

    def _busy(self, batch: Batch) -> Pieces:
        end = batch.end
        reached = np.maximum.accumulate(np.concatenate([[self.reached], end]))
        self.reached, before = int(reached[-1]), reached[:-1]
        extends = end > before
        return np.maximum(batch.start, before)[extends], end[extends]

    def _nest(self, batch: Batch) -> None:
        events = join(self.open, batch)
        inside = np.concatenate([self.inside, np.zeros(len(batch), dtype=np.int64)])
        end = events.end
        if len(events) > 1 and (events.start[1:] < end[:-1]).any():
            child, parent = parents(events.start, end)
            if (end[child] > end[parent]).any():
                child, parent = _parents_of_crossing(events.start, end)
            new = child >= len(self.open)  # the other children were counted in an earlier batch
            child, parent = child[new], parent[new]
            self.result.crossing += int((end[child] > end[parent]).sum())
            np.add.at(inside, parent, np.minimum(end[child], end[parent]) - events.start[child])
        is_open = end > self.front
        self.result.add(events.kind[~is_open], events.start[~is_open], (events.duration - inside)[~is_open])
        self.open, self.inside = events.take(is_open), inside[is_open]


class _Flat(_Nest):
    """One lane whose events do not nest."""

    def _nest(self, batch: Batch) -> None:
        self.result.add(batch.kind, batch.start, batch.duration)

    def _busy(self, batch: Batch) -> Pieces:
        return batch.start, batch.end


def parents(start: Integers, end: Integers) -> tuple[Integers, Integers]:
    """The rows of events that have a parent, and the rows of their parents; no event crosses its parent's end."""
    lasting = np.flatnonzero(end > start)
    start, end = start[lasting], end[lasting]
    depth = np.arange(len(start)) - np.searchsorted(np.sort(end, kind="stable"), start, side="right")
    children, parents = [NONE], [NONE]
    above = np.flatnonzero(depth == 0)
    for level in range(1, int(depth.max(initial=0)) + 1):
        at_level = np.flatnonzero(depth == level)
        children.append(at_level)
        parents.append(above[np.searchsorted(above, at_level) - 1])
        above = at_level
    return lasting[np.concatenate(children)], lasting[np.concatenate(parents)]


def _parents_of_crossing(start: Integers, end: Integers) -> tuple[Integers, Integers]:
    """As ``parents``, but events may cross; an event's parent is the latest open event at its start."""
    children: list[int] = []
    parents: list[int] = []
    open_: list[int] = []  # rows of events that have not ended, the last begun on top
    for row, (begin, stop) in enumerate(zip(start.tolist(), end.tolist(), strict=True)):
        while open_ and end[open_[-1]] <= begin:
            open_.pop()
        if stop > begin:
            if open_:
                children.append(row)
                parents.append(open_[-1])
            open_.append(row)
    return np.array(children, dtype=np.int64), np.array(parents, dtype=np.int64)


class _Union:
    """The time covered by the union of the intervals added so far."""

    def __init__(self) -> None:
        self.total = 0
        self.covered_to = FIRST

    def cover(self, batches: list[Batch]) -> None:
        """Add intervals; none may start before an interval added earlier."""
        if not batches:
            return
        start = np.concatenate([batch.start for batch in batches])
        end = np.concatenate([batch.end for batch in batches])
        if len(batches) > 1:
            order = np.argsort(start, kind="stable")
            start, end = start[order], end[order]
        reached = np.maximum.accumulate(np.concatenate([[self.covered_to], end]))
        self.total += int(np.maximum(reached[1:] - np.maximum(start, reached[:-1]), 0).sum())
        self.covered_to = int(reached[-1])


def _pad(values: Integers, size: int, by: int = 0) -> Integers:
    return np.pad(values, (0, size - len(values)), constant_values=by)
