"""The method: from a profile of one real training step to its time on a device that nobody can touch yet."""

from __future__ import annotations

import dataclasses
import math

from estimator.core import units
from estimator.core.notes import Note, ranked, with_code
from estimator.core.types import DeviceSpec, Estimate, Profile, RunPlan
from estimator.devices.board import power_limit
from estimator.devices.sides import load_source, load_target, unknown_source
from estimator.model import SourceRun, TargetDevice, assumptions, peak_times, predict, specifications
from estimator.model.coefficients import shipped
from estimator.rollup import power, step
from estimator.rollup.host import host_scenario, ran_on_processor
from estimator.rollup.limits import step_limits
from estimator.work import select_pass, work_on_target
from estimator.work.framework_defaults import AUTO, product_format


def estimate(profile: Profile, plan: RunPlan) -> Estimate:
    """Predict the step time of a profiled training run on the target device of the plan.

    Raises EstimatorError where a device is unknown, the target lacks the precision asked for, or nothing of the step is
    left under the scenario.
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
    replayed = step.replay_step(prediction, timeline, scenario)
    step.refuse_empty(replayed, scenario, ran.where)
    floor_s, ceiling_s = step_limits(prediction, timeline, scenario, replayed.step.total)
    peak_times_s = peak_times(prediction.ops, device)
    limit = power_limit(device)
    power_w = power.step_power(prediction, replayed, peak_times_s, device, limit, shipped().power, plan)
    shares = step.evidence(prediction, replayed, scenario)

    notes = (
        *target.notes, *(source.notes if source else ()),
        *unknown_source(ran, plan, source, needed=step.mostly_proportional(prediction)),
        *with_code("profile", profile.warnings), *step.notes(profile),
        *assumptions(step.counted_ops(prediction, scenario), device, evidence, ran.workload, source_device),
        *pass_notes, *scenario.notes, *framework_default(ran, plan, device), *work.notes, *prediction.warnings,
        *(() if same_device else step.mostly_carried(shares, device)), *power.notes(device, power_w),
    )  # fmt: skip
    return Estimate(
        profile=ran,
        source=source_device,
        target=device,
        plan=plan,
        precision=work.precision,
        prediction=prediction,
        overlap=replayed.overlap,
        step=replayed.step,
        kernels_s=replayed.kernels_s,
        host=scenario.name,
        input=scenario.input,
        matrix_step_s=step.matrix_time(prediction, overlap),
        source_step_s=math.nan if work.other_batch else step.source_step_time(ran),
        floor_s=floor_s,
        ceiling_s=ceiling_s,
        coverage=prediction.covered_fraction * (step.coverage(ran) or 1.0),
        evidence=shares,
        fusion=work.saved,
        power_limit=limit,
        power_w=power_w,
        specifications=specifications(prediction.ops, device),
        notes=ranked(notes),
    )


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
