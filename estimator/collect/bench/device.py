"""The measured device: its facts, the cache that arrays can fill, its clock under load."""

from __future__ import annotations

import functools
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from estimator.collect.bench.library import Library
from estimator.collect.bench.machine import CPUS, cores, current_clock, last_level_caches, memory, processor, read_lines
from estimator.collect.bench.types import Row

MEMORY_SHARE = 0.8  # of the free memory, at most, for the arrays of one shape
CACHE_FACTOR, MIN_CACHE = 1.5, 2**24  # times the rate from memory; smallest last-level cache [B]
LOAD_S = 0.6  # of matrix products, before the clock is read


def filled_part(cache: float, rate: Callable[[float], float]) -> float:
    """How much of a cache [B] arrays can fill, at most: a virtual machine names its host's cache and may have a part.

    It is twice the largest array, of repeatedly halved size, that is reread at a higher ``rate`` [B/s] than from
    memory; the whole cache where there is none.
    """
    memory_rate = rate(2 * cache)
    smaller = (cache / 2**i for i in range(1, 10) if cache / 2**i >= MIN_CACHE)
    return next((2 * size for size in smaller if rate(size) > CACHE_FACTOR * memory_rate), cache)


def reached_cache(library: Library) -> float | None:
    """Bytes of the last-level caches that arrays can fill; None where unknown."""
    if library.gpu:
        return library.accelerator().get("cache")
    caches, room = last_level_caches(), memory("MemAvailable")
    largest = max(caches, default=0.0)
    if not largest or (room and 2 * largest > MEMORY_SHARE * room):
        return sum(caches) or None
    return sum(caches) * filled_part(largest, functools.partial(rate_of_reading, library.np)) / largest


def rate_of_reading(np: Any, size: float) -> float:
    """The rate [B/s] at which one thread rereads an array of ``size`` bytes."""
    array, times = np.ones(int(size / 4), "float32"), []
    for _ in range(4):
        start = time.perf_counter()
        array.max()
        times.append(time.perf_counter() - start)
    return 4.0 * len(array) / min(times)


def clock_under_load(library: Library) -> str:
    """The clock during matrix products."""
    run = library.gemm("fp32", (1024, 1024), (1024, 1024), False, False)
    with ThreadPoolExecutor(1) as pool:
        clock = pool.submit(lambda: time.sleep(LOAD_S) or current_clock(library.gpu))  # type: ignore[func-returns-value]
        while not clock.done():
            library.time_calls(run, 1, None)
    return clock.result()


def describe(library: Library) -> Row:
    """Facts of the measured device: name, memory and cache [B], compute units, highest clock [Hz]; None: unknown."""
    max_khz, units = read_lines(f"{CPUS}/cpu0/cpufreq/cpuinfo_max_freq"), min(len(cores()), library.threads)
    facts = {"name": processor(), "memory": memory("MemTotal"), "cache": sum(last_level_caches()) or None}
    facts["units"] = units
    facts["max_clock"] = float(max_khz[0]) * 1e3 if max_khz else None
    if not library.gpu:
        return facts
    gpu = library.accelerator()
    return {name: gpu.get(name) for name in facts}
