"""Events of one step → its TIMELINE: what each waited for before it started.

A device event may start when its launch has reached the device, and the event before it on its lane has ended. What is
left of its wait is laid to an event of another lane that ended shortly before; the rest is its *lag*, of which nothing
is known. So the timeline, replayed with its own times, gives its own step.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from estimator.core.schema import HOST, TIMELINE
from estimator.core.types import Floats, Integers

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


@dataclass(frozen=True)
class HostWaits:
    """When the host waited for devices: seconds since it began the step."""

    start_s: Floats
    end_s: Floats


NO_WAITS = HostWaits(np.empty(0), np.empty(0))


def build_timeline(events: DeviceEvents, lanes: Sequence[str], waits: HostWaits = NO_WAITS) -> pd.DataFrame:
    """TIMELINE of one step, by start; ``lanes`` names the lanes."""
    free_s = _lane_free(events)
    delay_s = _delays(events, free_s)
    ready_s = np.fmax(free_s, events.launch_s + delay_s)
    ready_s = np.where(np.isnan(ready_s), events.start_s, ready_s)
    after = _awaited(events, ready_s)
    ready_s = np.fmax(ready_s, np.where(after >= 0, events.end_s[after], -np.inf))
    of_device = pd.DataFrame(
        {
            "op": events.op,
            "lane": [lanes[lane] for lane in events.lane],
            "start_s": events.start_s,
            "duration_s": events.end_s - events.start_s,
            "launch_s": np.minimum(events.launch_s, events.start_s),
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


def _awaited(events: DeviceEvents, ready_s: Floats) -> Integers:
    """Of each event that waited longer than a gap, the event of another lane that ended last before; −1 for none.

    It stands before it in the table: a coarse clock lets two of no time wait for each other.
    """
    after = np.full(len(events.lane), -1, dtype=np.int64)
    waiting = np.flatnonzero((events.start_s - ready_s > GAP_S) & (events.op >= 0))
    latest_s = np.maximum(events.start_s[waiting] - WAKE_S, ready_s[waiting])
    for lane in np.unique(events.lane):
        nearest = _last_ended(events, np.flatnonzero((events.lane == lane) & (events.op >= 0)), events.start_s[waiting])
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
