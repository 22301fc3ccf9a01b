"""Time calls: repeat until the median is known."""

from __future__ import annotations

import importlib
import importlib.util
import math
import time
from collections.abc import Callable, Sequence
from typing import Any

from estimator.collect.bench.machine import usable_processors
from estimator.collect.bench.types import LeftOutError, Run, Sample, TimeCalls

FEWEST_REPEATS, MOST_REPEATS = 7, 400
RESOURCE: Any = importlib.util.find_spec("resource") and importlib.import_module("resource")  # Windows has none
QUIET_S = 0.04  # time of a thread between two interruptions by the system


def switches() -> int:
    """The number of involuntary context switches of this process; 0 where unknown."""
    return int(RESOURCE.getrusage(RESOURCE.RUSAGE_SELF).ru_nivcsw) if RESOURCE else 0


def stopwatch() -> Callable[[], Sample]:
    """Start a stopwatch, which returns the seconds since and whether other processes disturbed it."""
    threads, before, start = len(usable_processors()), switches(), time.perf_counter()

    def stop() -> Sample:
        spent = time.perf_counter() - start
        return spent, switches() - before > threads * spent // QUIET_S

    return stop


def quantile(samples: Sequence[float], share: float) -> float:
    """The quantile of samples at ``share``, interpolated."""
    ordered, position = sorted(samples), share * (len(samples) - 1)
    low, high = ordered[math.floor(position)], ordered[math.ceil(position)]
    return low + (position - math.floor(position)) * (high - low)


def relative_error(samples: Sequence[float]) -> float:
    """Half width of the median's 95 % confidence interval (by order statistics) over the median."""
    ordered, middle, half_width = sorted(samples), len(samples) / 2, 0.98 * math.sqrt(len(samples))
    low = ordered[max(0, math.floor(middle - half_width))]
    high = ordered[min(len(samples), math.ceil(middle + half_width)) - 1]
    return (high - low) / 2 / quantile(ordered, 0.5)


def repeat(
    time_calls: TimeCalls,
    wanted_error: float,
    share_s: float,
    limit_s: float,
    batch_s: float = 0.0,
    clock: Run = time.perf_counter,
) -> tuple[list[float], float]:
    """Repeat a call until its median time is known.

    The first call compiles. Further calls warm up until two in a row take about the same time; none of these is a
    sample. Disturbed samples are used where there are no others; the shortest of them where there are too few others.

    Raises LeftOutError where the fewest repeats, of one call each, would take longer than ``limit_s``.

    Args:
        time_calls: Returns the time of so many calls.
        wanted_error: Relative error of the median at which to stop.
        share_s: Time after which to stop.
        limit_s: Longest time for the fewest repeats.
        batch_s: Shortest time of one sample; short calls are timed several at once.
        clock: Returns the time [s].

    Returns:
        Seconds per call of each sample, and the share of disturbed samples.
    """
    time_calls(1)
    start, warm_up = clock(), [time_calls(1)[0], time_calls(1)[0]]
    while max(warm_up[-2:]) > 1.3 * min(warm_up[-2:]) and len(warm_up) < 9 and clock() < start + share_s / 2:
        warm_up.append(time_calls(1)[0])
    if FEWEST_REPEATS * min(warm_up) > limit_s:
        raise LeftOutError(f"{FEWEST_REPEATS} calls last longer than its share of the budget")
    count, samples, disturbed = 1, list[float](), list[float]()
    while batch_s and count < 1 << 20 and (spent_s := min(time_calls(count), time_calls(count))[0]) < batch_s:
        count = max(2 * count, min(10 * count, math.ceil(1.2 * batch_s * count / max(spent_s, 1e-9))))
    while len(samples) < MOST_REPEATS:
        spent_s, is_disturbed = time_calls(count)
        (disturbed if is_disturbed else samples).append(spent_s / count)
        is_known = len(samples) >= FEWEST_REPEATS and relative_error(samples) <= wanted_error
        if is_known or (len(samples) + len(disturbed) >= FEWEST_REPEATS and clock() > start + share_s):
            break
    quickest = sorted(disturbed)[: max(0, FEWEST_REPEATS - len(samples))]
    return samples + (quickest if samples else disturbed), len(disturbed) / (len(samples) + len(disturbed))
