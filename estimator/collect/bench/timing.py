"""How long one call takes: repeats, until the median is known."""

from __future__ import annotations

import importlib
import importlib.util
import math
import time
from collections.abc import Callable, Sequence
from typing import Any

from estimator.collect.bench.machine import usable
from estimator.collect.bench.types import LeftOutError, Run, Timed, Timer

LEAST, MOST = 7, 400  # repeats
RESOURCE: Any = importlib.util.find_spec("resource") and importlib.import_module("resource")  # Windows has none
QUIET_S = 0.04  # of one thread, in which the system's own work interrupts it about once


def switches() -> int:
    """How often this process's threads were put off a processor for others; 0 where the system does not count."""
    return int(RESOURCE.getrusage(RESOURCE.RUSAGE_SELF).ru_nivcsw) if RESOURCE else 0


def stopwatch() -> Callable[[], Timed]:
    """What gives the seconds since, and whether something else took the processors meanwhile."""
    threads, before, start = len(usable()), switches(), time.perf_counter()

    def stop() -> Timed:
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
    timed: Timer, wanted: float, share: float, most: float, batch: float = 0.0, clock: Run = time.perf_counter
) -> tuple[list[float], float]:
    """Seconds of one call, timed again until the median's relative error is as wanted or its share [s] is spent.

    The fewest repeats may take ``most`` seconds, else LeftOutError, each of one call, though a library may run some
    more at once.
    ``timed(count)`` gives the time of so many calls, of which short ones last ``batch`` [s] together. The first call
    compiles; calls warm up until two in a row are alike (memory touched, clock awake); none of these is among the
    samples.
    Disturbed samples count where there are no others, the quickest of them where there are few; their share stands
    beside.
    """
    timed(1)
    start, warm = clock(), [timed(1)[0], timed(1)[0]]
    while max(warm[-2:]) > 1.3 * min(warm[-2:]) and len(warm) < 9 and clock() < start + share / 2:
        warm.append(timed(1)[0])
    if LEAST * min(warm) > most:
        raise LeftOutError(f"{LEAST} calls last longer than its share of the budget")
    count, samples, disturbed = 1, list[float](), list[float]()
    while batch and count < 1 << 20 and (spent := min(timed(count), timed(count))[0]) < batch:
        count = max(2 * count, min(10 * count, math.ceil(1.2 * batch * count / max(spent, 1e-9))))
    while len(samples) < MOST:
        spent, other = timed(count)
        (disturbed if other else samples).append(spent / count)
        known = len(samples) >= LEAST and relative_error(samples) <= wanted
        if known or (len(samples) + len(disturbed) >= LEAST and clock() > start + share):
            break
    quickest = sorted(disturbed)[: max(0, LEAST - len(samples))]
    return samples + (quickest if samples else disturbed), len(disturbed) / (len(samples) + len(disturbed))
