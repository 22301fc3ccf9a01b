"""The timeline that is replayed on the target: the profile's own, or one in the order of the program.

Its durations are shares of the op's time, so that a replay in which op i takes ``factor[i]`` seconds gives a step.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from estimator.core.schema import HOST, TIMELINE
from estimator.core.types import Flags, Floats, Timeline

DEVICE = "device"
LAUNCHES = 4  # at most that a row of many calls is taken apart into
ON_HOST = ("host", "input")  # op classes that a host runs


@dataclass(frozen=True)
class StepTimeline:
    """TIMELINE, and when the host goes on to the next step [s]."""

    events: pd.DataFrame
    host_step_s: float


def in_turn(overlap: Floats, idle_s: float) -> StepTimeline:
    """Every op for its share of ``overlap``, one after another, and then the idle time."""
    ops = pd.DataFrame({"op": np.arange(len(overlap)), "lane": DEVICE, "duration_s": overlap})
    ends = np.cumsum(overlap)
    wait = pd.DataFrame({"lane": [HOST], "start_s": 0.0, "duration_s": ends[-1] + idle_s, "lag_s": idle_s})
    events = pd.concat([ops.assign(start_s=ends - overlap), wait.assign(after=len(ops) - 1)], ignore_index=True)
    return StepTimeline(TIMELINE.conform(events, "timeline"), float(ends[-1] + idle_s))


def dispatched(ops: pd.DataFrame, dispatch_s: float) -> StepTimeline:
    """Every op on the device, launched one after another by a host that needs ``dispatch_s`` for each call [s].

    The host runs its own ops itself, and launches nothing meanwhile.
    """
    calls = ops["calls"].fillna(1.0).to_numpy(dtype=float)
    host = ops["op_class"].isin(ON_HOST).to_numpy(dtype=bool)
    ran = np.flatnonzero((calls > 0) | host)
    parts = np.where(host, 1, np.clip(np.ceil(calls), 1, LAUNCHES)).astype(int)[ran]
    op = np.repeat(ran, parts)
    issued = np.where(host[op], 0.0, np.repeat(calls[ran] / parts, parts) * dispatch_s)
    launch = np.cumsum(issued) - issued
    events = pd.DataFrame({
        "op": op,
        "lane": np.where(host[op], HOST, DEVICE),
        "start_s": launch,
        "duration_s": 1.0 / np.repeat(parts, parts),
        "launch_s": np.where(host[op], np.nan, launch),
    })
    return StepTimeline(TIMELINE.conform(events.assign(duration_s=_at_once(events)), "timeline"), float(issued.sum()))


def as_profiled(timeline: Timeline, ops: pd.DataFrame) -> StepTimeline:
    """The profile's timeline; ops that it lacks run behind its last event, one after another."""
    events, time_s = timeline.events, ops["time_s"].to_numpy(dtype=float)
    known = events["op"].notna().to_numpy(dtype=bool)
    row = events["op"].fillna(0).to_numpy(dtype=int)
    share = np.divide(events["duration_s"], time_s[row], out=np.ones(len(events)), where=known & (time_s[row] > 0))
    lacking = np.setdiff1d(np.arange(len(ops)), row[known])
    last = events[known].iloc[-1]
    more = pd.DataFrame({"op": lacking, "lane": last["lane"], "start_s": last["start_s"], "duration_s": 1.0})
    whole = pd.concat([events.assign(duration_s=np.where(known, share, events["duration_s"])), more], ignore_index=True)
    return StepTimeline(TIMELINE.conform(whole, "timeline"), timeline.host_step_s)
