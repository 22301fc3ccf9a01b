"""WORK × source × target → PREDICTION: predict the time of each op on the target, with interval and evidence."""

from __future__ import annotations

import numpy as np
import pandas as pd

from estimator.core.interval import bounds
from estimator.core.notes import Note
from estimator.core.schema import PREDICTION
from estimator.core.types import DeviceSpec, Floats, Names, Prediction, RunPlan
from estimator.core.units import show
from estimator.model import plausibility, uncertainty
from estimator.model.arrays import first_met
from estimator.model.coefficients import shipped
from estimator.model.ladder import OpTimes, SourceRun, TargetDevice, estimate_op_times
from estimator.model.sampling import sampler

LOW_COVERAGE = 0.8  # modelled share of the source's time below which there is a warning
UNMODELLED = ("proportional", "unchanged")  # methods that stand on the source's time
CEILING_STD = 3.0  # standard deviations from the time of an op to its ceiling
Interval = tuple[Floats, Floats, Floats]  # low end, nominal value, high end


def predict(work: pd.DataFrame, source: SourceRun, target: TargetDevice, plan: RunPlan) -> Prediction:
    """Predict the time of every op of WORK on the target, as samples (1 + draws × ops), with its evidence.

    Raises EstimatorError where the target lacks a precision of the work.
    """
    times = estimate_op_times(work, source, target)
    samples, launch = sampler(work, times, target.device, plan)(slice(None))
    interval = bounds(samples)
    ops = _describe(work, times, interval, launch[0])
    floor, ceiling = _limits(times, interval, bounds(uncertainty.latency(target.device, plan))[2])
    covered_fraction = _covered_fraction(work, times.method)
    return Prediction(
        ops=ops,
        samples=samples,
        launch=launch,
        floor_s=floor,
        ceiling_s=ceiling,
        run=np.exp(source.step_spread * uncertainty.source_run(plan)),
        covered_fraction=covered_fraction,
        coefficients=shipped().model_dump(),
        warnings=(
            *_warnings(ops, target.device, covered_fraction),
            *plausibility.notes(work, times.excess),
            *_wait_notes(work, times),
        ),
    )


def predict_ops(
    work: pd.DataFrame, target: TargetDevice, plan: RunPlan, *, at_once: int, cache: str = "warm"
) -> pd.DataFrame:
    """Predict any number of ops that are no step of a profile, by rows measured with this ``cache`` state.

    The samples of ``at_once`` ops are held in memory.

    Raises EstimatorError as :func:`predict` does.
    """
    times = estimate_op_times(work, SourceRun(), target, cache)
    sampled = sampler(work, times, target.device, plan)
    intervals = [bounds(sampled(slice(i, i + at_once))[0]) for i in range(0, len(work), at_once)]
    low, mid, high = np.concatenate(intervals, axis=1)
    latency = uncertainty.latency(target.device, plan)[0]
    return _describe(work, times, (low, mid, high), times.launches * latency)


def _describe(work: pd.DataFrame, times: OpTimes, interval: Interval, launch: Floats) -> pd.DataFrame:
    low, mid, high = interval
    uncertain = high > low
    return PREDICTION.conform(
        work.assign(
            bound=_bound(times, launch),
            method=times.method,
            resembling=pd.Series(times.resembling).replace("", pd.NA).array,
            source_efficiency=times.source_efficiency,
            target_time_s=mid,
            low_s=np.where(uncertain, low, np.nan),
            high_s=np.where(uncertain, high, np.nan),
        ),
        "prediction",
    )


def _bound(times: OpTimes, launch: Floats) -> Names:
    """The bound of each op: compute, memory, or the latency of launches and starts; empty where no model matches."""
    kernels = times.kernels
    start_s = kernels.start_share * kernels.time_s
    unmodelled = np.isin(times.rung, UNMODELLED) | np.isnan(kernels.time_s)
    conditions = [unmodelled, launch + start_s > kernels.time_s - start_s, kernels.compute_share >= 0.5]
    return first_met(conditions, ["", "latency", "compute"], "memory")


def _limits(times: OpTimes, interval: Interval, latency: Floats) -> tuple[Floats, Floats]:
    """Floor and ceiling of each op's time; for ops without model 0 and the high end of their time.

    The floor is at quoted peaks without launches; the ceiling has arithmetic and traffic one after the other, and
    launches of the longest ``latency``.
    """
    (low, _, high), kernels = interval, times.kernels
    floor = np.where(np.isin(times.rung, UNMODELLED), 0.0, np.fmin(np.nan_to_num(kernels.lower_bound_s), low))
    ceiling = times.launches * latency + kernels.serial_s * np.exp(CEILING_STD * kernels.log_std)
    return floor, np.where(times.rung == "modelled", np.fmax(ceiling, high), high)


def _covered_fraction(work: pd.DataFrame, method: Names) -> float:
    """Share of the source's time whose method is neither 'proportional' nor 'unchanged'."""
    time = work["time_s"].to_numpy(dtype=float)
    total = np.nansum(time)
    return float(np.nansum(time[~np.isin(method, UNMODELLED)]) / total) if total > 0 else 1.0


def _wait_notes(work: pd.DataFrame, times: OpTimes) -> tuple[Note, ...]:
    """A note on what messages wait for other ranks."""
    low, mid, high = (show(float(total_s), "s", 3) for total_s in times.waits_s.sum(axis=1))
    waiting = times.waits_s[1] > 0
    if not waiting.any():
        return ()
    text = (
        f"messages among ranks took longer on the source than its links need: {mid} of a step ({low} to {high}) are "
        "waits for slower ranks"
    )
    share = float(work.loc[waiting, "time_s"].sum() / work["time_s"].sum())
    return (Note("ranks-wait", text, share=share),)


def _warnings(ops: pd.DataFrame, target: DeviceSpec, covered_fraction: float) -> tuple[Note, ...]:
    """A warning where much of the source's time is not modelled."""
    rest = ops.loc[ops["method"].isin(UNMODELLED), ["op", "time_s"]]
    if covered_fraction >= LOW_COVERAGE or rest.empty:
        return ()
    longest = rest.nlargest(1, "time_s")["op"].iloc[0]
    text = f"only {100 * covered_fraction:.0f} % of the source's op time is modelled on {target.name}"
    text += f"; the rest, such as '{longest}', is scaled from the source's time or is host time"
    return (Note("coverage-low", text, target.name),)
