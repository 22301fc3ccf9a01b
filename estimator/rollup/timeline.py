"""A step's timeline, replayed with other times of its ops and another pace of its host → the time of a step.

An event of a device starts when the host has launched it, the event before it on its lane has ended, and the event that
it waits for has ended. The host issues launches at its own pace, and waits where it waited. Several steps are replayed
in a row, as a device may lag behind its host; the step is the time that one more of them takes.

A *block* is a run of events of one lane in which only the first waits for another lane, and only the last is waited
for. With E the end of the block before it on its lane, A the end of what it waits for and H the time at which the host
last went on, a block ends at

    max(E + T, A + T, H + X)        T = Σ_i (lag_i + duration_i)
                                    X = max_j (launch_j + delay_j + Σ_{i ≥ j} (lag_i + duration_i))

where launches count from H, and the pace of the host multiplies them and the lags; so one pass over the events serves
every step (a max-plus system: Baccelli, Cohen, Olsder, Quadrat, Synchronization and Linearity, Wiley 1992, chapter 1).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import pandas as pd

from estimator.core.schema import HOST, numbers
from estimator.core.types import Flags, Floats, Integers

STEPS = 5  # replayed in a row
ROWS = 256  # of one block, so that all draws of it fit a processor's cache
NEVER = -np.inf
HOST_LANE = -1


@dataclass(frozen=True)
class Block:
    """A run of events of one lane, or one of the host: a wait, or an op of its own (then ``lane`` is HOST_LANE).

    ``segment`` counts the events of the host that are over when it launches them. ``after`` is the block whose last
    event the first one waits for, −1 for none.
    """

    rows: Integers
    lane: int
    segment: int
    after: int


class Events:
    """TIMELINE as arrays, and its blocks in an order in which each comes behind what it waits for."""

    def __init__(self, timeline: pd.DataFrame) -> None:
        self.table = timeline
        names = ("start_s", "duration_s", "launch_s", "delay_s", "lag_s")
        self.start, self.duration, self.launch, self.delay, self.lag = (numbers(timeline, name) for name in names)
        self.op, self.after = (timeline[name].fillna(-1).to_numpy(dtype=np.int64) for name in ("op", "after"))
        self.on_host = (timeline["lane"] == HOST).to_numpy(dtype=bool)
        self.lane = np.where(self.on_host, HOST_LANE, pd.factorize(timeline["lane"])[0])

    @cached_property
    def resumed(self) -> Floats:
        """When the host went on [s]: at the start of the step, and after each of its events."""
        return np.concatenate([[0.0], np.sort((self.start + self.duration)[self.on_host])])

    @cached_property
    def segment(self) -> Integers:
        """Of each event, the host's events that are over at its launch; of one of these, those before it."""
        issued = np.where(self.on_host, self.start + self.duration, self.launch)
        over = np.searchsorted(self.resumed[1:], np.nan_to_num(issued, nan=NEVER), side="right")
        return np.where(self.on_host, over - 1, over)

    @cached_property
    def blocks(self) -> list[Block]:
        """Every block, in the order in which they began on the source, so that one pass over them serves a step."""
        groups = self._groups()
        # An event is awaited only as the last one of its block: so the block's end stands for the event's.
        block_of = np.empty(len(self.op), dtype=np.int64)
        for number, group in enumerate(groups):
            block_of[group] = number
        after = [int(block_of[row]) if row >= 0 else -1 for row in (self.after[group[0]] for group in groups)]
        return [  # clocks that disagree may put what is awaited behind the wait: then nothing is awaited
            Block(group, int(self.lane[group[0]]), int(self.segment[group[0]]), before if before < number else -1)
            for number, (group, before) in enumerate(zip(groups, after, strict=True))
        ]

    def _groups(self) -> list[Integers]:
        """The events of each block, in the order in which the blocks began."""
        rows = np.lexsort((self.start, self.lane))  # the events of each lane in turn
        groups = np.split(rows, np.flatnonzero(self._cuts(rows))[1:]) if len(rows) else []
        # A wait of the host counts from its end, as what it waits for may begin behind its start.
        begins = [(self.start + self.duration * self.on_host)[group[0]] for group in groups]
        # Of blocks that begin at once, what the host launched earlier is first, and its own event behind that.
        rank = [2 * self.segment[group[0]] + self.on_host[group[0]] for group in groups]
        return [groups[i] for i in np.lexsort(([group[0] for group in groups], rank, begins))]

    @cached_property
    def host_blocks(self) -> list[int]:
        """The blocks of the host."""
        return [number for number, block in enumerate(self.blocks) if block.lane == HOST_LANE]

    def _cuts(self, rows: Integers) -> Flags:
        """Whether a block begins at each of the rows, sorted by lane and start.

        It does where the lane or the host's segment changes (one E and one H serve a block), at events of the host, at
        events that wait for another lane, behind events that others wait for, and after every ``ROWS`` events.
        """
        awaited = np.zeros(len(rows), dtype=bool)
        awaited[self.after[self.after >= 0]] = True
        lane, segment = self.lane[rows], self.segment[rows]
        cut = (np.diff(lane, prepend=-2) != 0) | (np.diff(segment, prepend=-1) != 0) | self.on_host[rows]
        cut |= (self.after[rows] >= 0) | np.roll(awaited[rows], 1)
        first = np.maximum.accumulate(np.where(cut, np.arange(len(rows)), 0))
        return np.asarray(cut | ((np.arange(len(rows)) - first) % ROWS == 0), dtype=bool)


