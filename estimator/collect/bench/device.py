"""The device that is measured: what is known of it, the cache that arrays reach, its clock while it works."""

from __future__ import annotations

import functools
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from estimator.collect.bench.library import Library
from estimator.collect.bench.machine import CPUS, cores, current_clock, last_level_caches, memory, processor, read_lines
from estimator.collect.bench.types import Row

MOST_OF_MEMORY = 0.8  # of what is free, for the arrays of one shape
FROM_CACHE, SMALL_CACHE = 1.5, 2**24  # times as fast as from memory; bytes from which on a cache is a last-level one


def filled_part(cache: float, rate: Callable[[float], float]) -> float:
    """At most how much of a cache of so many bytes holds arrays: a virtual machine names the whole cache of its host,
    of which it has a part. That is twice the largest array, halved again and again, that is read again at a higher
    ``rate`` [B/s] than from memory; all of it where no rate shows a part.
    """
    beyond = rate(2 * cache)
    smaller = (cache / 2**i for i in range(1, 10) if cache / 2**i >= SMALL_CACHE)
    return next((2 * size for size in smaller if rate(size) > FROM_CACHE * beyond), cache)


def reached_cache(library: Library) -> float | None:
    """Bytes of the last-level caches that arrays may fill; None where the machine names none."""
    if library.gpu:
        return library.accelerator().get("cache")
    caches, room = last_level_caches(), memory("MemAvailable")
    largest = max(caches, default=0.0)
    if not largest or (room and 2 * largest > MOST_OF_MEMORY * room):
        return sum(caches) or None
    return sum(caches) * filled_part(largest, functools.partial(rate_of_reading, library.np)) / largest


def rate_of_reading(np: Any, size: float) -> float:
    """B/s at which one thread reads an array of so many bytes again."""
    array, times = np.ones(int(size / 4), "float32"), []
    for _ in range(4):
        start = time.perf_counter()
        array.max()
        times.append(time.perf_counter() - start)
    return 4.0 * len(array) / min(times)


def clock_under_load(library: Library, seconds: float = 0.6) -> str:
    """The clock while matrix products run."""
    run = library.gemm("fp32", (1024, 1024), (1024, 1024), False, False)
    with ThreadPoolExecutor(1) as pool:
        later = pool.submit(lambda: time.sleep(seconds) or current_clock(library.gpu))  # type: ignore[func-returns-value]
        while not later.done():
            library.time_calls(run, 1, None)
    return later.result()


def describe(library: Library) -> Row:
    """The device measured: name, memory and cache [B], compute units, highest clock [Hz]; None is unknown."""
    highest, units = read_lines(f"{CPUS}/cpu0/cpufreq/cpuinfo_max_freq"), min(len(cores()), library.threads)
    known = {"name": processor(), "memory": memory("MemTotal"), "cache": sum(last_level_caches()) or None}
    known["units"] = units
    known["max_clock"] = float(highest[0]) * 1e3 if highest else None
    if not library.gpu:
        return known
    gpu = library.accelerator()
    return {name: gpu.get(name) for name in known}
