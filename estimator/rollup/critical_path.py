"""Where the time of a replayed step goes: back from its end, along what each event had to wait for.

At every instant one thing was critical: an event that ran, the start of one after its launch, or the host. So these
parts add up to the step.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from estimator.core.types import Floats, Integers
from estimator.rollup.timeline import (
    HOST_LANE,
    NEVER,
    Clock,
    Events,
    fallen_back_s,
    host_event,
    spent_and_ready,
    step_s,
)

ROUNDING = 1e-9  # share of a step


@dataclass
class CriticalPath:
    """Seconds of one step: those of each op, of starts after a launch, and of the host and of idle lanes.

    ``of_event_s``: the same as those of each op, by event of the timeline.
    """

    of_op_s: Floats
    of_event_s: Floats
    start_s: float = 0.0
    host_s: float = 0.0


@dataclass(frozen=True)
class Place:
    """Where the walk is: at the end of a block of a step; or where the host went on after so many of its waits."""

    step: int
    block: int = -1
    segment: int = -1


def critical_path(
    events: Events, clocks: list[Clock], factor: Floats, pace: Floats, host_step_s: float
) -> CriticalPath:
    """The critical path of the last step that was replayed, in the first draw.

    ``factor`` (draws × ops), ``pace`` (one number a draw) and ``host_step_s`` as they were given to ``replay``.
    """
    walk = _Walk(events, clocks, factor[:1].T, float(pace[0]), host_step_s)
    place: Place | None = walk.end()
    while place is not None and walk.left > 0:
        place = walk.from_block(place) if place.block >= 0 else walk.from_host(place)
    return walk.path


@dataclass
class _Walk:
    events: Events
    clocks: list[Clock]
    factor: Floats  # ops × 1
    pace: float
    host_step_s: float
    path: CriticalPath = field(init=False)
    left: float = field(init=False)  # of the step [s]

    def __post_init__(self) -> None:
        self.path = CriticalPath(np.zeros(len(self.factor)), np.zeros(len(self.events.op)))
        self.left = float(step_s(self.clocks)[0])
        self.before, self.last = _before(self.events)

    def end(self) -> Place:
        """The end of the last step of the host, or of a lane, that fell back most: of several, the latest end."""
        clock = self.clocks[-1]
        ended_s = {HOST_LANE: clock.resumed_s[-1], **clock.lanes_s}
        later_s = min(fallen_back_s(self.clocks), key=lambda lanes: max(float(of[0]) for of in lanes.values()))
        slowest = [lane for lane, of in later_s.items() if of[0] >= self.left * (1.0 - ROUNDING)]
        lane = max(slowest, key=lambda lane: float(ended_s[lane][0]))
        steps = len(self.clocks)
        return Place(steps, segment=0) if lane == HOST_LANE else self._last_of(lane, steps - 1)

    def from_block(self, place: Place) -> Place | None:
        """Count the events of a block since the one that was launched last; else all."""
        block, clock = self.events.blocks[place.block], self.clocks[place.step]
        spent, ready = (of[:, 0] for of in spent_and_ready(self.events, block, self.factor, np.array([self.pace])))
        whole = float(spent.sum())
        launched = clock.resumed_s[block.segment][0] + ready + np.cumsum(spent[::-1])[::-1]
        free, awaited = self._before_on_lane(place), Place(place.step, block.after)
        ends = [self._ended(free) + whole, self._ended(awaited) + whole, launched.max()]
        kind = int(np.argmax(ends))
        first = int(np.argmax(launched)) if kind == 2 else 0
        self._count_events(block.rows[first:], spent[first:])
        if kind < 2:
            return (free, awaited)[kind]
        delay = float(self.events.delay[block.rows[first]])
        self.path.start_s += self._take(delay)
        self.path.host_s += self._take(float(ready[first]) - delay)
        return Place(place.step, segment=block.segment)

    def from_host(self, place: Place) -> Place | None:
        """Count the host's own time since it last went on; it may have waited for a block."""
        events = self.events
        if place.segment == 0:
            if place.step == 0:
                return None
            self.path.host_s += self._take(self.pace * max(self.host_step_s - events.resumed[-1], 0.0))
            return Place(place.step - 1, segment=len(events.resumed) - 1)
        block = events.blocks[events.host_blocks[place.segment - 1]]
        lag, op = (float(of[0]) for of in host_event(events, block, self.factor, np.array([self.pace])))
        if events.op[block.rows[0]] >= 0:
            self._count_op(block.rows[:1], np.array([self._take(op)]))
        self.path.host_s += self._take(lag)
        before = Place(place.step, segment=block.segment)
        between = self.pace * float(events.start[block.rows[0]] - events.resumed[block.segment])
        awaited = Place(place.step, block.after)
        if self._ended(awaited) >= self.clocks[place.step].resumed_s[block.segment][0] + between:
            return awaited
        self.path.host_s += self._take(between)
        return before

    def _count_events(self, rows: Integers, spent: Floats) -> None:
        """Count lags and durations, the last event first, until nothing of the step is left."""
        lags = self.events.lag[rows] * self.pace
        taken = np.clip(self.left - (np.cumsum(spent[::-1]) - spent[::-1]), 0.0, spent[::-1])[::-1]
        ran = np.minimum(taken, spent - lags)
        self._count_op(rows, ran)
        self.path.host_s += float((taken - ran).sum())
        self.left -= float(taken.sum())

    def _count_op(self, rows: Integers, ran: Floats) -> None:
        """Count what ops of events took [s]; an event may be counted in several steps."""
        np.add.at(self.path.of_op_s, self.events.op[rows], ran)
        np.add.at(self.path.of_event_s, rows, ran)

    def _take(self, seconds: float) -> float:
        taken = min(seconds, self.left)
        self.left -= taken
        return taken

    def _ended(self, place: Place | None) -> float:
        return NEVER if place is None or place.block < 0 else float(self.clocks[place.step].ended_s[place.block][0])

    def _before_on_lane(self, place: Place) -> Place | None:
        before = self.before[place.block]
        if before >= 0:
            return Place(place.step, before)
        return self._last_of(self.events.blocks[place.block].lane, place.step - 1) if place.step else None

    def _last_of(self, lane: int, step: int) -> Place:
        return Place(step, self.last[lane])


def _before(events: Events) -> tuple[list[int], dict[int, int]]:
    """Of each block, the one before it on its lane, −1 for none; and the last one of each lane."""
    last: dict[int, int] = {}
    before = []
    for number, block in enumerate(events.blocks):
        before.append(last.get(block.lane, -1))
        last[block.lane] = number
    return before, last