@dataclass(frozen=True)
class Costs:
    """T and X of every block [s], one number a draw; of the host's, 0 and what it takes when nothing holds it."""

    whole_s: list[Floats]
    launched_s: list[Floats]


@dataclass
class Clock:
    """One replayed step: when each block ended, and when the host went on after each of its waits [s], by draw."""

    resumed_s: list[Floats]
    ended_s: list[Floats] = field(default_factory=list)
    lanes_s: dict[int, Floats] = field(default_factory=dict)  # the end of the last block of each lane

    def since(self, before: Clock) -> dict[int, Floats]:
        """By how much the host and each lane ended later than in a step before [s]."""
        lanes = {lane: ended_s - before.lanes_s[lane] for lane, ended_s in self.lanes_s.items()}
        return {HOST_LANE: self.resumed_s[-1] - before.resumed_s[-1], **lanes}


def replay(events: Events, factor: Floats, pace: Floats, host_step_s: float) -> list[Clock]:
    """Steps in a row, in every draw.

    Args:
        events: a step's timeline.
        factor: draws × ops; how many times as long each op takes.
        pace: one number a draw; how many times as long the host takes.
        host_step_s: when the host goes on to its next step [s].
    """
    return run(events, block_costs(events, np.ascontiguousarray(factor.T), pace), pace, host_step_s)


def run(events: Events, costs: Costs, pace: Floats, host_step_s: float) -> list[Clock]:
    """Steps in a row, in every draw, by what each block costs."""
    clocks: list[Clock] = []
    lanes: dict[int, Floats] = {}
    begin = np.zeros(len(pace))
    for _ in range(STEPS):
        clock = Clock([begin], lanes_s=dict(lanes))
        for block, whole, launched in zip(events.blocks, costs.whole_s, costs.launched_s, strict=True):
            _advance(clock, events, block, whole, launched, pace)
        begin = clock.resumed_s[-1] + pace * max(host_step_s - events.resumed[-1], 0.0)
        lanes = clock.lanes_s
        clock.resumed_s.append(begin)
        clocks.append(clock)
    return clocks


def step_s(clocks: list[Clock]) -> Floats:
    """What one more step takes [s], in every draw: the smallest of the means of the last one, two, … steps, each of the
    host or the lane that fell back most.

    No mean is less than what steps take in the long run, nor more than all of a step in turn, as the map from one
    step's ends to the next one's only adds and takes maxima. Lanes may take turns in being late: then the last step
    alone takes longer than one in the long run.
    """
    of_steps = [np.maximum.reduce(list(lanes.values())) for lanes in fallen_back_s(clocks)]
    return np.asarray(np.minimum.reduce(of_steps))


def fallen_back_s(clocks: list[Clock]) -> list[dict[int, Floats]]:
    """By how much the host and each lane fell back in the last step, in the mean of the last two, and so on [s]."""
    last = clocks[-1]
    return [
        {lane: later_s / steps for lane, later_s in last.since(clocks[-1 - steps]).items()}
        for steps in range(1, len(clocks))
    ]


def _advance(clock: Clock, events: Events, block: Block, whole: Floats, launched: Floats, pace: Floats) -> None:
    """Replay one block."""
    awaited = clock.ended_s[block.after] if block.after >= 0 else NEVER
    resumed = clock.resumed_s[block.segment]
    if block.lane == HOST_LANE:
        arrived = resumed + pace * (events.start[block.rows[0]] - events.resumed[block.segment])
        ended = np.maximum(arrived, awaited) + launched
        clock.resumed_s.append(ended)
    else:
        free = clock.lanes_s.get(block.lane, 0.0)
        ended = np.maximum(np.maximum(free, awaited) + whole, resumed + launched)
        clock.lanes_s[block.lane] = ended
    clock.ended_s.append(ended)


def block_costs(events: Events, factor: Floats, pace: Floats) -> Costs:
    """What every block costs, by the factor of each op (ops × draws)."""
    costs = [block_cost(events, block, factor, pace) for block in events.blocks]
    return Costs([whole for whole, _ in costs], [launched for _, launched in costs])


def block_cost(events: Events, block: Block, factor: Floats, pace: Floats) -> tuple[Floats, Floats]:
    """T and X of one block [s], by the factor of each op (ops × draws)."""
    if block.lane == HOST_LANE:
        return np.zeros_like(pace), np.sum(host_event(events, block, factor, pace), axis=0)
    spent, ready = spent_and_ready(events, block, factor, pace)
    running = np.cumsum(spent, axis=0)
    ready += spent  # in place: a block's draws stay in the cache
    ready -= running
    return running[-1], running[-1] + ready.max(axis=0)


def host_event(events: Events, block: Block, factor: Floats, pace: Floats) -> tuple[Floats, Floats]:
    """What an event of the host takes in every draw once nothing holds it [s]: the lag of a wait; its own op."""
    row = block.rows[0]
    own = factor[events.op[row]] * events.duration[row] if events.op[row] >= 0 else np.zeros_like(pace)
    return events.lag[row] * pace, own


def spent_and_ready(events: Events, block: Block, factor: Floats, pace: Floats) -> tuple[Floats, Floats]:
    """Of each event of a block × draws: lag and duration; when it may start, since the host last went on [s]."""
    rows, lag = block.rows, events.lag[block.rows, None]
    spent = factor[events.op[rows]]
    spent *= events.duration[rows, None]
    if lag.any():
        spent += lag * pace
    since = (events.launch[rows] - events.resumed[block.segment])[:, None]
    is_launched = ~np.isnan(since)
    ready = since * pace if is_launched.all() else np.where(is_launched, since * pace, NEVER)
    ready += events.delay[rows, None]
    return spent, ready
