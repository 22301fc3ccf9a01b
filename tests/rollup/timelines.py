"""Random timelines of a host that launches on several lanes, as a profiler would write them."""

import numpy as np
import pandas as pd

from estimator.core.types import Floats
from estimator.profiles.timeline import NO_WAITS, DeviceEvents, HostWaits, build_timeline

START_S, WAKE_S, GAP_S = 6e-6, 3e-6, 1e-6


def random_timeline(seed: int, lanes: int, count: int = 200, tick_s: float = 0.0) -> tuple[pd.DataFrame, float]:
    """TIMELINE of one step, and when its host goes on [s]; some events wait for others, and the host at odd seeds.

    ``tick_s``: that of a coarse clock, which writes many events of no time, and many at once.
    """
    rng = np.random.default_rng(seed)
    launch_s = np.cumsum(_ticks(rng.exponential(1e-5, count), tick_s))
    lane, duration_s = rng.integers(0, lanes, count), _ticks(rng.exponential(2e-5, count), tick_s)
    start, wake, gap = (float(_ticks(np.array(each), tick_s)) for each in (START_S, WAKE_S, GAP_S))
    free_s, end_s, start_s = np.zeros(lanes), np.zeros(count), np.zeros(count)
    for i in range(count):
        awaited_s = end_s[i - 7] + wake if i >= 7 and rng.random() < 0.1 else 0.0
        start_s[i] = max(launch_s[i] + start, free_s[lane[i]] + gap, awaited_s)
        end_s[i] = free_s[lane[i]] = start_s[i] + duration_s[i]
    order = np.argsort(start_s, kind="stable")
    events = DeviceEvents(order, lane[order], start_s[order], end_s[order], launch_s[order])
    arrived_s = float(launch_s[-1]) + 1e-5
    waits = HostWaits(np.array([arrived_s]), np.array([max(arrived_s, end_s.max()) + wake])) if seed % 2 else NO_WAITS
    return build_timeline(events, [f"gpu/{i}" for i in range(lanes)], waits), max([arrived_s, *waits.end_s]) + 2e-5


def _ticks(seconds: Floats, tick_s: float) -> Floats:
    return np.asarray(np.floor(seconds / tick_s) * tick_s) if tick_s else np.asarray(seconds)
