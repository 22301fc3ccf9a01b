"""The method: from a profile of one real training step to its time on a device that nobody can touch yet."""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass, field

import pandas as pd

from estimator.core import units
from estimator.core.errors import EstimatorError
from estimator.core.notes import Note, ranked, with_code
from estimator.core.parallel import Split
from estimator.core.types import DeviceSpec, Estimate, Floats, MemoryUse, Prediction, Profile, RunPlan, StepTime
from estimator.devices import load_device
from estimator.devices.sides import Side, load_source, load_target, unknown_source
from estimator.model import SourceRun, TargetDevice, assumptions, predict, specifications
from estimator.rollup import memory as memory_of_parts
from estimator.rollup import step
from estimator.rollup.exchange import with_exchange, with_messages, without_exchange
from estimator.rollup.host import HostScenario, host_scenario, ran_on_processor
from estimator.rollup.limits import step_limits
from estimator.rollup.scaling import DEVICE_SPREAD, Group, GroupStep, Spread, lengthened, slowest_device
from estimator.rollup.target_timeline import StepTimeline
from estimator.work import (
    WorkOnTarget,
    count_work,
    select_pass,
    step_tensors,
    step_variables,
    tensors_at_two_batches,
    work_on_target,
)
from estimator.work.framework_defaults import AUTO, product_format
from estimator.work.on_target import matrix_precision
from estimator.work.parallel import exchange, messages_as_work


@dataclass(frozen=True)
class PredictedStep:
    """A step on the target before its replay: its devices and its work, the times of its ops, its timeline and host."""

    profile: Profile  # of the pass that runs
    plan: RunPlan
    target: Side
    source: Side | None
    same_device: bool
    evidence: pd.DataFrame = field(repr=False)  # MEASUREMENTS of the target that may correct its models
    work: WorkOnTarget
    prediction: Prediction
    overlap: Floats = field(repr=False)
    scenario: HostScenario
    timeline: StepTimeline
    notes: tuple[Note, ...]

    @property
    def source_device(self) -> DeviceSpec | None:
        """The device that was profiled; None where nothing tells."""
        return self.source.device if self.source else None


def predict_step(profile: Profile, plan: RunPlan) -> PredictedStep:
    """Predict the ops of a profiled step on the target device of the plan, and lay out its timeline there.

    Raises EstimatorError where a device is unknown, or the target lacks the precision asked for.
    """
    target = load_target(plan)
    source = load_source(profile, plan, target)
    device, source_device = target.device, source.device if source else None

    ran, pass_notes = select_pass(profile, plan.mode)
    work = work_on_target(ran, plan, device, from_processor=ran_on_processor(ran, source_device))

    same_device = (source_device.name if source_device else ran.device) in (device.name, *device.aliases)
    same_setting = same_device and not work.changed
    evidence = target.measurements.iloc[:0] if same_setting else target.measurements  # its own times need no other
    measured = source.measurements if source and len(target.measurements) else None
    run = SourceRun(source_device, measured, work.profiled, ran.step_spread)
    prediction = predict(work.work, run, TargetDevice(device, evidence, same_setting), plan)

    scenario = host_scenario(ran, source_device, device, plan, prediction.run, same_device)
    overlap = step.target_overlap(prediction, ran, device, same_setting)
    timeline = step.step_timeline(ran, prediction, scenario, overlap)
    notes = (*pass_notes, *scenario.notes, *work.notes)
    return PredictedStep(
        ran, plan, target, source, same_device, evidence, work, prediction, overlap, scenario, timeline, notes
    )


