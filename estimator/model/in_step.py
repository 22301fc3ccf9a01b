"""What an op takes in its step beyond what it takes alone, and what of that another device will take too.

Where the same library was measured on the source and on the target, each op's own kernel is known on both. A step adds
to it: memory that is new and must be mapped, operands that no cache holds any more. That is traffic, and goes over by
the bandwidths. An op that is faster in its step than alone is so by the same factor on both.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from estimator.core.types import DeviceSpec, Floats


@dataclass(frozen=True)
class Alone:
    """What all calls of each op take by themselves; NaN where nothing tells. One entry per op."""

    busy: Floats  # [s]
    launches: Floats
    latency: float  # [s] of one launch


def same_library(one: pd.DataFrame, other: pd.DataFrame) -> bool:
    """Whether two tables of MEASUREMENTS were made by a library in common."""
    return bool(set(one["library"].dropna()) & set(other["library"].dropna()))


def in_step(own: Floats, source: Alone, target: Alone, traffic: Floats | float) -> tuple[Floats, Floats]:
    """Busy time [s] and launches of each op in the target's step; those alone where the source does not tell.

    ``own`` [s]: what each op took in the source's step. ``traffic``: time on the target over that on the source of what
    is neither launch nor the kernel itself.
    """
    launches = np.fmin(source.launches, own / source.latency if source.latency > 0 else np.inf)
    busy = own - launches * source.latency
    beyond = busy - source.busy
    slower = target.busy + traffic * beyond
    faster = target.busy * np.divide(busy, source.busy, out=np.ones_like(busy), where=source.busy > 0)
    told = ~np.isnan(beyond)
    time = np.where(told, np.where(beyond > 0, slower, faster), target.busy)
    scaled = target.launches * np.divide(launches, source.launches, out=np.ones_like(busy), where=source.launches > 0)
    return time, np.where(told, scaled, target.launches)


def traffic_ratio(source: DeviceSpec, target: DeviceSpec) -> float:
    """Time on the target over that on the source of what is neither launch nor a kernel by itself: by the cores of
    processors, each of which maps and moves what it works on, else by the bandwidths; 1 where neither is known.
    """
    if source.compute_unit == target.compute_unit == "core" and source.compute_units and target.compute_units:
        return source.compute_units.value / target.compute_units.value
    known = source.memory_bandwidth, target.memory_bandwidth
    return known[0].value / known[1].value if known[0] and known[1] else 1.0
