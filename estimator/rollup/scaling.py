"""What many devices make of a step: the slowest of them, samples per second, and the efficiency of their number.

weak scaling     each copy of the model, on M devices, keeps its batch:   efficiency = t(1) / (M · t(N))
strong scaling   the whole batch stays:                                   efficiency = t(1) / (N · t(N))
"""

from __future__ import annotations

import math
from bisect import bisect_left
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np

from estimator.core.errors import EstimatorError
from estimator.core.interval import draw
from estimator.core.notes import Note
from estimator.core.parallel import WHOLE, Split
from estimator.core.types import Floats, Profile, RunPlan, StepTime
from estimator.core.units import plural

Scaling = Literal["weak", "strong"]
Spread = tuple[float, float, float]  # low, mid and high
# tokens of the busiest part of the experts over the mean of all parts. Trained with a loss that balances them, experts
# get room for 1 to 1.5 times the mean (Fedus et al., Switch Transformers, 2021, sections 2.2 and 5); the mid is assumed
BUSIEST_EXPERTS: Spread = (1.0, 1.1, 1.5)


@dataclass(frozen=True)
class Spreads:
    """How far the steps of devices differ: standard deviations of their logarithm.

    ``devices``: of one device from another, in the whole machine. ``loads``: of what the devices of one node get to do;
    published trainings on many nodes bear no more.
    """

    devices: Spread
    loads: Spread
    why: str = ""  # loads differ

    def __str__(self) -> str:
        return (
            f"steps differ by {_per_cent(self.devices)} between devices, and by {_per_cent(self.loads)} within a node "
            f"because of {self.why}; the slowest device sets the step"
        )


def _per_cent(spread: Spread) -> str:
    low, mid, high = (100 * each for each in spread)
    return f"{mid:g} % ({low:g} to {high:g} %)"


# Chosen by eye. Loads: most of what published trainings on several devices of one node take beyond the step of one and
# their messages ('estimator validate --problem scaling' learns its own from these rows). Devices: so that trainings on
# more nodes lie in their intervals ('--problem clusters --problem megatron-nodes')
UNEVEN = Spreads((0.005, 0.025, 0.1), loads=(0.005, 0.015, 0.24), why="uneven samples and a shared host")
# the sequences of layers have one length ('--problem language-models --problem megatron')
EVEN = Spreads(UNEVEN.devices, loads=(0.005, 0.015, 0.06), why="a shared host")
NO_SPREAD = Spreads((1e-9,) * 3, loads=(1e-9,) * 3)  # no device is slower than another; draws divide by the low end


@dataclass(frozen=True)
class GroupStep:
    """The step of one of several devices; the time of all its messages [s]; notes on what is not known of them."""

    step: StepTime
    communication_s: Floats
    notes: tuple[Note, ...] = ()


