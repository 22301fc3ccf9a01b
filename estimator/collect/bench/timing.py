"""How long a call takes: it is repeated until its median is known."""

from __future__ import annotations

import importlib
import importlib.util
import math
import time
from collections.abc import Callable, Sequence
from typing import Any

from estimator.collect.bench.machine import usable_processors
from estimator.collect.bench.types import LeftOutError, Run, Sample, TimeCalls

FEWEST_REPEATS, MOST_REPEATS = 7, 400  # repeats
RESOURCE: Any = importlib.util.find_spec("resource") and importlib.import_module("resource")  # Windows has none
QUIET_S = 0.04  # of one thread, in which the system's own work interrupts it about once


def switches() -> int:
    """How often this process's threads were put off a processor for others; 0 where the system does not count."""
    return int(RESOURCE.getrusage(RESOURCE.RUSAGE_SELF).ru_nivcsw) if RESOURCE else 0


def stopwatch() -> Callable[[], Sample]:
    """Start a watch: it gives the seconds since, and whether something else took the processors meanwhile."""
    threads, before, start = len(usable_processors()), switches(), time.perf_counter()

    def stop() -> Sample:
        spent = time.perf_counter() - start
        return spent, switches() - before > threads * spent // QUIET_S

    return stop


def quantile(samples: Sequence[float], share: float) -> float:
    """The value that ``share`` of the samples lie below, interpolated."""
    ordered, place = sorted(samples), share * (len(samples) - 1)
    low, high = ordered[math.floor(place)], ordered[math.ceil(place)]
    return low + (place - math.floor(place)) * (high - low)


def relative_error(samples: Sequence[float]) -> float:
    """Half width of the median's 95 % confidence interval (by order statistics) over the median."""
    ordered, middle, reach = sorted(samples), len(samples) / 2, 0.98 * math.sqrt(len(samples))
    low, high = ordered[max(0, math.floor(middle - reach))], ordered[min(len(samples), math.ceil(middle + reach)) - 1]
    return (high - low) / 2 / quantile(ordered, 0.5)


def repeat(
    time_calls: TimeCalls, wanted: float, share: float, most: float, batch: float = 0.0, clock: Run = time.perf_counter
) -> tuple[list[float], float]:
    """Time a call again and again until its median is known.

    The first call compiles. Calls warm up until two in a row last about as long (memory touched, clock awake). None of
    these is among the samples. Disturbed samples count where there are no others, the quickest of them where there are
    few others. Raises LeftOutError where the fewest repeats would take longer than ``most``, with one call in each.

    Args:
        time_calls: The time of so many calls; a library may run some more at once.
        wanted: Relative error of the median at which to stop.
        share: Time [s] after which to stop.
        most: Time [s] that the fewest repeats may take.
        batch: Time [s] that one sample lasts at least; short calls are timed several at once.
        clock: What tells the time [s].

    Returns:
        Seconds of one call in each sample, and the share of samples that were disturbed.
    """
    time_calls(1)
    start, warm = clock(), [time_calls(1)[0], time_calls(1)[0]]
    while max(warm[-2:]) > 1.3 * min(warm[-2:]) and len(warm) < 9 and clock() < start + share / 2:
        warm.append(time_calls(1)[0])
    if FEWEST_REPEATS * min(warm) > most:
        raise LeftOutError(f"{FEWEST_REPEATS} calls last longer than its share of the budget")
    count, samples, disturbed = 1, list[float](), list[float]()
    while batch and count < 1 << 20 and (spent := min(time_calls(count), time_calls(count))[0]) < batch:
        count = max(2 * count, min(10 * count, math.ceil(1.2 * batch * count / max(spent, 1e-9))))
    while len(samples) < MOST_REPEATS:
        spent, other = time_calls(count)
        (disturbed if other else samples).append(spent / count)
        known = len(samples) >= FEWEST_REPEATS and relative_error(samples) <= wanted
        if known or (len(samples) + len(disturbed) >= FEWEST_REPEATS and clock() > start + share):
            break
    quickest = sorted(disturbed)[: max(0, FEWEST_REPEATS - len(samples))]
    return samples + (quickest if samples else disturbed), len(disturbed) / (len(samples) + len(disturbed))
