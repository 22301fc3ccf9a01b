"""Times from specifications alone: launch latency plus roofline time over the attained share of it."""

from __future__ import annotations

import numpy as np
import pandas as pd

from estimator.core import physics
from estimator.core.interval import bounds as ends
from estimator.core.schema import MATRIX, STREAMING
from estimator.core.types import Floats
from estimator.model.uncertainty import Rates


def roofline_time(work: pd.DataFrame, rates: Rates) -> Floats:
    """Samples (1 + draws × ops) of calls·latency + max(W/P, Q/B)/efficiency [s]; NaN where any is unknown."""
    time = launch_time(work, rates) + ideal_time(work, rates) / rates.efficiency
    modelled = work["op_class"].isin([*MATRIX, *STREAMING]).to_numpy(dtype=bool)
    return np.where(modelled, time, np.nan)  # input, host and collective time is no matter of peak and bandwidth


def ideal_time(work: pd.DataFrame, rates: Rates) -> Floats:
    """Samples (1 + draws × ops) of the least time that the rates allow, max(W/P, Q/B) [s]."""
    flop, bytes_ = work["flop"].to_numpy(dtype=float), work["bytes"].to_numpy(dtype=float)
    return physics.ideal_time(flop, bytes_, rates.peak, rates.bandwidth)


def launch_time(work: pd.DataFrame, rates: Rates) -> Floats:
    """Samples (1 + draws × ops) of the time spent launching: calls (one where unknown) × latency [s]."""
    return np.asarray(rates.latency * work["calls"].fillna(1.0).to_numpy(dtype=float))


def bounds(work: pd.DataFrame, rates: Rates) -> pd.Series:
    """What limits each op at nominal rates: compute, memory, or the latency of its launches; NA where unknown."""
    flop, bytes_ = work["flop"].to_numpy(dtype=float), work["bytes"].to_numpy(dtype=float)
    compute, memory = flop / rates.peak[0], bytes_ / rates.bandwidth[0]
    attained = np.maximum(compute, memory) / rates.efficiency[0]
    bound = np.where(
        launch_time(work, rates)[0] > attained, "latency", np.where(compute >= memory, "compute", "memory")
    )
    known = ~np.isnan(attained)
    return pd.Series(bound, dtype="string[python]", index=work.index).where(known)


def floor_and_ceiling(work: pd.DataFrame, rates: Rates, lowest_efficiency: Floats) -> tuple[Floats, Floats]:
    """Least and most time [s] of each op over the draws of the inputs: at the peaks without any launch; and with
    launches, and compute and traffic one after the other at the lowest attained share. NaN where unknown.
    """
    flop, bytes_ = work["flop"].to_numpy(dtype=float), work["bytes"].to_numpy(dtype=float)
    serial = launch_time(work, rates) + (flop / rates.peak + bytes_ / rates.bandwidth) / lowest_efficiency
    return ends(ideal_time(work, rates))[0], ends(serial)[2]
