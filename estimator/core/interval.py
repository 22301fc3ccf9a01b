"""Seeded draws of uncertain inputs, and the interval that summarises them.

Entry 0 of every array of samples is the value at nominal inputs; entries 1… are draws. An input has a split lognormal
distribution: its median is the nominal value, its 5 % and 95 % points are the low and high ends. Each input has its own
random stream, named by the input and the seed, so that it does not depend on other draws.
"""

from __future__ import annotations

import zlib

import numpy as np
from numpy.typing import ArrayLike

from estimator.core.types import Covers, Floats, Interval, Sourced

LEVEL = 0.9
LEAST_DRAWS = 20  # of which one lies beyond each end
Z = 1.6448536269514722  # the standard normal's 95 % point


def enough_draws(draws: int) -> int:
    """A number of draws that gives intervals of 90 %, or none. Raises ValueError for any other."""
    if 0 < draws < LEAST_DRAWS:
        raise ValueError(f"is {draws}, too few for a 90 % interval; write {LEAST_DRAWS} or more, or 0 for no intervals")
    return draws


def draw(stream: str, low: ArrayLike, mid: ArrayLike, high: ArrayLike, draws: int, seed: int) -> Floats:
    """Samples (1 + draws × shape) of positive inputs with 90 % intervals [low, high].

    Inputs given as one array share the stream: they rise and fall together.
    """
    low, mid, high = np.broadcast_arrays(np.asarray(low, float), np.asarray(mid, float), np.asarray(high, float))
    z = standard(stream, draws, seed).reshape(-1, *(1,) * mid.ndim) / Z
    return np.asarray(mid * np.where(z < 0, mid / low, high / mid) ** z)


def standard(stream: str, draws: int, seed: int) -> Floats:
    """Standard normal samples (1 + draws) of a stream; 0 at nominal inputs."""
    rng = np.random.default_rng([seed, zlib.crc32(stream.encode())])
    return np.concatenate(([0.0], rng.standard_normal(draws)))


def uniform(stream: str, nominal: float, draws: int, seed: int) -> Floats:
    """Samples (1 + draws) of a share of which nothing is known but that it lies between 0 and 1."""
    rng = np.random.default_rng([seed, zlib.crc32(stream.encode())])
    return np.concatenate(([nominal], rng.random(draws)))


def log_spread(low: ArrayLike, high: ArrayLike) -> Floats:
    """Standard deviation of the logarithm of a value with the 90 % interval [low, high]."""
    return np.asarray(np.log(np.asarray(high, float) / np.asarray(low, float)) / (2.0 * Z))


def draw_sourced(stream: str, sourced: Sourced, draws: int, seed: int) -> Floats:
    """Samples (1 + draws) of a catalogue number; without a declared uncertainty all equal its value."""
    ratio = 1 + (sourced.relative_uncertainty or 0.0)
    return draw(stream, sourced.value / ratio, sourced.value, sourced.value * ratio, draws, seed)


def share_above(samples: Floats, threshold: float | None) -> float | None:
    """Share of the draws at or above the threshold; None without a threshold or without uncertainty."""
    if threshold is None or np.ptp(samples) == 0:
        return None
    return float(np.mean(samples[1:] >= threshold))


def share_below(samples: Floats, others: Floats) -> float | None:
    """Share of the draws in which one number is below another, draw by draw; a tie counts half.

    None without uncertainty, and where there are not as many draws of both.
    """
    if len(samples) != len(others) or np.ptp(samples) == np.ptp(others) == 0:
        return None
    return float(np.mean(samples[1:] < others[1:]) + np.mean(samples[1:] == others[1:]) / 2)


def summarise(samples: Floats, covers: Covers = "inputs") -> Interval:
    """The interval of samples (1 + draws) and what it covers; the ends are None where nothing is uncertain."""
    low, mid, high = bounds(samples)
    certain = bool(low == high)
    return Interval(None if certain else float(low), float(mid), None if certain else float(high), LEVEL, covers)


def bounds(samples: Floats) -> tuple[Floats, Floats, Floats]:
    """Low end, nominal value and high end along the first axis of samples (1 + draws × …).

    The ends are widened where needed to include the nominal value.
    """
    mid = samples[0]
    if len(samples) == 1:
        return mid, mid, mid
    ordered = np.array(np.moveaxis(samples[1:], 0, -1), order="C")  # contiguous along the sorted axis
    ordered.sort(axis=-1)
    low, high = (_quantile(ordered, share) for share in ((1 - LEVEL) / 2, (1 + LEVEL) / 2))
    return np.minimum(low, mid), mid, np.maximum(high, mid)


def _quantile(ordered: Floats, share: float) -> Floats:
    """Linearly interpolated quantile along the last axis, as numpy's, of values that are sorted already."""
    place = share * (ordered.shape[-1] - 1)
    before = int(place)
    low, high = ordered[..., before], ordered[..., min(before + 1, ordered.shape[-1] - 1)]
    return np.asarray(low + (high - low) * (place - before))
