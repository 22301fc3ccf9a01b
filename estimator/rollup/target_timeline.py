"""The timeline that is replayed on the target: the profile's own, or one in the order of the program."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from estimator.core.schema import HOST, HOST_CLASSES, TIMELINE
from estimator.core.types import Floats, Timeline
from estimator.rollup.timeline import Events, replay, step_s

DEVICE = "device"
MOST_LAUNCHES = 4  # that a row of many calls is taken apart into


@dataclass(frozen=True)
class StepTimeline:
    """TIMELINE, when the host goes on to the next step [s], and the time of each op that its durations add up to [s].

    ``host_s`` is the most that the host adds to its ops [s]. ``launches``: whether its launches are part of the
    timeline. ``scale`` is what a replayed step is to be multiplied by.
    """

    events: pd.DataFrame
    host_step_s: float
    op_s: Floats
    host_s: float
    launches: bool = True
    scale: float = 1.0

    def factor(self, samples: Floats) -> Floats:
        """How many times as long each op takes (draws × ops)."""
        return np.divide(samples, self.op_s, out=np.ones_like(samples), where=self.op_s > 0)


def in_turn(op_s: Floats, overlap: Floats, idle_s: float) -> StepTimeline:
    """Every op for its share ``overlap`` of its time, one after another, and then the idle time."""
    duration_s = overlap * op_s
    ends, step_s = np.cumsum(duration_s), float(duration_s.sum() + idle_s)
    ops = {"op": np.arange(len(op_s)), "lane": DEVICE, "start_s": ends - duration_s, "duration_s": duration_s}
    last = len(op_s) - 1 if len(op_s) else pd.NA
    wait = {"lane": [HOST], "start_s": 0.0, "duration_s": step_s, "lag_s": idle_s, "after": last}
    launch = np.where(np.arange(len(op_s)) == 0, 0.0, np.nan)
    events = pd.concat([pd.DataFrame(ops).assign(launch_s=launch), pd.DataFrame(wait)], ignore_index=True)
    return StepTimeline(TIMELINE.conform(events, "timeline"), step_s, op_s, idle_s, launches=False)


def dispatched(ops: pd.DataFrame, op_s: Floats, dispatch_s: float) -> StepTimeline:
    """Every op on the device, launched one after another by a host that needs ``dispatch_s`` for each call [s].

    The host runs its own ops itself, and launches nothing meanwhile.
    """
    calls = ops["calls"].fillna(1.0).to_numpy(dtype=float)
    host = ops["op_class"].isin(HOST_CLASSES).to_numpy(dtype=bool)
    ran = np.flatnonzero((op_s > 0) | ((calls > 0) & ~host))
    parts = np.where(host, 1, np.clip(np.ceil(calls), 1, MOST_LAUNCHES)).astype(int)[ran]
    op = np.repeat(ran, parts)
    duration_s = np.repeat(op_s[ran] / parts, parts)
    busy_s = np.where(host[op], duration_s, np.repeat(calls[ran] / parts, parts) * dispatch_s)
    issued = np.cumsum(busy_s) - busy_s
    events = pd.DataFrame(
        {
            "op": op,
            "lane": np.where(host[op], HOST, DEVICE),
            "start_s": issued,
            "duration_s": duration_s,
            "launch_s": np.where(host[op], np.nan, issued),
        }
    )
    launches_s = float(busy_s[~host[op]].sum())
    return StepTimeline(TIMELINE.conform(events, "timeline"), float(busy_s.sum()), op_s, launches_s)


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
    last = events[events["op"].notna()].iloc[-1]
    more = {"op": lacking, "lane": last["lane"], "start_s": last["start_s"], "duration_s": op_s[lacking]}
    parts = [events, pd.DataFrame(more)] if len(lacking) else [events]
    whole = TIMELINE.conform(pd.concat(parts, ignore_index=True), "timeline")
    ran = np.where(np.isin(np.arange(len(op_s)), lacking), 0.0, 1.0)[None]
    own_s = float(step_s(replay(Events(whole), ran, np.ones(1), timeline.host_step_s))[0])
    scale = source_step_s / own_s if own_s > 0 else 1.0
    return StepTimeline(whole, timeline.host_step_s, base, timeline.host_step_s, scale=scale)
