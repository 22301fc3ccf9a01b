"""What many devices make of a step: the slowest of them, samples per second, and the efficiency of their number.

weak scaling     each device keeps its part of the batch:   efficiency = t(1) / t(N)
strong scaling   the whole batch stays:                     efficiency = t(1) / (N · t(N))
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from statistics import NormalDist
from typing import Literal

import numpy as np

from estimator.core.errors import EstimatorError
from estimator.core.interval import draw
from estimator.core.notes import Note
from estimator.core.types import Floats, RunPlan, StepTime

Scaling = Literal["weak", "strong"]
# standard deviation of the logarithm of one device's step, within and between devices of a machine (assumed)
DEVICE_SPREAD = (0.002, 0.01, 0.03)


@dataclass(frozen=True)
class GroupStep:
    """The step of one of several devices; the time of all its messages [s]; notes on what is not known of them."""

    step: StepTime
    communication_s: Floats
    notes: tuple[Note, ...] = ()


@dataclass(frozen=True)
class Group:
    """The devices of one training: how many, on how many nodes, and the batch of each and of all."""

    devices: int
    nodes: int
    local_batch: int | None
    global_batch: int | None


def group_of(devices: int, per_node: int, scaling: Scaling, batch: int | None) -> Group:
    """A training on so many devices; ``batch``: of one device for weak scaling, of all for strong scaling.

    Raises EstimatorError where strong scaling does not divide the batch.
    """
    nodes = -(-devices // per_node)
    if batch is None:
        return Group(devices, nodes, None, None)
    if scaling == "weak":
        return Group(devices, nodes, batch, batch * devices)
    if batch % devices:
        expected = ", ".join(str(count) for count in range(1, min(batch, 4096) + 1) if batch % count == 0)
        raise EstimatorError(
            f"devices {devices}: the batch of {batch} cannot be divided among them; expected one of {expected}"
        )
    return Group(devices, nodes, batch // devices, batch)


def slowest_device(devices: int, plan: RunPlan) -> Floats:
    """How many times as long the slowest of so many devices takes, one number a draw.

    exp(σ · E[max of N normals]); the expectation by Blom, Statistical Estimates and Transformed Beta-Variables, 1958:
    Φ⁻¹((N − 0.375) / (N + 0.25)).
    """
    spread = draw("scaling.devices", *DEVICE_SPREAD, plan.draws, plan.seed)
    return np.exp(spread * NormalDist().inv_cdf((devices - 0.375) / (devices + 0.25)))


def with_slowest(step: StepTime, factor: Floats) -> StepTime:
    """The step with the wait for the slowest device, by whose factor all but communication is longer there."""
    waits_s = (factor - 1.0) * (step.total - step.communication_exposed)
    return replace(step, communication_exposed=step.communication_exposed + waits_s, total=step.total + waits_s)


def efficiency(alone_s: Floats, step_s: Floats, devices: int, scaling: Scaling) -> Floats:
    """Parallel efficiency: the time of one device over that of many, for the same work of each."""
    return alone_s / (step_s * (devices if scaling == "strong" else 1))
