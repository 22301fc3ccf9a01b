"""Which step a device's events belong to, and how long the steps of a device last.

The host marks a step; what it launched in that step belongs to it, whenever a device ran it. A device that is nearly
always busy, or falls ever further behind the host, sets the pace: a step then lasts from the end of what one step
launched to the end of what the next one did. Else it lasts as long as the host's.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from estimator.core.types import Flags, Integers
from estimator.core.units import percent
from estimator.profiles.columns import UNKNOWN
from estimator.profiles.events import LAST

OUTSIDE = "{share} of the ops' time lies outside the steps, or was launched before the trace began, and is left out"
WARNING_SHARE = 0.01  # of the ops' time
BUSY_DEVICE = 0.8  # busy share of the device's own step from which on the device sets the step
FALLS_BEHIND = 0.05  # so does a device that falls behind the host by this share of the steps


def launched(correlation: Integers, of_launch: Integers, times: Integers) -> Integers:
    """When the host launched each event; UNKNOWN where no launch has its number.

    Args:
        correlation: the number of each event's launch, UNKNOWN where it has none.
        of_launch: the numbers of the launches.
        times: when these were.
    """
    near = (of_launch >= correlation.min(initial=LAST)) & (of_launch <= correlation.max(initial=UNKNOWN))
    numbers, first = np.unique(of_launch[near], return_index=True)
    if not len(numbers):
        return np.full_like(correlation, UNKNOWN)
    place = np.minimum(np.searchsorted(numbers, correlation), len(numbers) - 1)
    known = (numbers[place] == correlation) & (correlation != UNKNOWN)
    return np.where(known, times[near][first[place]], UNKNOWN)


def last_ends(step: Integers, end: Integers, count: int) -> Integers:
    """When the last event of each of ``count`` steps ended; UNKNOWN where a step has none."""
    last = np.full(count, UNKNOWN)
    np.maximum.at(last, step[step >= 0], end[step >= 0])
    return last


def pitch_ps(steps: Integers) -> float:
    """The time from the end of one step of a device to the end of the next [ps]; of a single step, its own."""
    first, last = steps[[0, -1]].tolist()
    return (last[1] - first[1]) / (len(steps) - 1) if len(steps) > 1 else float(first[1] - first[0])


def wall_ps(windows: Integers, completed: Integers | None, busy_ps: int) -> float:
    """The time of all steps together [ps]: the device's where it is nearly always busy or falls behind the host, else
    the host's.

    The device's step lasts from the end of one step's last event to the end of the next one's.

    Args:
        windows: start and end of each step on the host [ps].
        completed: when the device had done what each step launched [ps], UNKNOWN where it launched nothing; None where
            that is not known of any.
        busy_ps: time in which the device did it.
    """
    host_ps, count = float((windows[:, 1] - windows[:, 0]).sum()), len(windows)
    seen = np.zeros(count, dtype=bool) if completed is None else completed != UNKNOWN
    if completed is None or not seen.any():
        return host_ps
    if count == 1:
        return max(host_ps, float(busy_ps))
    first, last = completed[seen][[0, -1]]
    device_ps = float(last - first) / max(int(seen.sum()) - 1, 1) * count
    behind = np.maximum(completed - windows[:, 1], 0)[seen]
    sets_step = busy_ps >= BUSY_DEVICE * device_ps or behind[-1] - behind[0] > FALLS_BEHIND * host_ps
    return device_ps if sets_step and device_ps > 0 else host_ps


def non_empty(windows: Integers, begun: Flags) -> Integers:
    """The windows in which anything began; all of them where nothing did."""
    return windows[begun] if begun.any() else windows


def outside_warnings(outside: float, total: float) -> Iterator[str]:
    """A warning about the share of the ops' time that belongs to no step."""
    share = outside / (total or 1.0)
    if share > WARNING_SHARE:
        yield OUTSIDE.format(share=percent(share))
