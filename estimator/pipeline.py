"""The method: from a profile of one real training step to its time on a device that nobody can touch yet."""

from __future__ import annotations

import dataclasses
import math

import pandas as pd

from estimator.core import units
from estimator.core.interval import bounds
from estimator.core.notes import Note, ranked, with_code
from estimator.core.schema import MATRIX
from estimator.core.types import DeviceSpec, Estimate, Profile, RunPlan, Workload
from estimator.devices.sides import load_source, load_target, unknown_source
from estimator.model import SourceRun, TargetDevice, assumptions, predict, specifications
from estimator.rollup import step
from estimator.rollup.host import host_scenario, ran_on_processor
from estimator.rollup.limits import step_limits
from estimator.work import (
    convert_layout,
    convert_precision,
    count_work,
    fuse,
    merge_normalizations,
    rebatch,
    select_pass,
)
from estimator.work.framework_defaults import AUTO, has_library_normalization, image_layout, product_format


def estimate(profile: Profile, plan: RunPlan) -> Estimate:
    """Predict the step time of a profiled training run on the target device of the plan.

    Raises EstimatorError where a device is unknown, or the target lacks the precision asked for.
    """
    target = load_target(plan)
    source = load_source(profile, plan, target)

    as_profiled = profile
    profile, pass_notes = select_pass(profile, plan.mode)
    workload = profile.workload
    counted = count_work(profile.ops, workload, profile.where)
    resized = rebatch(counted.work, workload, plan.batch)
    by_library = has_library_normalization(workload, target.device) and ran_on_processor(
        profile, source.device if source else None
    )
    merged = merge_normalizations(resized.work, workload, by_library=by_library)
    products = product_format(plan.precision, workload, target.device)
    converted = convert_precision(
        merged.work, workload, products.precision, products.op_classes, folded=plan.fusion != "none"
    )
    fused = fuse(converted.work, workload, plan.fusion)
    laid_out = convert_layout(fused.work, workload, image_layout(plan.layout, workload, target.device))
    transforms = (counted, resized, merged, converted, fused, laid_out)

    same_device = (source.device.name if source else profile.device) in (target.device.name, *target.device.aliases)
    same_setting = same_device and not any(transform.changed for transform in transforms[1:])
    evidence = target.measurements.iloc[:0] if same_setting else target.measurements  # its own times need no other
    run = SourceRun(
        device=source.device if source else None,
        measurements=source.measurements if source and len(target.measurements) else None,
        profiled=counted.work,
        step_spread=profile.step_spread,
    )
    prediction = predict(laid_out.work, run, TargetDevice(target.device, evidence, same_setting), plan)

    scenario = host_scenario(profile, run.device, target.device, plan, prediction.run, same_device)
    overlap = step.target_overlap(prediction, profile, target.device, same_setting)
    timeline = step.step_timeline(profile, prediction, scenario, overlap)
    floor_s, ceiling_s = step_limits(prediction, timeline, scenario)
    replayed = step.replay_step(prediction, timeline, scenario)
    evidence_shares = step.evidence(prediction, replayed, scenario)
    unknown = unknown_source(profile, plan, source, needed=step.mostly_proportional(prediction))
    basis = assumptions(prediction.ops, target.device, evidence, workload, run.device)
    notes = (
        *target.notes, *(source.notes if source else ()), *unknown,
        *with_code("profile", as_profiled.warnings), *step.notes(as_profiled), *basis, *pass_notes,
        *scenario.notes, *framework_default(profile, plan, target.device),
        *(note for transform in transforms for note in transform.notes),
        *prediction.warnings,
        *(() if same_device else step.mostly_carried(evidence_shares, target.device)),
    )  # fmt: skip
    return Estimate(
        profile=profile,
        source=source.device if source else None,
        target=target.device,
        plan=plan,
        precision=products.precision or matrix_precision(counted.work, workload),
        prediction=prediction,
        overlap=replayed.overlap,
        step=replayed.step,
        kernels_s=replayed.kernels_s,
        host=scenario.name,
        input=scenario.input,
        matrix_step_s=step.matrix_time(prediction, overlap),
        source_step_s=math.nan if resized.changed else step.source_step_time(profile),
        floor_s=floor_s,
        ceiling_s=max(ceiling_s, float(bounds(replayed.step.total)[2])),  # quantiles do not add up
        coverage=prediction.covered_fraction * (step.coverage(profile) or 1.0),
        evidence=evidence_shares,
        fusion=fused.saved,
        specifications=specifications(prediction.ops, target.device),
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


def matrix_precision(work: pd.DataFrame, workload: Workload) -> str:
    """The precision of the matrix products of a WORK table, ``bf16/fp32`` where there are several."""
    found = work.loc[work["op_class"].isin(MATRIX), "precision"].unique()
    return "/".join(sorted(found)) or workload.precision
