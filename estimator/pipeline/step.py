"""The method: from a profile of one real training step to its time on a device that nobody can touch yet."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import pandas as pd

from estimator.core import units
from estimator.core.notes import Note, ranked, with_code
from estimator.core.parallel import ALONE
from estimator.core.types import DeviceSpec, Estimate, Floats, Network, Prediction, Profile, RunPlan
from estimator.devices.recorded import recorded_devices
from estimator.devices.sides import Side, load_source, load_target, unknown_source
from estimator.model import SourceRun, TargetDevice, assumptions, peak_times, predict, specifications
from estimator.model.coefficients import shipped
from estimator.model.links import link_note
from estimator.pipeline.memory import Part, check_memory
from estimator.rollup import power, step
from estimator.rollup.evidence import evidence_shares, host_notes, mostly_carried, mostly_dispatch, mostly_proportional
from estimator.rollup.host import HostScenario, host_scenario, in_scenario, ran_on_processor
from estimator.rollup.limits import step_limits
from estimator.rollup.overlap import target_overlap
from estimator.rollup.schedule import replayed_schedule
from estimator.rollup.source_step import coverage, coverage_notes
from estimator.rollup.target_timeline import StepTimeline
from estimator.work import WorkOnTarget, select_pass, work_on_target
from estimator.work.framework_defaults import AUTO, product_format
from estimator.work.messages import recorded_ranks


class Devices(NamedTuple):
    """The devices of a prediction."""

    target: Side
    source: Side | None  # None where nothing tells it, and where nothing ran
    source_candidates: tuple[DeviceSpec, ...]  # devices that the profile may have been taken on


@dataclass(frozen=True)
class PredictedStep:
    """A step on the target before its replay: its devices and its work, the times of its ops, its timeline and host."""

    profile: Profile  # of the pass that runs
    plan: RunPlan
    devices: Devices
    same_device: bool
    evidence: pd.DataFrame = field(repr=False)  # MEASUREMENTS of the target that may correct its models
    work: WorkOnTarget
    prediction: Prediction
    overlap: Floats = field(repr=False)
    scenario: HostScenario
    timeline: StepTimeline
    pass_notes: tuple[Note, ...]

    def without_measurements(self) -> PredictedStep:
        """The same without the target's measurements: none corrects messages that are predicted later."""
        return self._with_target(replace(self.target, measurements=self.target.measurements.iloc[:0]))

    def in_network(self, network: Network) -> PredictedStep:
        """The same, with the target's devices in another network."""
        device = self.target.device.model_copy(update={"network": network})
        return self._with_target(replace(self.target, device=device))

    def _with_target(self, target: Side) -> PredictedStep:
        return replace(self, devices=self.devices._replace(target=target))

    @property
    def target(self) -> Side:
        """The device that the step is predicted on."""
        return self.devices.target

    @property
    def source_device(self) -> DeviceSpec | None:
        """The device that was profiled; None where nothing tells."""
        return self.devices.source.device if self.devices.source else None


def predict_step(profile: Profile, plan: RunPlan) -> PredictedStep:
    """Predict the ops of a profiled step on the target device of the plan, and lay out its timeline there.

    Raises EstimatorError where a device is unknown, or the target lacks the precision asked for.
    """
    target = load_target(plan)
    candidates = recorded_devices(profile)
    source = load_source(profile, plan, target, candidates) if profile.ran else None
    ran, pass_notes = select_pass(profile, plan.mode)
    return _predict_pass(ran, plan, Devices(target, source, candidates), pass_notes)


def _predict_pass(ran: Profile, plan: RunPlan, devices: Devices, pass_notes: tuple[Note, ...] = ()) -> PredictedStep:
    """The ops of the pass that runs, on the target; ``pass_notes``: on the choice of the pass."""
    target, source, _ = devices
    device, source_device = target.device, source.device if source else None
    work = work_on_target(ran, plan, device, from_processor=ran_on_processor(ran, source_device))

    same_device = device.is_called((source_device.name if source_device else ran.device) or "")
    same_setting = same_device and not work.changed
    evidence = target.measurements.iloc[:0] if same_setting else target.measurements  # its own times need no other
    measured = source.measurements if source and len(target.measurements) else None
    siblings = source.siblings if source else tuple
    run = SourceRun(source_device, measured, work.profiled, ran.step_spread, as_large=work.as_large, siblings=siblings)
    prediction = predict(work.work, run, TargetDevice(device, evidence, target.siblings, same_setting), plan)

    scenario = host_scenario(ran, source_device, device, plan, prediction.run, same_device)
    overlap = target_overlap(prediction, ran, device, same_setting)
    prediction = in_scenario(prediction, scenario)
    timeline = step.step_timeline(ran, prediction, scenario, overlap)
    return PredictedStep(
        profile=ran,
        plan=plan,
        devices=devices,
        same_device=same_device,
        evidence=evidence,
        work=work,
        prediction=prediction,
        overlap=overlap,
        scenario=scenario,
        timeline=timeline,
        pass_notes=pass_notes,
    )


def estimate(profile: Profile, plan: RunPlan) -> Estimate:
    """Predict the step time of a profiled training run on the target device of the plan.

    Raises EstimatorError as :func:`predict_step` does, where the target's memory cannot hold the step, and where
    nothing of it is left under the scenario.
    """
    predicted = predict_step(profile, plan)
    estimated = estimate_predicted(profile, predicted)
    return replace(estimated, notes=ranked((*estimated.notes, *_ranks_kept(predicted))))


