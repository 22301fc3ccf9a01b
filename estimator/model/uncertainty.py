"""The uncertain inputs of a prediction, drawn once: what the device file says, and what its models do not know.

Each is drawn as the logarithm by which it lengthens a time, from a random stream of its own, so that the parts of a
prediction move together as far as they share it. A column of samples has 1 + draws entries, the first at nominal
inputs.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd

from estimator.core.interval import draw, draw_sourced, standard
from estimator.core.types import DeviceSpec, Floats, Names, RunPlan, Sourced
from estimator.model import coefficients
from estimator.model.hardware import peak_of_op


@dataclass(frozen=True)
class RandomStreams:
    """Samples of random streams, and which of them each op takes."""

    samples: Floats  # 1 + draws × streams
    taken: npt.NDArray[np.int_]

    def of_ops(self, ops: slice) -> Floats:
        """Samples (1 + draws × ops) of some of the ops; a column for all of them where there is but one stream."""
        return self.samples if self.samples.shape[1] == 1 else np.take(self.samples, self.taken[ops], axis=1)

    def weights(self, op_weights: Floats) -> Floats:
        """Streams × ops: the weight of each op on the stream that it takes, and 0 on the others."""
        return np.where(np.arange(self.samples.shape[1])[:, None] == self.taken, op_weights, 0.0)


def peaks(device: DeviceSpec, work: pd.DataFrame, plan: RunPlan) -> RandomStreams:
    """Logarithm of nominal over drawn peak, of what each op runs on."""
    each, kinds = pd.factorize(work["op_class"].str.cat(work["precision"], sep=" "))
    paths = [peak_of_op(device, *kind.split(" ")) for kind in kinds]
    rates = dict(paths)
    columns = [_log_lengthening(f"{device.name}.{name}", rate, plan) for name, rate in rates.items()]
    return RandomStreams(np.stack(columns, axis=1), np.array([list(rates).index(name) for name, _ in paths])[each])


def bandwidth(device: DeviceSpec, plan: RunPlan) -> Floats:
    """Samples (1 + draws × 1) of the logarithm of nominal over drawn bandwidth."""
    return _log_lengthening(f"{device.name}.memory_bandwidth", device.memory_bandwidth, plan)[:, None]


def latency(device: DeviceSpec, plan: RunPlan) -> Floats:
    """Samples (1 + draws × 1) of the time of one launch [s]."""
    stream = f"{device.name}.launch_latency"
    if device.launch_latency:
        return draw_sourced(stream, device.launch_latency, plan.draws, plan.seed)[:, None]
    usual = coefficients.shipped().launches.latency_s
    return draw(stream, usual.low, usual.mid, usual.high, plan.draws, plan.seed)[:, None]


def source_run(plan: RunPlan) -> Floats:
    """Standard normal samples (1 + draws) by which the source's run would go another time; 0 at nominal inputs."""
    return standard("source.run", plan.draws, plan.seed)


def normals(names: Names, count: int, plan: RunPlan) -> list[RandomStreams]:
    """So many times standard normal samples of the stream that each op names; 0 at nominal inputs."""
    taken, streams = pd.factorize(names)
    drawn = np.stack([independent(name, count, plan) for name in streams])
    return [RandomStreams(drawn[..., number].T, taken) for number in range(count)]


def independent(name: str, count: int, plan: RunPlan) -> Floats:
    """Standard normal samples (1 + draws × count) of streams of that name; 0 at nominal inputs."""
    return np.stack([standard(f"{name}.{number}", plan.draws, plan.seed) for number in range(count)], axis=1)


def _log_lengthening(stream: str, rate: Sourced | None, plan: RunPlan) -> Floats:
    if rate is None:
        return np.zeros(1 + plan.draws)
    return np.log(rate.value / draw_sourced(stream, rate, plan.draws, plan.seed))
