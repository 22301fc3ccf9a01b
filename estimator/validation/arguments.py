"""TRUTH rows as the arguments of kernel models: shapes, hardware, latencies."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from estimator.core.schema import STREAMING
from estimator.core.types import Floats
from estimator.devices import load_device
from estimator.model.hardware import Hardware, hardware_of

if TYPE_CHECKING:
    import pandas as pd

FRAMEWORK_CALLS = {"neusight": 30e-6}  # stacks that time calls of an eager framework → time of one call [s]
STREAM_CALLS = 0.6  # call times of a memory-bound op: its streaming overlaps with the rest
CONVOLUTION_CALLS = 2.5  # call times of a convolution: the shortest measured take 66 us
KERNEL_LATENCY_S = 4e-6  # of stacks that time kernels in a loop


def groups(rows: pd.DataFrame) -> pd.Series:
    """One name for each (data set, device)."""
    return rows["data_set"].str.cat(rows["device"], sep=" ")


def latencies(rows: pd.DataFrame) -> Floats:
    """Time of each call beside its kernel [s]."""
    calls_per_op = rows["op_class"].map(dict.fromkeys(STREAMING, STREAM_CALLS) | {"convolution": CONVOLUTION_CALLS})
    latency_s = rows["stack"].map(FRAMEWORK_CALLS) * calls_per_op.astype(float).fillna(1.0)
    return np.asarray(latency_s.fillna(KERNEL_LATENCY_S), dtype=float)


def hardware(rows: pd.DataFrame) -> Hardware:
    """The hardware of each row's device; the peak of a matrix product is that of TRUTH."""
    values_by_name = {name: np.empty(len(rows)) for name in Hardware.__dataclass_fields__}
    for device, positions in rows.groupby("device").indices.items():
        device_rows = rows.iloc[positions]
        device_hardware = hardware_of(load_device(str(device)), device_rows["op_class"], device_rows["precision"])
        for name, values in vars(device_hardware).items():
            values_by_name[name][positions] = values
    peak = rows["peak"].to_numpy(dtype=float, na_value=np.nan)
    tensor = (rows["path"] == "tensor").to_numpy(dtype=bool)
    return Hardware(
        **{**values_by_name, "peak": np.where(np.isnan(peak), values_by_name["peak"], peak), "tensor": tensor}
    )