def _ranks_kept(predicted: PredictedStep) -> tuple[Note, ...]:
    """Notes on the ranks of a profile that exchange messages, and on the links that these are taken to pass."""
    ranks, device = recorded_ranks(predicted.work.work, predicted.profile), predicted.target.device
    if ranks.world == 1:
        return ()
    known = device.network.linked_devices if device.network else None
    joined = f"connect {min(known, ranks.world)}" if known else f"are taken to connect {ranks.world}"
    text = f"the step is of one of {ranks.world} ranks, as profiled: links of {device.name} {joined} of them"
    return (Note("ranks-kept", text, subject=device.name), *link_note(device))


def estimate_predicted(profile: Profile, predicted: PredictedStep, parts: Sequence[Part] = ()) -> Estimate:
    """The estimate of a predicted step, of one device; ``parts``: of which it holds one, where it is one of several.

    Raises EstimatorError as :func:`estimate` does.
    """
    plan = predicted.plan
    ran, device, work = predicted.profile, predicted.target.device, predicted.work
    prediction, scenario, timeline = predicted.prediction, predicted.scenario, predicted.timeline
    use, memory_notes = check_memory(parts or [(profile, ALONE)], ran, plan, device, work)

    comparable = ran.ran and not work.other_batch and plan.fused_trainings == 1
    replayed = step.replay_step(prediction, timeline, scenario)
    step.refuse_empty(replayed, scenario, ran.where)
    step.refuse_unexplained(ran, scenario)
    floor_s, ceiling_s = step_limits(prediction, timeline, scenario, replayed.step.total)
    peak_s = peak_times(prediction.ops, device)
    power_w = power.step_power(prediction, replayed, peak_s, device, shipped().power, plan)
    shares = evidence_shares(prediction, replayed, scenario)
    notes = (*_notes(profile, predicted, memory_notes, replayed, shares), *power.notes(device, power_w))
    return Estimate(
        profile=ran,
        source=predicted.source_device,
        target=device,
        plan=plan,
        precision=work.precision,
        prediction=prediction,
        overlap=replayed.overlap,
        running_s=replayed.running_s,
        step=replayed.step,
        kernels_s=replayed.kernels_s,
        host=scenario.name,
        input=scenario.input,
        matrix_step_s=step.matrix_time(prediction, predicted.overlap, scenario),
        source_step_s=step.source_time(ran, prediction, timeline, scenario) if comparable else math.nan,
        floor_s=floor_s,
        ceiling_s=ceiling_s,
        coverage=prediction.covered_fraction * (coverage(ran) or 1.0) if ran.ran else math.nan,
        evidence=shares,
        fusion=work.saved,
        memory=use,
        power_w=power_w,
        specifications=specifications(prediction.ops, device),
        notes=ranked(notes),
    )


def _notes(
    profile: Profile,
    predicted: PredictedStep,
    of_memory: Sequence[Note],
    replayed: step.ReplayedStep,
    shares: Mapping[str, float],
) -> list[Note]:
    """What a reader should know of the devices, the profile, the work and the step."""
    ran, devices, prediction = predicted.profile, predicted.devices, predicted.prediction
    device, plan, scenario = devices.target.device, predicted.plan, predicted.scenario
    needed = mostly_proportional(prediction)
    return [
        *devices.target.notes,
        *(devices.source.notes if devices.source else ()),
        *unknown_source(ran, plan, devices.source, devices.source_candidates, needed=needed),
        *with_code("profile", profile.warnings),
        *coverage_notes(profile),
        *assumptions(prediction.ops, device, predicted.evidence, predicted.source_device),
        *predicted.pass_notes,
        *of_memory,
        *scenario.notes,
        *host_notes(ran, prediction, predicted.timeline, replayed, scenario, plan),
        *framework_default(predicted, replayed),
        *predicted.work.notes,
        *prediction.warnings,
        *(() if predicted.same_device else mostly_carried(shares, device)),
        *mostly_dispatch(shares, replayed, device),
    ]


def framework_default(predicted: PredictedStep, kept: step.ReplayedStep) -> tuple[Note, ...]:
    """A note on the step in the format that the framework takes on the target, where a plan keeps the profile's.

    Both are steps of one device, also where it is one of several; ``kept``: the one in the profile's format.
    """
    ran, plan, target = predicted.profile, predicted.plan, predicted.target.device
    products = product_format(AUTO, ran.workload, target)
    if plan.precision is not None or not products.changes(predicted.work.work):
        return ()
    by_default = _predict_pass(ran, replace(plan, precision=AUTO, draws=0), predicted.devices)  # need not fit
    replayed = step.replay_step(by_default.prediction, by_default.timeline, by_default.scenario)
    step_s = _in_place_of(replayed.step.total, kept.step.total)
    kernels_s = _in_place_of(replayed.kernels_s, kept.kernels_s)
    headline = (
        f"{products.covered(predicted.work.work)} keep the profile's number format; "
        f"{ran.workload.framework or 'the framework'} would take {products.precision} on this device ('precision auto')"
    )
    of_batch = f" of batch {batch}" if (batch := plan.batch or ran.workload.batch_size) else ""
    details = f": a step{of_batch} of one device would then take {step_s}, its kernels alone {kernels_s}"
    return (Note("precision-by-default", headline + details, subject=target.name, details=details),)


def _in_place_of(then_s: Floats, now_s: Floats) -> str:
    """Two nominal times in words, or that they are equal."""
    then, now = (units.show(float(each[0]), "s", 3) for each in (then_s, now_s))
    return f"{then} as before" if then == now else f"{then} in place of {now}"


def step_schedule(profile: Profile, plan: RunPlan) -> pd.DataFrame:
    """REPLAYED: when every op of the step runs on the target of the plan, at nominal inputs.

    Raises EstimatorError as :func:`predict_step` does.
    """
    predicted = predict_step(profile, replace(plan, draws=0))
    return replayed_schedule(predicted.prediction, predicted.timeline, predicted.scenario)
