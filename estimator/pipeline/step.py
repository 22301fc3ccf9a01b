"""The method: from a profile of one real training step to its time on a device that nobody can touch yet."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import pandas as pd

from estimator.core.notes import Note, ranked
from estimator.core.parallel import ALONE
from estimator.core.types import Estimate, Profile, RunPlan
from estimator.devices.recorded import recorded_devices
from estimator.devices.sides import load_source, load_target
from estimator.model import SourceRun, TargetDevice, peak_times, predict, specifications
from estimator.model.coefficients import shipped
from estimator.pipeline.memory import Part, check_memory
from estimator.pipeline.predicted_step import Devices, PredictedStep
from estimator.pipeline.step_notes import ranks_kept, step_notes
from estimator.rollup import power, step
from estimator.rollup.evidence import evidence_shares
from estimator.rollup.host import host_scenario, in_scenario, ran_on_processor
from estimator.rollup.limits import step_limits
from estimator.rollup.overlap import target_overlap
from estimator.rollup.schedule import replayed_schedule
from estimator.rollup.source_step import coverage
from estimator.work import select_pass, work_on_target
from estimator.work.framework_defaults import AUTO, product_format


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
    return replace(estimated, notes=ranked((*estimated.notes, *ranks_kept(predicted))))


def estimate_predicted(profile: Profile, predicted: PredictedStep, parts: Sequence[Part] = ()) -> Estimate:
    """The estimate of a predicted step, of one device; ``parts``: of which it holds one, where it is one of several.

    Raises EstimatorError as :func:`estimate` does.
    """
    plan = predicted.plan
    ran, device, work = predicted.profile, predicted.target.device, predicted.work
    prediction, scenario, timeline = predicted.prediction, predicted.scenario, predicted.timeline
    use, memory_notes = check_memory(parts or [(profile, ALONE)], ran, plan, device, work)

    comparable = ran.ran and not work.other_batch and plan.fused_trainings == 1
    replayed = predicted.replay()
    step.refuse_empty(replayed, scenario, ran.where)
    step.refuse_unexplained(ran, scenario)
    floor_s, ceiling_s = step_limits(prediction, timeline, scenario, replayed.step.total)
    peak_s = peak_times(prediction.ops, device)
    power_w = power.step_power(prediction, replayed, peak_s, device, shipped().power, plan)
    shares = evidence_shares(prediction, replayed, scenario)
    notes = step_notes(profile, predicted, memory_notes, replayed, shares, _in_framework_format(predicted))
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
        notes=ranked((*notes, *power.notes(device, power_w))),
    )


def _in_framework_format(predicted: PredictedStep) -> step.ReplayedStep | None:
    """The step in the format that the framework takes on the target; None where the plan or the profile has it."""
    ran, plan = predicted.profile, predicted.plan
    products = product_format(AUTO, ran.workload, predicted.target.device)
    if plan.precision is not None or not products.changes(predicted.work.work):
        return None
    return _predict_pass(ran, replace(plan, precision=AUTO, draws=0), predicted.devices).replay()


def step_schedule(profile: Profile, plan: RunPlan) -> pd.DataFrame:
    """REPLAYED: when every op of the step runs on the target of the plan, at nominal inputs.

    Raises EstimatorError as :func:`predict_step` does.
    """
    predicted = predict_step(profile, replace(plan, draws=0))
    return replayed_schedule(predicted.prediction, predicted.timeline, predicted.scenario)
