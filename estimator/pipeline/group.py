"""The step of several devices that train together: that of one, replayed with the messages that they exchange."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from estimator.core.notes import Note, ranked
from estimator.core.parallel import MEANINGS, Split
from estimator.core.types import Estimate, Floats, Profile, RunPlan, StepTime
from estimator.devices.board import power_limit
from estimator.model import SourceRun, TargetDevice, peak_times, predict
from estimator.model.coefficients import shipped
from estimator.model.links import network_note
from estimator.pipeline.step import PredictedStep, estimate_predicted, predict_step
from estimator.rollup import power, step
from estimator.rollup.exchange import exchange_of, without_exchange
from estimator.rollup.scaling import (
    DEVICE_SPREAD,
    Group,
    GroupStep,
    Spread,
    describe_spread,
    lengthened,
    slowest_device,
)
from estimator.work.parallel import exchange, messages_as_work


@dataclass(frozen=True)
class OneDevice:
    """A device that trains by itself: its step, its mean power in it and its power without work [W], where known."""

    step: StepTime
    power_w: Floats | None = None
    idle_w: float | None = None


def one_device(predicted: PredictedStep) -> OneDevice:
    """A device by itself, without the messages that its profile recorded."""
    alone, device, plan = without_exchange(predicted.prediction), predicted.target.device, predicted.plan
    replayed, limit, c = (
        step.replay_step(alone, predicted.timeline, predicted.scenario),
        power_limit(device),
        shipped().power,
    )
    if limit is None:
        return OneDevice(replayed.step)
    power_w = power.step_power(alone, replayed, peak_times(alone.ops, device), device, limit, c, plan)
    return OneDevice(replayed.step, power_w, float(power.idle_power(limit.value, power.gddr_bytes(device), c)))


def estimate_group(profile: Profile, plan: RunPlan, group: Group, split: Split) -> Estimate:
    """The estimate of a training on several devices: of each of them, its step with all messages and waits.

    Evidence, floor, ceiling and kernels stay those of one device by itself.

    Raises EstimatorError as :func:`estimate` and :func:`step_of_group` do.
    """
    predicted = predict_step(profile, dataclasses.replace(plan, batch=group.local_batch))
    alone = one_device(predicted)
    together = step_of_group(predicted, alone.step, group, split)
    estimated = estimate_predicted(profile, predicted, split.divisors(group.devices))
    power_w = estimated.power_w
    if alone.power_w is not None and alone.idle_w is not None:
        power_w = power.waiting_power(alone.power_w, alone.idle_w, alone.step.total, together.step.total)
    notes = ranked((*estimated.notes, *together.notes, *_notes(predicted, group, split)))
    return dataclasses.replace(estimated, step=together.step, power_w=power_w, notes=notes)


def _notes(predicted: PredictedStep, group: Group, split: Split) -> Iterator[Note]:
    """How the devices share the training, how far they differ, and a network that nothing tells."""
    if group.devices > 1:
        yield Note("parallel", f"{group.devices} devices, {split}: {MEANINGS[split.data]}")
        yield Note("stragglers", describe_spread())
    if group.nodes > 1:
        yield from network_note(predicted.target.device)


def step_of_one(predicted: PredictedStep) -> StepTime:
    """The step of one device by itself."""
    alone = without_exchange(predicted.prediction)
    return step.replay_step(alone, predicted.timeline, predicted.scenario).step


def step_of_group(
    predicted: PredictedStep, one: StepTime, group: Group, split: Split, spread: Spread = DEVICE_SPREAD
) -> GroupStep:
    """The step of each of several devices; as :func:`steps_of_groups`."""
    return steps_of_groups(predicted, one, [group], split, spread)[0]


def steps_of_groups(
    predicted: PredictedStep, one: StepTime, groups: Sequence[Group], split: Split, spread: Spread = DEVICE_SPREAD
) -> list[GroupStep]:
    """The step of each device of several groups that train together, in the network of the target.

    Args:
        predicted: the step of one device, before its replay.
        one: the same, of :func:`step_of_one`.
        groups: the devices of each training.
        split: how they share it.
        spread: how far devices differ, as :func:`slowest_device` takes it.

    Raises EstimatorError where the profile does not tell what the devices exchange.
    """
    several = [group for group in groups if group.devices > 1]
    found = {group: GroupStep(one, 0.0 * one.total) for group in groups if group.devices == 1}
    if several:
        found |= _of_several(predicted, one, several, split, spread)
    return [found[group] for group in groups]


def _of_several(
    predicted: PredictedStep, one: StepTime, groups: Sequence[Group], split: Split, spread: Spread
) -> dict[Group, GroupStep]:
    """Groups of two devices and more: the timeline is laid out once, and replayed with the messages of each."""
    plan, sent = predicted.plan, exchange(predicted.work.work, predicted.profile.workload, split)
    target = TargetDevice(predicted.target.device, predicted.target.measurements)
    of_groups = [messages_as_work(sent.messages, group.devices) for group in groups]
    times_s = predict(pd.concat(of_groups, ignore_index=True), SourceRun(), target, plan).samples
    alone = without_exchange(predicted.prediction)
    together = exchange_of(alone, predicted.timeline, sent.messages, predicted.scenario)
    found = {}
    for group, own_s in zip(groups, np.split(times_s, len(groups), axis=1), strict=True):
        step_time = lengthened(one, together.total_s(own_s), slowest_device(group.devices, spread, plan))
        found[group] = GroupStep(step_time, own_s.sum(axis=1), sent.notes)
    return found
