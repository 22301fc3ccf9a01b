"""Efficiency of ops on the source device."""

from __future__ import annotations

import numpy as np
import pandas as pd

from estimator.core import physics
from estimator.core.schema import numbers
from estimator.core.types import DeviceSpec, Floats
from estimator.model.hardware import hardware_of


def source_efficiency(work: pd.DataFrame, source: DeviceSpec | None) -> Floats:
    """Efficiency = roofline time / measured time on the source; NaN where its specifications are unknown."""
    if source is None or source.specifications == "unknown":
        return np.full(len(work), np.nan)
    hardware = hardware_of(source, work["op_class"], work["precision"])
    flop, bytes_, time = (numbers(work, name) for name in ("flop", "bytes", "time_s"))
    ideal = physics.ideal_time(flop, bytes_, hardware.peak, hardware.bandwidth)
    return physics.ratio(ideal, time, np.nan)
