"""Events of one step → its TIMELINE: what each waited for before it started; and which step of a dump is taken.

A device event may start when its launch has reached the device, and the event before it on its lane has ended. What is
left of its wait is laid to an event of another lane that ended shortly before; the rest is its *lag*, of which nothing
is known. So the timeline, replayed with its own times, gives its own step.

Where no step is marked, nobody knows what the host did between two of them: the step is the time in which the devices
were busy, and its timeline the order and the overlap of their events without the pauses.

A processor's threads get no timeline. Between settings of one machine that act as several devices, one of that kind
made the median error of a step 7.8 %, where the mean step's ops in turn have 4.9 % (120 pairs of a self-test).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from estimator.core.schema import HOST, TIMELINE
from estimator.core.types import Flags, Floats, Integers, Timeline
from estimator.profiles.columns import UNKNOWN
from estimator.profiles.lanes import INSTANT_S, pieces, sides

PS = 1e12
KNOWN_LAUNCHES = 0.5  # share of a step's events whose launches must be recorded; else none counts
MOST_EVENTS = 1 << 17  # of a step that is not marked; nobody replays more
CROWDED = 1e-3  # share of their time for which events of one lane may run at once
MOST_WAITS = 10_000  # between lanes without launches; a replay of more takes seconds
NEVER = -np.inf
EARLIER_S = 1.0  # events that ended so long before a step keep no lane busy in it
WAKE_S = 1e-5  # from the end of an event to the start of one on another lane that waits for it, at the most
GAP_S = 2e-6  # between two events of a busy lane, at the most; longer ones are waits


@dataclass(frozen=True)
class DeviceEvents:
    """What ran on devices, by start: seconds since the host began the step; ``launch_s`` is NaN where unknown.

    ``op`` is the row of OPS. Events with ``op`` < 0 ran before or behind the step: they only keep their lane busy.
    """

    op: Integers
    lane: Integers
    start_s: Floats
    end_s: Floats
    launch_s: Floats

    def take(self, rows: Flags) -> DeviceEvents:
        """These events alone."""
        return DeviceEvents(*(column[rows] for column in vars(self).values()))


@dataclass(frozen=True)
class HostWaits:
    """When the host waited for devices: seconds since it began the step."""

    start_s: Floats
    end_s: Floats


NO_WAITS = HostWaits(np.empty(0), np.empty(0))


@dataclass(frozen=True)
class Record:
    """What a dump recorded of one process's devices and host, in whole picoseconds on one clock.

    Args:
        op: the row of OPS of each device event; −1 where it belongs to none.
        lane, start, duration: of each device event.
        launch: when the host launched each, UNKNOWN where that is not recorded.
        step: the number of the step of each; −1 where it is in none.
        lanes: the names of the lanes.
        windows: start and end of each step; none where no step is marked.
        waits: start and end of each wait of the host for devices.
    """

    op: Integers
    lane: Integers
    start: Integers
    duration: Integers
    launch: Integers
    step: Integers
    lanes: Sequence[str]
    windows: Integers
    waits: Integers

    @property
    def end(self) -> Integers:
        """When each device event ended."""
        return self.start + self.duration


def typical_timeline(record: Record) -> Timeline | None:
    """The timeline of the step of median length, or of the busy time where no step is marked; None where nothing ran,
    or too many events.

    Without launches the pauses of a marked step are kept as what nothing explains.
    """
    if not len(record.windows):
        return _busy_timeline(record) if 0 < (record.op >= 0).sum() <= MOST_EVENTS else None
    begins, lengths = _lengths(record)
    chosen = _typical(lengths)
    own = (record.step == chosen) & (record.op >= 0)
    if not own.any():
        return None
    length_s = float(lengths[chosen]) / PS
    if np.mean(record.launch[own] != UNKNOWN) < KNOWN_LAUNCHES:
        return _unlaunched(_events(record, own, int(begins[chosen])), record.lanes, length_s)
    begin, end = record.windows[chosen].tolist()
    events, lanes = _side_by_side(_events(record, own, begin), record.lanes)
    rows = build_timeline(events, lanes, _waits(record.waits, begin, end))
    return Timeline(rows, host_step_s=(end - begin) / PS, step_s=length_s)


def step_at(windows: Integers, times: Integers) -> Integers:
    """The number of the window that each time lies in; −1: none."""
    if not len(windows):
        return np.full(len(times), -1, dtype=np.int64)
    step: Integers = np.searchsorted(windows[:, 0], times, side="right") - 1
    return np.where((step >= 0) & (times < windows[step, 1]), step, -1)


def _lengths(record: Record) -> tuple[Floats, Floats]:
    """Begin and length of each step [ps], NaN where the device did nothing: those of its window; or, where the device
    was still at work on the step before, from the end of that one's last event to the end of its own.
    """
    done = np.full(len(record.windows), NEVER)
    ran = record.step >= 0
    np.maximum.at(done, record.step[ran], record.end[ran].astype(float))
    before, (begin, end) = np.concatenate([[NEVER], done[:-1]]), record.windows.T
    begins = np.where(before > begin, before, begin.astype(float))
    length = np.where(before > begin, done, end.astype(float)) - begins
    return begins, np.where(done > NEVER, length, np.nan)


def _typical(lengths: Floats) -> int:
    """The step of median length."""
    order = np.argsort(lengths, kind="stable")  # NaN last
    return int(order[int(np.isfinite(lengths).sum()) // 2])


def _events(record: Record, own: Flags, begin: int) -> DeviceEvents:
    """The events of the step, and those before it that may keep its lanes busy; by start, in seconds since it began."""
    start_s, end_s = (record.start - begin) / PS, (record.end - begin) / PS
    last_s = float(start_s[own].max())
    kept = np.flatnonzero(own | ((end_s > -EARLIER_S) & (start_s <= last_s)))
    kept = kept[np.argsort(start_s[kept], kind="stable")]
    launch_s = np.where(record.launch != UNKNOWN, (record.launch - begin) / PS, np.nan)
    op = np.where(own, record.op, -1)
    return DeviceEvents(op[kept], record.lane[kept], start_s[kept], end_s[kept], launch_s[kept])


def _waits(waits: Integers, begin: int, end: int) -> HostWaits:
    """The waits of the host in a step; where two overlap, the later one counts from the end of the other."""
    inside = waits[(waits[:, 0] >= begin) & (waits[:, 1] <= end)]
    start, stop = inside[np.argsort(inside[:, 1], kind="stable")].T
    reached = np.maximum.accumulate(np.concatenate([[begin], stop]))[:-1]
    start = np.maximum(start, reached)
    return HostWaits((start - begin)[stop > start] / PS, (stop - begin)[stop > start] / PS)


def _busy_timeline(record: Record) -> Timeline | None:
    """The timeline of all events without the time in which none of them ran."""
    rows = np.flatnonzero(record.op >= 0)
    rows = rows[np.argsort(record.start[rows], kind="stable")]
    start, end = record.start[rows], record.end[rows]
    reached = np.maximum.accumulate(np.concatenate([start[:1], end]))
    pauses = np.cumsum(np.maximum(start - reached[:-1], 0)) + start[0]
    nothing = np.full(len(rows), np.nan)
    events = DeviceEvents(record.op[rows], record.lane[rows], (start - pauses) / PS, (end - pauses) / PS, nothing)
    return _unlaunched(events, record.lanes, float(events.end_s.max()))


def _unlaunched(events: DeviceEvents, lanes: Sequence[str], length_s: float) -> Timeline | None:
    """A timeline without launches: an event waits for the one of another lane that ended last before its lane was to
    go on, a lane for the host's begin of the step, and the host for its length. None where lanes wait too often.

    Where another event was running when one began, that one waits for the part of it that was over by then: so the step
    is in proportion to its ops.
    """
    own = events.take(events.op >= 0)
    events, lanes = _side_by_side(replace(own, launch_s=np.full(len(own.op), np.nan)), lanes)
    events = _cut(events)
    whole = HostWaits(np.zeros(1), np.array([length_s]))
    rows = _timeline(events, lanes, whole, np.zeros(len(events.op)), wake_s=np.inf, gap_s=INSTANT_S)
    return Timeline(rows, host_step_s=length_s, step_s=length_s) if rows["after"].count() <= MOST_WAITS else None


def _side_by_side(events: DeviceEvents, lanes: Sequence[str]) -> tuple[DeviceEvents, Sequence[str]]:
    """The events on as many lanes as it takes that no two of one lane run at once; the names of these lanes.

    What a clock's rounding makes of events one after another stays.
    """
    at_once_s = np.maximum(np.nan_to_num(_lane_free(events) - events.start_s), 0.0).sum()
    if at_once_s <= CROWDED * (events.end_s - events.start_s).sum():
        return events, lanes
    side = sides(events.lane, events.start_s, events.end_s)
    lane_sides, lane = np.unique(np.stack([events.lane, side], axis=1), axis=0, return_inverse=True)
    names = [f"{lanes[number]}.{place}" if place else lanes[number] for number, place in lane_sides.tolist()]
    return replace(events, lane=np.asarray(lane).reshape(-1)), names


def _cut(events: DeviceEvents) -> DeviceEvents:
    """The events in pieces, up to each time at which one of another lane began that had waited for nothing else."""
    before = _last_ended(events, np.flatnonzero(events.end_s > events.start_s), events.start_s)
    ended_s = np.fmax(np.where(before >= 0, events.end_s[before], -np.inf), _lane_free(events))
    row, start_s, end_s = pieces(events.lane, events.start_s, events.end_s, ended_s)
    return DeviceEvents(events.op[row], events.lane[row], start_s, end_s, events.launch_s[row])


def build_timeline(events: DeviceEvents, lanes: Sequence[str], waits: HostWaits = NO_WAITS) -> pd.DataFrame:
    """TIMELINE of one step, by start; ``lanes`` names the lanes."""
    return _timeline(events, lanes, waits, _delays(events, _lane_free(events)))


def _timeline(
    events: DeviceEvents,
    lanes: Sequence[str],
    waits: HostWaits,
    delay_s: Floats,
    wake_s: float = WAKE_S,
    gap_s: float = GAP_S,
) -> pd.DataFrame:
    """TIMELINE; an event that waits for another one started at most ``wake_s`` after that one's end, and more than
    ``gap_s`` after it could have.

    The first event of a lane whose launch is not known could start when the host began the step.
    """
    free_s = _lane_free(events)
    nothing_before = np.isnan(free_s) & np.isnan(events.launch_s)
    launch_s = np.where(nothing_before, 0.0, np.minimum(events.launch_s, events.start_s))
    ready_s = np.fmax(free_s, launch_s + delay_s)
    after = _awaited(events, ready_s, wake_s, gap_s)
    ready_s = np.fmax(ready_s, np.where(after >= 0, events.end_s[after], -np.inf))
    of_device = pd.DataFrame(
        {
            "op": events.op,
            "lane": [lanes[lane] for lane in events.lane],
            "start_s": events.start_s,
            "duration_s": events.end_s - events.start_s,
            "launch_s": launch_s,
            "after": after,
            "delay_s": delay_s,
            "lag_s": np.maximum(events.start_s - ready_s, 0.0),
        }
    )
    return _numbered(pd.concat([of_device, _host_rows(events, waits)], ignore_index=True))


def _delays(events: DeviceEvents, free_s: Floats) -> Floats:
    """From its launch to the start of each event: the median where its lane was idle, or less where it took less."""
    wait_s = np.maximum(events.start_s - events.launch_s, 0.0)
    idle = ~(free_s > events.launch_s) & ~np.isnan(wait_s)
    usual_s = float(np.median(wait_s[idle])) if idle.any() else float(np.nanmin(wait_s, initial=0.0))
    return np.nan_to_num(np.minimum(wait_s, usual_s))


def _lane_free(events: DeviceEvents) -> Floats:
    """When the lane of each event had done what came before it [s]; NaN for the first one."""
    free_s = np.full(len(events.lane), np.nan)
    for lane in np.unique(events.lane):
        rows = np.flatnonzero(events.lane == lane)
        free_s[rows[1:]] = np.maximum.accumulate(events.end_s[rows])[:-1]
    return free_s


def _awaited(events: DeviceEvents, ready_s: Floats, wake_s: float, gap_s: float) -> Integers:
    """Of each event that waited longer than a gap, the event of another lane that ended last before; −1 for none.

    It stands before it in the table, as a coarse clock lets two of no time wait for each other: where the last one does
    not, it is the last that took time.
    """
    after, took_time = np.full(len(events.lane), -1, dtype=np.int64), events.end_s > events.start_s
    waiting = np.flatnonzero((events.start_s - ready_s > gap_s) & (events.op >= 0))
    latest_s = np.maximum(events.start_s[waiting] - wake_s, ready_s[waiting])
    for lane in np.unique(events.lane):
        of_lane = (events.lane == lane) & (events.op >= 0)
        last, lasting = (
            _last_ended(events, np.flatnonzero(rows), events.start_s[waiting])
            for rows in (of_lane, of_lane & took_time)
        )
        nearest = np.where(last < waiting, last, lasting)
        is_other = (nearest >= 0) & (nearest < waiting) & (events.lane[waiting] != lane)
        later = is_other & (events.end_s[nearest] > latest_s)
        after[waiting[later]] = nearest[later]
        latest_s[later] = events.end_s[nearest[later]]
    return after


def _host_rows(events: DeviceEvents, waits: HostWaits) -> pd.DataFrame:
    """A row for each wait of the host; it waits for the last of the events that ended before it went on."""
    after = _last_ended(events, np.flatnonzero(events.op >= 0), waits.end_s)
    ended_s = np.where(after >= 0, events.end_s[after], -np.inf)
    held = (ended_s >= waits.start_s) & ~(events.launch_s[after] >= waits.end_s)
    return pd.DataFrame(
        {
            "op": pd.NA,
            "lane": HOST,
            "start_s": waits.start_s,
            "duration_s": waits.end_s - waits.start_s,
            "after": np.where(held, after, -1),
            "lag_s": waits.end_s - np.where(held, ended_s, waits.start_s),
        }
    )


def _last_ended(events: DeviceEvents, rows: Integers, times_s: Floats) -> Integers:
    """Of some events, the one that ended last before each time; −1 for none."""
    by_end = rows[np.argsort(events.end_s[rows], kind="stable")]
    place = np.searchsorted(events.end_s[by_end], times_s, side="right")
    return np.concatenate([[-1], by_end])[place]


def _numbered(rows: pd.DataFrame) -> pd.DataFrame:
    """The rows of the step alone, by start, with ``after`` as their numbers."""
    ran = ~(rows["op"] < 0).fillna(False).to_numpy(dtype=bool)
    order = np.flatnonzero(ran)[np.argsort(rows["start_s"].to_numpy(dtype=float)[ran], kind="stable")]
    number = np.full(len(rows), -1)
    number[order] = np.arange(len(order))
    kept = rows.iloc[order].reset_index(drop=True)
    after = pd.Series(number[kept["after"].to_numpy(dtype=np.int64)], dtype="Int64").where(kept["after"] >= 0)
    return TIMELINE.conform(kept.assign(after=after.where(after >= 0)), "timeline")
