"""The timeline of a typical step of a Kineto trace: the device's events, their launches, and the host's waits."""

from __future__ import annotations

import numpy as np

from estimator.core.types import Floats, Integers, Timeline
from estimator.profiles.kineto.launches import Launches
from estimator.profiles.kineto.steps import Steps
from estimator.profiles.kineto.trace import ABSENT, Trace
from estimator.profiles.timeline import DeviceEvents, HostWaits, build_timeline

PS = 1e12
KNOWN_LAUNCHES = 0.5  # share of a step's events whose launches must be recorded
NEVER = -np.inf
EARLIER_S = 1.0  # events that ended so long before a step keep no lane busy in it


def step_timeline(trace: Trace, launches: Launches, steps: Steps, row: Integers) -> Timeline | None:
    """The timeline of the step of median length; None where no step is marked, or too few launches are recorded.

    Args:
        trace: with all device events, those outside the steps too.
        launches: of these events.
        steps: of the trace.
        row: the row of OPS of each event; −1 where it belongs to none.
    """
    if not len(steps.windows):
        return None
    lengths = _lengths(trace, steps)
    chosen = _typical(lengths)
    begin, end = steps.windows[chosen].tolist()
    own = (steps.step == chosen) & (row >= 0)
    known = launches.time != ABSENT
    if not own.any() or known[own].mean() < KNOWN_LAUNCHES:
        return None
    events = _events(trace, launches, np.where(own, row, -1), begin)
    lanes = [f"gpu:{device}/{stream}" for device, stream in trace.streams]
    rows = build_timeline(events, lanes, _waits(trace, begin, end))
    return Timeline(rows, host_step_s=(end - begin) / PS, step_s=float(lengths[chosen]) / PS)


def _lengths(trace: Trace, steps: Steps) -> Floats:
    """The length of each step [ps], NaN where the device did nothing: that on the host; or, where the device was still
    at work on the step before, from the end of that one's last event to the end of its own.
    """
    done = np.full(len(steps.windows), NEVER)
    ran = steps.step >= 0
    np.maximum.at(done, steps.step[ran], (trace.device["start"] + trace.device["duration"])[ran].astype(float))
    before, (begin, end) = np.concatenate([[NEVER], done[:-1]]), steps.windows.T
    length = np.where(before > begin, done - before, (end - begin).astype(float))
    return np.where(done > NEVER, length, np.nan)


def _typical(lengths: Floats) -> int:
    """The step of median length."""
    order = np.argsort(lengths, kind="stable")  # NaN last
    return int(order[int(np.isfinite(lengths).sum()) // 2])


def _events(trace: Trace, launches: Launches, op: Integers, begin: int) -> DeviceEvents:
    """The events of the step, and those before it that may keep its lanes busy; by start, in seconds since it began."""
    device = trace.device
    start_s = (device["start"] - begin) / PS
    end_s = start_s + device["duration"] / PS
    last_s = float(start_s[op >= 0].max())
    kept = np.flatnonzero((op >= 0) | ((end_s > -EARLIER_S) & (start_s <= last_s)))
    kept = kept[np.argsort(start_s[kept], kind="stable")]
    launch_s = np.where(launches.time != ABSENT, (launches.time - begin) / PS, np.nan)
    return DeviceEvents(op[kept], device["lane"][kept], start_s[kept], end_s[kept], launch_s[kept])


def _waits(trace: Trace, begin: int, end: int) -> HostWaits:
    """The waits of the host in a step; where two overlap, the later one counts from the end of the other."""
    start, stop = trace.waits["start"], trace.waits["start"] + trace.waits["duration"]
    rows = np.flatnonzero((start >= begin) & (stop <= end))
    rows = rows[np.argsort(stop[rows], kind="stable")]
    reached = np.maximum.accumulate(np.concatenate([[begin], stop[rows]]))[:-1]
    start, stop = np.maximum(start[rows], reached), stop[rows]
    return HostWaits((start - begin)[stop > start] / PS, (stop - begin)[stop > start] / PS)
