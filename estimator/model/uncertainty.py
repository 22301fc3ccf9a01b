"""The uncertain inputs of a prediction, drawn once: what the device file says, and what its models do not know.

Each is drawn as the logarithm by which it lengthens a time, from a random stream of its own, so that the parts of a
prediction move together as far as they share it. A column of samples has 1 + draws entries, the first at nominal
inputs.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt
import pandas as pd

from estimator.core.interval import draw, draw_sourced, standard
from estimator.core.types import DeviceSpec, Floats, RunPlan, Sourced
from estimator.model import coefficients
from estimator.model.hardware import peak_of_op

SHAPES = 256  # streams that what is not known of shapes is drawn from: alike shapes share one

Names = npt.NDArray[np.str_]


def peaks(device: DeviceSpec, work: pd.DataFrame, plan: RunPlan) -> Floats:
    """Samples (1 + draws × ops) of the logarithm of nominal over drawn peak, of what each op runs on."""
    kinds = work["op_class"].str.cat(work["precision"], sep=" ").to_numpy(dtype=str)
    found = {kind: peak_of_op(device, *kind.split(" ")) for kind in np.unique(kinds)}
    return _spread(
        {kind: _log_lengthening(f"{device.name}.{name}", rate, plan) for kind, (name, rate) in found.items()}, kinds
    )


def bandwidth(device: DeviceSpec, plan: RunPlan) -> Floats:
    """Samples (1 + draws × 1) of the logarithm of nominal over drawn bandwidth."""
    return _log_lengthening(f"{device.name}.memory_bandwidth", device.memory_bandwidth, plan)[:, None]


def latency(device: DeviceSpec, plan: RunPlan) -> Floats:
    """Samples (1 + draws × 1) of the time of one launch [s]."""
    stream = f"{device.name}.launch_latency"
    if device.launch_latency:
        return draw_sourced(stream, device.launch_latency, plan.draws, plan.seed)[:, None]
    c = coefficients.shipped().launches.latency_s
    return draw(stream, c.low, c.mid, c.high, plan.draws, plan.seed)[:, None]


def normals(streams: Names, plan: RunPlan) -> Floats:
    """Standard normal samples (1 + draws × ops), those of one stream alike; 0 at nominal inputs."""
    return _spread({str(name): standard(str(name), plan.draws, plan.seed) for name in np.unique(streams)}, streams)


def _spread(columns: Mapping[str, Floats], names: Names) -> Floats:
    """The column of each name, in order."""
    known = list(columns)
    places = pd.Index(known).get_indexer(pd.Index(names))
    return np.stack([columns[name] for name in known], axis=1)[:, places]


def _log_lengthening(stream: str, rate: Sourced | None, plan: RunPlan) -> Floats:
    if rate is None:
        return np.zeros(1 + plan.draws)
    return np.log(rate.value / draw_sourced(stream, rate, plan.draws, plan.seed))
