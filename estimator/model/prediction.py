"""WORK × source × target → PREDICTION: the time of each op on the target, its interval, and what it rests on."""

from __future__ import annotations

import numpy as np
import pandas as pd

from estimator.core.interval import bounds
from estimator.core.schema import PREDICTION
from estimator.core.types import DeviceSpec, Floats, Names, Prediction, RunPlan
from estimator.model import uncertainty
from estimator.model.arrays import first_met
from estimator.model.coefficients import shipped
from estimator.model.ladder import OpTimes, SourceRun, TargetDevice, estimate_op_times
from estimator.model.sampling import sampler

LOW_COVERAGE = 0.8  # modelled share of the source's time below which a warning travels to the report
HIGHEST = 3.0  # standard deviations above its time that an op takes at most
Ends = tuple[Floats, Floats, Floats]  # low end, nominal value, high end


def predict(work: pd.DataFrame, source: SourceRun, target: TargetDevice, plan: RunPlan) -> Prediction:
    """Time of every op of WORK on the target, as samples (1 + draws × ops), with the evidence each stands on.

    Raises EstimatorError where the target lacks a precision that is asked of it.
    """
    times = estimate_op_times(work, source, target)
    samples, launch = sampler(work, times, target.device, plan)(slice(None))
    interval = bounds(samples)
    ops = _describe(work, times, interval, launch[0])
    floor, ceiling = _limits(times, interval, bounds(uncertainty.latency(target.device, plan))[2])
    covered = _covered(work, times.method)
    return Prediction(
        ops=ops,
        samples=samples,
        launch=launch,
        floor_s=floor,
        ceiling_s=ceiling,
        run=np.exp(source.step_spread * uncertainty.source_run(plan)),
        covered_fraction=covered,
        coefficients=shipped().model_dump(),
        warnings=_warnings(ops, target.device, covered),
    )


def predict_ops(
    work: pd.DataFrame, target: TargetDevice, plan: RunPlan, *, at_once: int, cache: str = "warm"
) -> pd.DataFrame:
    """PREDICTION of ops that are no step of a profile, of any number, as measured with such a ``cache``: the samples of
    AT_ONCE ops are held in memory.

    Raises EstimatorError as :func:`predict` does.
    """
    times = estimate_op_times(work, SourceRun(), target, cache)
    sampled = sampler(work, times, target.device, plan)
    intervals = [bounds(sampled(slice(i, i + at_once))[0]) for i in range(0, len(work), at_once)]
    low, mid, high = np.concatenate(intervals, axis=1)
    latency = uncertainty.latency(target.device, plan)[0]
    return _describe(work, times, (low, mid, high), times.launches * latency)


def _describe(work: pd.DataFrame, times: OpTimes, interval: Ends, launch: Floats) -> pd.DataFrame:
    low, mid, high = interval
    uncertain = high > low
    return PREDICTION.conform(
        work.assign(
            bound=_bound(times, launch),
            method=times.method,
            source_efficiency=times.source_efficiency,
            target_time_s=mid,
            low_s=np.where(uncertain, low, np.nan),
            high_s=np.where(uncertain, high, np.nan),
        ),
        "prediction",
    )


def _bound(times: OpTimes, launch: Floats) -> Names:
    """What limits each op: compute, memory, or the latency of its launches; nothing where no model matches."""
    kernels = times.kernels
    unmodelled = (times.rung == "unchanged") | np.isnan(kernels.time_s)
    conditions = [unmodelled, launch > kernels.time_s, kernels.compute_share >= 0.5]
    return first_met(conditions, ["", "latency", "compute"], "memory")


def _limits(times: OpTimes, interval: Ends, latency: Floats) -> tuple[Floats, Floats]:
    """Least and most time of each op; carried ops may vanish, and are at most the high end of what they are.

    The least is at the quoted peaks without any launch; the most with arithmetic and traffic one after the other, and
    launches of the longest ``latency``.
    """
    (low, _, high), kernels = interval, times.kernels
    floor = np.where(times.rung == "unchanged", 0.0, np.fmin(np.nan_to_num(kernels.lower_bound_s), low))
    most = times.launches * latency + kernels.serial_s * np.exp(HIGHEST * kernels.log_std)
    return floor, np.where(times.rung == "modelled", np.fmax(most, high), high)


def _covered(work: pd.DataFrame, method: Names) -> float:
    """Share of the source's time whose method is not 'unchanged'."""
    time = work["time_s"].to_numpy(dtype=float)
    total = np.nansum(time)
    return float(np.nansum(time[method != "unchanged"]) / total) if total > 0 else 1.0


def _warnings(ops: pd.DataFrame, target: DeviceSpec, covered: float) -> tuple[str, ...]:
    """Sentences on what is carried where it is much of the source's time."""
    if covered >= LOW_COVERAGE:
        return ()
    carried = ops.loc[ops["method"] == "unchanged", ["op", "time_s"]]
    if carried.empty:
        return ()
    worst = carried.nlargest(1, "time_s")["op"].iloc[0]
    modelled = f"{100 * covered:.0f} % of the source's time is modelled on {target.name}"
    return (f"{modelled}; the rest, such as '{worst}', is carried unchanged",)
