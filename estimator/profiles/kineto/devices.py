"""The devices of a Kineto trace: the name, which of several compute, and events that are no kernels."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd

from estimator.core.errors import EstimatorError
from estimator.core.types import DeviceNumbers, Flags, Integers
from estimator.profiles import ranks
from estimator.profiles.columns import Columns, Ids
from estimator.profiles.kineto.trace import KERNEL, Trace

LONGEST_NAME = 80
COUNTER_RANGES = "cuda_profiler_range"
NO_KERNELS = (
    "no kernel is recorded, only ranges of hardware counters (CUPTI); expected kernel events, so profile without "
    "counters"
)
FOREIGN = (
    "its device events ({category}) are of a device of the kind {kind}, which is not known here; expected the kernels "
    "of a GPU, so profile the run on another device"
)


def refuse_foreign(trace: Trace) -> None:
    """Raises EstimatorError where the device's events are no kernels: the host's ops only dispatched its work."""
    for category in trace.foreign:
        kind = category.partition("_")[0].upper()
        why = NO_KERNELS if category == COUNTER_RANGES else FOREIGN.format(category=category, kind=kind)
        raise EstimatorError(f"{trace.where}: {why}")


def device_recorded(trace: Trace) -> str | None:
    """The name of the device on which most events ran, as the driver has it; None where the trace names none."""
    properties = _properties(trace)
    return _name(properties.get("name"))


def device_numbers(trace: Trace) -> DeviceNumbers | None:
    """The numbers of that device; None where the trace does not count its compute units or its memory."""
    properties = _properties(trace)
    units, memory = (properties.get(name) for name in ("numSms", "totalGlobalMem"))
    return DeviceNumbers(units, float(memory)) if type(units) is int and type(memory) is int and units > 0 else None


def _properties(trace: Trace) -> Mapping[str, object]:
    """What the trace states of the device on which most events ran; empty where it states nothing of it."""
    stated = trace.metadata.get("deviceProperties")
    properties = [device for device in stated if isinstance(device, dict)] if isinstance(stated, list) else []
    by_id = {str(device.get("id")): device for device in properties}
    same_device = len({(_name(device.get("name")), device.get("numSms")) for device in properties}) == 1
    first = properties[0] if same_device else {}  # ids may be those of the visible devices, or of all
    return by_id.get(_busiest(trace), first)


def on_computing_devices(trace: Trace) -> Flags:
    """Whether each device event is on a device that computes, not on one that copies alone or runs next to nothing, as
    where a process of one device touches another.
    """
    device = _device_of(trace)
    kernel_ps = np.bincount(device, np.where(trace.device["sort"] == KERNEL, trace.device["duration"], 0))
    computes = kernel_ps >= ranks.LEAST_SHARE * kernel_ps.max(initial=0.0)
    return np.asarray(computes[device], dtype=bool)


def left_out(trace: Trace, computing: Flags) -> list[str]:
    """The names of devices that do not compute; ``computing``: events of those that do."""
    device = _device_of(trace)
    names = list(dict.fromkeys(str(name) for name, _ in trace.streams))
    return [f"gpu:{names[number]}" for number in np.setdiff1d(device, device[computing]).tolist()]


def by_device(trace: Trace) -> list[Columns]:
    """The device events of each device."""
    device = _device_of(trace)
    return [trace.device.take(device == number) for number in np.unique(device)]


def mean_over_devices(ops: pd.DataFrame, devices: int) -> pd.DataFrame:
    """OPS as the mean over the devices that ran them."""
    return ranks.mean_ops([table for _, table in ops.groupby("placement")]) if devices > 1 else ops


def rows_of_first(ops: pd.DataFrame, devices: int) -> Integers:
    """The row of the mean over devices that each row of the first device is part of; −1 for those of others."""
    if devices == 1:
        return np.arange(len(ops))
    row = np.full(len(ops), -1)
    first = (ops["placement"] == ops["placement"].min()).to_numpy(dtype=bool)
    row[first] = ranks.merged_rows(ops[first])
    return row


def _device_of(trace: Trace) -> Integers:
    """The number of the device of each event."""
    numbers = Ids()
    of_lane = np.array([numbers[device] for device, _ in trace.streams], dtype=np.int64)
    return of_lane[trace.device["lane"]]


def _name(stated: object) -> str | None:
    name = stated.strip() if isinstance(stated, str) else ""
    return name if 0 < len(name) <= LONGEST_NAME and name.isprintable() else None


def _busiest(trace: Trace) -> str:
    """The number of the device that most events ran on."""
    if not len(trace.device):
        return ""
    streams = list(trace.streams)
    return str(streams[int(np.bincount(trace.device["lane"]).argmax())][0])
