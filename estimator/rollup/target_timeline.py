"""The timeline that is replayed on the target: the profile's own, or one in the order of the program."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from estimator.core.attributes import INSIDE
from estimator.core.physics import ratio
from estimator.core.schema import HOST, HOST_CLASSES, TIMELINE
from estimator.core.types import Flags, Floats, Integers, Timeline
from estimator.rollup.timeline import Events, replay, step_s

DEVICE = "device"
READING = "input of "  # before the name of a lane: that of what it read, beside the step
MOST_LAUNCHES = 4  # that a row of many calls is taken apart into


@dataclass(frozen=True)
class StepTimeline:
    """The events of a step, when the host goes on to the next one [s], and the times of ops that they add up to [s].

    ``launches``: whether the host's launches are part of it. ``scale`` is what a replayed step is to be multiplied by.
    """

    events: Events
    host_step_s: float
    op_s: Floats
    launches: bool = True
    scale: float = 1.0

    @property
    def holds_host(self) -> bool:
        """Whether the host takes any time in it: for launches, between its waits and ops, behind them, or in ops."""
        events = self.events
        busy = [events.launch, events.lag, (events.duration * (events.op >= 0))[events.on_host]]
        return host_time(events, self.host_step_s) > 0 or any(bool((of > 0).any()) for of in busy)

    def factor(self, samples: Floats, ops: Integers | slice = slice(None)) -> Floats:
        """How many times as long each of these ops takes (draws × ops); by default of all."""
        return ratio(samples, self.op_s[ops])

    def durations_s(self, op_s: Floats) -> Floats:
        """The durations of the events [s], where the ops take these times."""
        factor = np.append(self.factor(op_s[None])[0], 0.0)  # the last one is of events that are no op
        return np.asarray(factor[self.events.op] * self.events.duration)


def host_time(events: Events, host_step_s: float) -> float:
    """The host's own time in a step [s]: between its waits and ops, and what it launches beside the next of these."""
    own = np.flatnonzero(events.on_host)
    starts_s = events.start[own[np.argsort((events.start + events.duration)[own], kind="stable")]]
    between_s = np.maximum(np.append(starts_s, host_step_s) - events.resumed, 0.0)
    launched = np.flatnonzero(~np.isnan(events.launch) & ~events.on_host)
    segment = events.segment[launched]
    beside_s = events.launch[launched] - events.resumed[segment] - between_s[segment]
    return float(between_s.sum() + np.max(beside_s, initial=0.0))


def in_turn(op_s: Floats, overlap: Floats, idle_s: float) -> StepTimeline:
    """Every op for its share ``overlap`` of its time, one after another, and then the idle time."""
    duration_s = overlap * op_s
    ends, total_s = np.cumsum(duration_s), float(duration_s.sum())
    first = np.where(np.arange(len(op_s)) == 0, 0.0, np.nan)
    ops = {"op": np.arange(len(op_s)), "lane": DEVICE, "start_s": ends - duration_s, "duration_s": duration_s}
    last = len(op_s) - 1 if len(op_s) else None
    wait = {"lane": [HOST], "start_s": 0.0, "duration_s": total_s + idle_s, "lag_s": idle_s, "after": last}
    waits = [wait] if total_s + idle_s > 0 else []
    return StepTimeline(events_of({**ops, "launch_s": first}, *waits), total_s + idle_s, op_s, launches=False)


def dispatched(ops: pd.DataFrame, op_s: Floats, overlap: Floats, by_host: Flags, dispatch_s: float) -> StepTimeline:
    """Every op on the device for its share of its time, launched by a host that needs ``dispatch_s`` for a call [s].

    ``by_host``: ops that the host runs itself; it launches nothing meanwhile. Variables, which frameworks book on a
    device but class as the host's, need no launch, and neither do kernels inside of another op.
    """
    not_launched = ops["op_class"].isin(HOST_CLASSES) | ops["attributes"].eq(INSIDE).fillna(False)
    calls = ops["calls"].fillna(1.0).mask(not_launched, 0.0).to_numpy(dtype=float)
    ran = np.flatnonzero((op_s > 0) | (calls > 0))
    parts = np.where(by_host, 1, np.clip(np.ceil(calls), 1, MOST_LAUNCHES)).astype(int)[ran]
    op = np.repeat(ran, parts)
    duration_s = np.repeat((overlap * op_s)[ran] / parts, parts)
    busy_s = np.where(by_host[op], duration_s, np.repeat(calls[ran] / parts, parts) * dispatch_s)
    issued = np.cumsum(busy_s) - busy_s
    events = {
        "op": op,
        "lane": np.where(by_host[op], HOST, DEVICE),
        "start_s": issued,
        "duration_s": duration_s,
        "launch_s": np.where(by_host[op], np.nan, issued),
    }
    return StepTimeline(events_of(events), float(busy_s.sum()), op_s)


def as_profiled(timeline: Timeline, time_s: Floats, op_s: Floats, source_step_s: float) -> StepTimeline:
    """The profile's timeline; ops that it lacks run behind its last event, one after another.

    Args:
        time_s: of each op on the source [s]; those that did not run there have 0.
        op_s: of each op on the target, at nominal inputs [s].
        source_step_s: the mean step; ``scale`` makes the step that the timeline was taken of one like it.
    """
    events = timeline.events
    row = events["op"].dropna().to_numpy(dtype=int)
    lacking = np.setdiff1d(np.arange(len(op_s)), row[time_s[row] > 0])
    lacking = lacking[op_s[lacking] > 0]
    base = time_s.copy()
    base[lacking] = op_s[lacking]
    ran = events[events["op"].notna()]
    lane, start_s = (ran["lane"].iloc[-1], ran["start_s"].iloc[-1]) if len(ran) else (DEVICE, 0.0)
    whole = events_of(events, {"op": lacking, "lane": lane, "start_s": start_s, "duration_s": op_s[lacking]})
    own = ratio(time_s, base)[None]  # an op of the mean step alone counts
    own_s = float(step_s(replay(whole, own, np.ones(1), timeline.host_step_s))[0])
    scale, launches = source_step_s / own_s if own_s > 0 else 1.0, bool((whole.launch > 0).any())
    return StepTimeline(whole, timeline.host_step_s, base, launches, scale)


def read_ahead(timeline: StepTimeline, reads: Flags) -> StepTimeline:
    """The timeline with the ops that read input on lanes of their own, beside the step before: nothing waits for them.

    ``reads``: whether each op does. In its place on its lane, or the host's, it takes no time.
    """
    events = timeline.events.table
    read = np.append(reads, False)[events["op"].fillna(-1).to_numpy(dtype=int)]
    on_device = read & (events["lane"] != HOST).to_numpy(dtype=bool)
    passed = events.assign(op=events["op"].mask(read), duration_s=events["duration_s"].mask(on_device, 0.0))
    moved = events.loc[read, ["op", "start_s", "duration_s"]].assign(lane=READING + events["lane"][read])
    return replace(timeline, events=events_of(passed, moved))


def events_of(*parts: pd.DataFrame | Mapping[str, object]) -> Events:
    """The events of several tables."""
    tables = [pd.DataFrame(part) for part in parts]
    filled = [table for table in tables if len(table)]
    rows = pd.concat(filled, ignore_index=True) if filled else tables[0]
    return Events(TIMELINE.conform(rows, "timeline"))
