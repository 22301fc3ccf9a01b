"""The method: from a profile of one real training step to its time on a device that nobody can touch yet."""

from __future__ import annotations

from estimator.core.types import Estimate, Profile, RunPlan
from estimator.devices import load_device, load_measurements, source_device
from estimator.model import assumptions, predict
from estimator.rollup import step
from estimator.work import count_work


def estimate(profile: Profile, plan: RunPlan) -> Estimate:
    """Predict the step time of a profiled training run on the target device of the plan.

    Raises EstimatorError where a device is unknown, or the target lacks the precision asked for.
    """
    source = load_device(plan.source) if plan.source else source_device(profile.device)
    target = load_device(plan.target)
    measurements = load_measurements(target, plan.measurements)
    profiled = profile.workload.precision
    precision = plan.precision or profiled
    same_setting = source is not None and source.name == target.name and precision == profiled

    work, unread = count_work(profile.ops, profile.workload, precision)
    as_profiled = source if precision == profiled else None  # else the source's efficiency is another precision's
    prediction = predict(work, as_profiled, target, measurements, plan, same_setting=same_setting)

    return Estimate(
        profile=profile,
        source=source,
        target=target,
        plan=plan,
        precision=precision,
        prediction=prediction,
        step=step.step_time(prediction, profile),
        matrix_step_s=step.matrix_time(prediction, profile),
        source_step_s=step.source_step_time(profile),
        floor_s=step.overlap_factor(profile) * float(prediction.floor_s.sum()),
        ceiling_s=step.overlap_factor(profile) * float(prediction.ceiling_s.sum()) + step.idle_time(profile),
        assumptions=assumptions(prediction.ops, target, measurements, profile.workload, precision),
        warnings=(*profile.warnings, *unread, *prediction.warnings),
    )
