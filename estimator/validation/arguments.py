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

FRAMEWORK_CALLS = {"neusight": 30e-6}  # stacks that time a call of an eager framework, and what such a call takes [s]
OF_A_STREAM = 0.6  # share of such a call that a memory-bound kernel's streaming does not overlap with
OF_A_CONVOLUTION = 2.5  # such calls that one of a convolution takes: the shortest that were measured take 66 us
KERNEL_LATENCY_S = 4e-6  # of stacks that time kernels in a loop


def groups(rows: pd.DataFrame) -> pd.Series:
    """One name for each (data set, device)."""
    return rows["data_set"].str.cat(rows["device"], sep=" ")


def latencies(rows: pd.DataFrame) -> Floats:
    """What a call takes beside its kernel [s]."""
    of_a_call = rows["op_class"].map(dict.fromkeys(STREAMING, OF_A_STREAM) | {"convolution": OF_A_CONVOLUTION})
    calls = rows["stack"].map(FRAMEWORK_CALLS) * of_a_call.astype(float).fillna(1.0)
    return np.asarray(calls.fillna(KERNEL_LATENCY_S), dtype=float)


def hardware(rows: pd.DataFrame) -> Hardware:
    """What each row met on its device; of matrix products the peak that TRUTH names."""
    found = {name: np.empty(len(rows)) for name in Hardware.__dataclass_fields__}
    for device, places in rows.groupby("device").indices.items():
        here = rows.iloc[places]
        of_device = hardware_of(load_device(str(device)), here["op_class"], here["precision"])
        for name, values in vars(of_device).items():
            found[name][places] = values
    told = rows["peak"].to_numpy(dtype=float, na_value=np.nan)
    tensor = (rows["path"] == "tensor").to_numpy(dtype=bool)
    return Hardware(**{**found, "peak": np.where(np.isnan(told), found["peak"], told), "tensor": tensor})