@dataclass(frozen=True)
class Group:
    """The devices of one training."""

    devices: int
    nodes: int
    local_batch: int | None  # of each copy of the model
    global_batch: int | None  # of all copies
    model_devices: int = 1  # of one copy
    micro_batch: int | None = None  # samples that a copy computes at once; None: its whole batch
    per_node: int | None = field(default=None, compare=False)  # devices of a full node; None: all nodes have as many

    @property
    def copies(self) -> int:
        """Copies of the model."""
        return self.devices // self.model_devices

    @property
    def of_node(self) -> int:
        """Devices in the fullest node."""
        return min(self.per_node or -(-self.devices // self.nodes), self.devices)

    @property
    def at_once(self) -> int | None:
        """Samples that a copy computes at once."""
        return self.micro_batch or self.local_batch

    @property
    def micro_batches(self) -> int:
        """How many of these make the batch of a copy."""
        return (self.local_batch // self.micro_batch) if self.local_batch and self.micro_batch else 1


def group_of(
    devices: int, per_node: int, scaling: Scaling, batch: int | None, split: Split = WHOLE, of_copy: int = 1
) -> Group:
    """A training on so many devices.

    ``batch``: of one copy of the model for weak scaling, of all for strong scaling. ``of_copy``: ranks of the profile
    that hold one copy together, each with its own part of every split. Stages of a pipeline compute one sample at once
    where the split does not say how many. Raises EstimatorError where copies do not divide the devices or, for strong
    scaling, the batch; micro-batches the batch of a copy; or the stages of an interleaved pipeline the micro-batches.
    """
    if devices % of_copy:
        raise EstimatorError(
            f"devices {devices}: {of_copy} ranks of the profile hold one copy of the model; expected a multiple"
        )
    copies = split.copies(devices // of_copy)
    micro_batch = 1 if split.leaves_micro_batch else split.micro_batch
    nodes, model_devices = -(-devices // per_node), split.model_devices * of_copy
    if batch is None:
        return Group(devices, nodes, None, None, model_devices, micro_batch, per_node)
    local_batch = batch if scaling == "weak" else _divided(batch, devices, copies)
    if local_batch % (micro_batch or 1):
        raise EstimatorError(
            f"micro={micro_batch}: it does not divide the {local_batch} samples of a copy on {devices} "
            f"{plural('device', devices)}; expected a divisor"
        )
    _check_rounds(local_batch // (micro_batch or local_batch), devices, split)
    return Group(devices, nodes, local_batch, local_batch * copies, model_devices, micro_batch, per_node)


def refuse_fewer(devices: int, parts: int) -> None:
    """Raise EstimatorError for fewer devices than the ranks of a profile that exchange parts of one model."""
    if devices < parts:
        raise EstimatorError(
            f"devices {devices}: {parts} ranks of the profile exchange parts of one model; expected at least as many"
        )


def _check_rounds(micro_batches: int, devices: int, split: Split) -> None:
    """Raises EstimatorError where interleaved stages have no whole rounds of micro-batches.

    Source: Narayanan et al., 2021, section 2.2.2.
    """
    if split.interleave > 1 and micro_batches % split.pipeline:
        what, more = ("sample(s)", "") if split.leaves_micro_batch else ("micro-batch(es)", " and micro=N")
        raise EstimatorError(
            f"interleave={split.interleave}: a copy on {devices} devices has {micro_batches} {what}; expected a "
            f"multiple of pipeline={split.pipeline}, by --batch (batch_size in a study){more}"
        )


def _divided(batch: int, devices: int, copies: int) -> int:
    """The part of the batch of each copy. Raises EstimatorError where it is no whole number."""
    if batch % copies:
        expected = " or ".join(str(count * (devices // copies)) for count in _nearest_divisors(batch, copies))
        raise EstimatorError(
            f"devices {devices}: the batch of {batch} cannot be divided among them; expected, for example, {expected}"
        )
    return batch // copies


def _nearest_divisors(whole: int, part: int) -> list[int]:
    """The divisors of a whole number next to one that is none: one below, and one above if there is."""
    every = divisors(whole)
    place = bisect_left(every, part)
    return every[place - 1 : place + 1]


def divisors(whole: int) -> list[int]:
    """The divisors of a whole number, smallest first."""
    small = [count for count in range(1, math.isqrt(whole) + 1) if whole % count == 0]
    return sorted({*small, *(whole // count for count in small)})


def spreads_of(profile: Profile) -> Spreads:
    """How far devices differ on the step of a profile."""
    return UNEVEN if profile.ran else EVEN


def drawn_spread(spread: Spread, draws: int, seed: int) -> Floats:
    """How far the devices of a machine differ, one number a draw."""
    return draw("scaling.devices", *spread, draws, seed)


def slowest_device(devices: int, of_node: int, spreads: Spreads, plan: RunPlan) -> Floats:
    """How many times as long the slowest of so many devices takes, one number a draw.

    exp(σ_d · z(devices) + σ_l · z(of_node)), z(N) = E[max of N normals]; ``of_node``: those of them in one node.
    """
    of_devices = drawn_spread(spreads.devices, plan.draws, plan.seed)
    of_loads = draw("scaling.loads", *spreads.loads, plan.draws, plan.seed)
    return np.exp(of_devices * expected_maximum(devices) + of_loads * expected_maximum(of_node))


def busiest_experts(plan: RunPlan) -> Floats:
    """How many times the mean of all tokens the busiest part of the experts gets, one number a draw."""
    return np.maximum(draw("scaling.experts", *BUSIEST_EXPERTS, plan.draws, plan.seed), 1.0)


def expected_maximum(count: float) -> float:
    """The largest of so many standard normal numbers, as expected: Φ⁻¹((N − 0.375) / (N + 0.25)).

    Source: Blom, Statistical Estimates and Transformed Beta-Variables, 1958.
    """
    from statistics import NormalDist  # only where there are many devices: start-up

    return NormalDist().inv_cdf((count - 0.375) / (count + 0.25))


def lengthened(one: StepTime, total_s: Floats, slowest: Floats) -> StepTime:
    """The step of each of many devices: communication is exposed as far as it lengthens the step of one.

    Args:
        one: the step of one device by itself.
        total_s: the same with all messages, no device being slower than another [s].
        slowest: how many times as long the slowest device takes; all others wait for it.
    """
    total_s = np.maximum(total_s, one.total) + (slowest - 1.0) * one.total
    exposed_s = one.communication_exposed + (total_s - one.total)
    return replace(one, communication_exposed=exposed_s, total=total_s)


def efficiency(alone_s: Floats, step_s: Floats, parts: float) -> Floats:
    """Parallel efficiency: the time of one device over that of all of its share.

    ``parts``: devices that share the batch of the one: all of them for strong scaling, those of a copy for weak.
    """
    return alone_s / (step_s * parts)