def estimate(profile: Profile, plan: RunPlan) -> Estimate:
    """Predict the step time of a profiled training run on the target device of the plan.

    Raises EstimatorError as :func:`predict_step` does, and where nothing of the step is left under the scenario.
    """
    predicted = predict_step(profile, plan)
    ran, device, work = predicted.profile, predicted.target.device, predicted.work
    prediction, scenario, timeline = predicted.prediction, predicted.scenario, predicted.timeline
    memory_notes = check_memory(profile, ran, plan, device, work)

    replayed = step.replay_step(prediction, timeline, scenario)
    step.refuse_empty(replayed, scenario, ran.where)
    floor_s, ceiling_s = step_limits(prediction, timeline, scenario, replayed.step.total)
    shares = step.evidence(prediction, replayed, scenario)

    notes = (
        *predicted.target.notes, *(predicted.source.notes if predicted.source else ()),
        *unknown_source(ran, plan, predicted.source, needed=step.mostly_proportional(prediction)),
        *with_code("profile", profile.warnings), *step.notes(profile),
        *assumptions(
            step.counted_ops(prediction, scenario), device, predicted.evidence, ran.workload, predicted.source_device
        ),
        *predicted.notes, *memory_notes, *framework_default(ran, plan, device), *prediction.warnings,
        *(() if predicted.same_device else step.mostly_carried(shares, device)),
    )  # fmt: skip
    return Estimate(
        profile=ran,
        source=predicted.source_device,
        target=device,
        plan=plan,
        precision=work.precision,
        prediction=prediction,
        overlap=replayed.overlap,
        step=replayed.step,
        kernels_s=replayed.kernels_s,
        host=scenario.name,
        input=scenario.input,
        matrix_step_s=step.matrix_time(prediction, predicted.overlap),
        source_step_s=math.nan if work.other_batch else step.source_step_time(ran),
        floor_s=floor_s,
        ceiling_s=ceiling_s,
        coverage=prediction.covered_fraction * (step.coverage(ran) or 1.0),
        evidence=shares,
        fusion=work.saved,
        specifications=specifications(prediction.ops, device),
        notes=ranked(notes),
    )


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


def memory(profile: Profile, plan: RunPlan, split: memory_of_parts.Split | None = None) -> MemoryUse:
    """What a device must hold to train a profiled run, and the largest batch that it has room for.

    Args:
        profile: the run.
        plan: batch, mode and precision, and the target; without a target's name, the tensors alone.
        split: by which number a parallel training divides each part.

    Raises EstimatorError where nothing tells the parameters.
    """
    device = load_device(plan.target) if plan.target else None
    ran, _ = select_pass(profile, plan.mode)
    asked = plan.precision if device is None else product_format(plan.precision, ran.workload, device).precision
    work = count_work(ran.ops, ran.workload, ran.where).work
    variables = step_variables(work, ran.workload, asked or matrix_precision(work, ran.workload))
    at_batches = tuple(tensors_at_two_batches(work, ran.workload, plan.batch, asked))
    return memory_of_parts.memory_use(at_batches, variables, ran.workload, device, plan, split or {})


def check_memory(
    profile: Profile, ran: Profile, plan: RunPlan, device: DeviceSpec, work: WorkOnTarget
) -> tuple[Note, ...]:
    """Notes on whether the device has room for the step. Raises DoesNotFitError, with what would fit."""
    batch = plan.batch or ran.workload.batch_size
    workload = ran.workload.model_copy(update={"batch_size": batch})
    try:
        variables = step_variables(work.resized, workload, work.precision)
    except EstimatorError:
        return (Note("memory-unchecked", "nothing tells the parameters: whether the step fits memory is not checked"),)
    asked = product_format(plan.precision, workload, device).precision
    at_batch = ((batch or 0, step_tensors(work.resized, workload, asked)),)
    use = memory_of_parts.memory_use(at_batch, variables, workload, device, plan, {})
    if memory_of_parts.exceeds(use):
        use = memory(profile, plan)
    return memory_of_parts.check_fits(use, device, workload)


def framework_default(profile: Profile, plan: RunPlan, target: DeviceSpec) -> tuple[Note, ...]:
    """A note on the step in the format that the framework takes on the target, where a plan keeps the profile's."""
    if plan.precision is not None or product_format(AUTO, profile.workload, target).precision is None:
        return ()
    by_default = estimate(profile, dataclasses.replace(plan, precision=AUTO, draws=0))
    text = (
        f"{profile.workload.framework} takes {by_default.precision} for products there by default ('precision auto'): "
        f"the step would take {units.show(float(by_default.step.total[0]), 's', 3)}"
    )
    return (Note("precision-by-default", text, subject=target.name),)
