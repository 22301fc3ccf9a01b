"""The time that ops would take at the device's peak arithmetic, and at its full bandwidth."""

from __future__ import annotations

import numpy as np
import pandas as pd

from estimator.core.schema import numbers
from estimator.core.types import DeviceSpec, Floats
from estimator.model.hardware import hardware_of

UNKNOWN_SHARE = 0.8  # assumed: of the bandwidth that an op of unknown work takes, as large streams do


def peak_times(ops: pd.DataFrame, device: DeviceSpec) -> tuple[Floats, Floats]:
    """W / peak and Q / bandwidth of each row of PREDICTION [s]; ops of unknown work are taken for streams.

    An op has no time at a peak that the device does not have.
    """
    hardware = hardware_of(device, ops["op_class"], ops["precision"].fillna(""))
    flop, bytes_, time_s = (numbers(ops, name) for name in ("flop", "bytes", "target_time_s"))
    compute_s = np.nan_to_num(flop / hardware.peak)
    memory_s = bytes_ / hardware.bandwidth
    return compute_s, np.where(np.isnan(memory_s), UNKNOWN_SHARE * time_s, memory_s)
