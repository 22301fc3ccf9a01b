"""The method: from a profile of one real training step to its time on a device that nobody can touch yet."""

from __future__ import annotations

import math

import pandas as pd

from estimator.core.schema import MATRIX
from estimator.core.types import Estimate, Profile, RunPlan, Workload
from estimator.devices import doubts, load_device, source_device
from estimator.devices.measurements import read_measurements, with_launch
from estimator.model import SourceRun, TargetDevice, assumptions, predict, specifications
from estimator.rollup import step
from estimator.work import count_work, cross, fuse, in_mode, rebatch, relay


def estimate(profile: Profile, plan: RunPlan) -> Estimate:
    """Predict the step time of a profiled training run on the target device of the plan.

    Raises EstimatorError where a device is unknown, or the target lacks the precision asked for.
    """
    source = load_device(plan.source) if plan.source else source_device(profile.device)
    target = load_device(plan.target)
    measurements, left_out = read_measurements(target, plan.measurements, plan.target)
    target = with_launch(target, measurements)
    at_source: pd.DataFrame | None = None
    left_out_there: tuple[str, ...] = ()
    if source and not measurements.empty:  # they tell of each other
        at_source, left_out_there = read_measurements(source, named=plan.source)
        source = with_launch(source, at_source)
    told = (*doubts(plan.target, target), *left_out, *left_out_there, *profile.warnings, *step.warnings(profile))

    profile, dropped = in_mode(profile, plan.mode)
    profiled, unread = count_work(profile.ops, profile.workload, profile.where)
    resized, sizing, unsized = rebatch(profiled, profile.workload, plan.batch)
    work, crossing = cross(resized, profile.workload, plan.precision, folded=plan.fusion != "none")
    work, fusion, unfused = fuse(work, profile.workload, plan.fusion)
    work, relaid = relay(work, profile.workload, plan.layout)
    precision = plan.precision or matrix_precision(profiled, profile.workload)
    crossed = precision != matrix_precision(profiled, profile.workload)
    same_run = not (crossed or fusion.ops or sizing or len(work) > len(resized))
    own = (source.name if source else profile.device) in (target.name, *target.aliases)
    same_setting = own and same_run
    evidence = measurements.iloc[:0] if same_setting else measurements  # a profile's own times need no other
    run = SourceRun(source, at_source, profiled, profile.step_spread)
    prediction = predict(work, run, TargetDevice(target, evidence, same_setting), plan)

    overlap = step.target_overlap(prediction, profile, target, same_setting)
    time = step.step_time(prediction, profile, overlap)
    by_method = step.evidence(prediction, overlap, profile)
    carried = () if own else step.mostly_carried(by_method, target)

    return Estimate(
        profile=profile,
        source=source,
        target=target,
        plan=plan,
        precision=precision,
        prediction=prediction,
        overlap=overlap,
        step=time,
        matrix_step_s=step.matrix_time(prediction, overlap),
        source_step_s=math.nan if sizing else step.source_step_time(profile),
        floor_s=float(overlap @ prediction.floor_s),
        ceiling_s=float(prediction.ceiling_s.sum() + step.idle_time(profile) * prediction.run.max()),
        coverage=prediction.covered_fraction * (step.coverage(profile) or 1.0),
        evidence=by_method,
        fusion=fusion,
        specifications=specifications(prediction.ops, target),
        assumptions=(
            *assumptions(prediction.ops, target, evidence, profile.workload),
            *dropped,
            *sizing,
            *crossing,
            *fusion.told(),
            *relaid,
        ),
        warnings=(*told, *unread, *unsized, *unfused, *prediction.warnings, *carried),
    )


def matrix_precision(work: pd.DataFrame, workload: Workload) -> str:
    """The precision of the matrix products of a WORK table, ``bf16/fp32`` where there are several."""
    found = work.loc[work["op_class"].isin(MATRIX), "precision"].unique()
    return "/".join(sorted(found)) or workload.precision
