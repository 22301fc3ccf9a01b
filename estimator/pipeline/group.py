"""The step of several devices that train together: that of one, replayed with the messages that they exchange."""

from __future__ import annotations

from estimator.core.parallel import Split
from estimator.core.types import StepTime
from estimator.model import SourceRun, TargetDevice, predict
from estimator.pipeline.step import PredictedStep
from estimator.rollup import step
from estimator.rollup.exchange import with_exchange, with_messages, without_exchange
from estimator.rollup.scaling import DEVICE_SPREAD, Group, GroupStep, Spread, lengthened, slowest_device
from estimator.work.parallel import exchange, messages_as_work


def step_of_one(predicted: PredictedStep) -> StepTime:
    """The step of one device by itself: without the messages that its profile recorded."""
    alone = without_exchange(predicted.prediction)
    return step.replay_step(alone, predicted.timeline, predicted.scenario).step


def step_of_group(
    predicted: PredictedStep, one: StepTime, group: Group, split: Split, spread: Spread = DEVICE_SPREAD
) -> GroupStep:
    """The step of each of several devices that train together, in the network of the target.

    Args:
        predicted: the step of one device, before its replay.
        one: the same, of :func:`step_of_one`.
        group: the devices.
        split: how they share the training.
        spread: how far devices differ, as :func:`slowest_device` takes it.

    Raises EstimatorError where the profile does not tell what the devices exchange.
    """
    if group.devices == 1:
        return GroupStep(one, 0.0 * one.total)
    exchanged = exchange(predicted.work.work, predicted.profile.workload, split)
    target = TargetDevice(predicted.target.device, predicted.target.measurements)
    sent = predict(messages_as_work(exchanged.messages, group.devices), SourceRun(), target, predicted.plan)
    together = with_exchange(without_exchange(predicted.prediction), sent)
    total_s = step.replay_total(together, with_messages(predicted.timeline, exchanged.messages), predicted.scenario)
    slowest = slowest_device(group.devices, spread, predicted.plan)
    return GroupStep(lengthened(one, total_s, slowest), sent.samples.sum(axis=1), exchanged.notes)
