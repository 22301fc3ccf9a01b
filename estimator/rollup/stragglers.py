"""Many like units side by side: how long the slowest of them takes, and when the last one stops."""

from __future__ import annotations

import numpy as np

from estimator.core.types import Floats
from estimator.rollup.scaling import expected_maximum
from estimator.rollup.throughput import DAY_S


def slowest_unit(spread: Floats, count: Floats, runs_at_once: Floats, devices: Floats) -> Floats:
    """How many times as long as usual the slowest of those that run at once takes: exp(σ · (z(g · N) − z(g))).

    N is the lesser of ``count`` and ``runs_at_once``, z the expected maximum of so many normal numbers. The time of a
    unit on g devices is that of the slowest of these already.

    Args:
        spread: standard deviation σ of the logarithm of the time on one device.
        count: units.
        runs_at_once: units that run at once.
        devices: g, of one unit; a share where several share one; these take the same time.
    """
    own, together = np.maximum(devices, 1.0), np.maximum(devices * np.minimum(count, runs_at_once), 1.0)
    maximum = np.vectorize(expected_maximum, otypes=[float])
    return np.asarray(np.exp(spread * (maximum(together) - maximum(own))))


def times_to_last_stop(count: Floats, runs_at_once: Floats, waves: Floats, slowest: Floats) -> Floats:
    """From the first start to the last stop, in times of a unit: min(waves · f, max(waves, c / n + f − ½)).

    The slowest takes f times as long. Whoever is free takes the next unit, so that slow devices take fewer: units soon
    end at any time, and those that run when the last one begins are half done in the mean. That is below the bound of
    Graham, Bounds on multiprocessing timing anomalies, 1969: c / n + f.
    """
    in_turn = count / np.minimum(count, runs_at_once) + slowest - 0.5
    return np.asarray(np.minimum(waves * slowest, np.maximum(waves, in_turn)))


def counted_per_day(count: Floats, phase_s: Floats) -> Floats:
    """Units per day of so many units, from the first start to the last stop [1/day]: c / t · 1 day."""
    return count / phase_s * DAY_S
