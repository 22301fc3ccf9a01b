"""The device of a Kineto trace: its name, and the traces of which the device's events are no kernels."""

from __future__ import annotations

import numpy as np

from estimator.core.errors import EstimatorError
from estimator.profiles.kineto.trace import Trace

LONGEST_NAME = 80
NO_KERNELS = {
    "cuda_profiler_range": "no kernel is recorded, only ranges of hardware counters (CUPTI); expected kernel events, "
    "so profile without counters",
    "mtia_ccp_events": "its device events (mtia_ccp_events) are of an MTIA device, which is not known here; expected "
    "the kernels of a GPU, so profile the run on another device",
}


def refuse_foreign(trace: Trace) -> None:
    """Raises EstimatorError where the device's events are no kernels: the host's ops only dispatched its work."""
    for category, found in NO_KERNELS.items():
        if trace.foreign[category]:
            raise EstimatorError(f"{trace.where}: {found}")


def device_recorded(trace: Trace) -> str | None:
    """The name of the device on which most events ran, as the driver has it; None where the trace names none."""
    stated = trace.metadata.get("deviceProperties")
    properties = [device for device in stated if isinstance(device, dict)] if isinstance(stated, list) else []
    names = {str(device.get("id")): _name(device.get("name")) for device in properties}
    if len(set(names.values())) == 1:  # ids may be those of the visible devices, or of all
        return next(iter(names.values()))
    return names.get(_busiest(trace))


def _name(stated: object) -> str | None:
    name = stated.strip() if isinstance(stated, str) else ""
    return name if 0 < len(name) <= LONGEST_NAME and name.isprintable() else None


def _busiest(trace: Trace) -> str:
    """The number of the device that most events ran on."""
    if not len(trace.device):
        return ""
    streams = list(trace.streams)
    return str(streams[int(np.bincount(trace.device["lane"]).argmax())][0])
