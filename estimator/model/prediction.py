"""WORK × source × target → PREDICTION: the time of each op on the target, its interval, and what it rests on."""

from __future__ import annotations

import numpy as np
import pandas as pd

from estimator.core.interval import bounds
from estimator.core.schema import PREDICTION
from estimator.core.types import DeviceSpec, Floats, Names, Prediction, RunPlan
from estimator.model import uncertainty
from estimator.model.coefficients import shipped
from estimator.model.evidence import Evidence, gathered, named
from estimator.model.sampling import sampler

LOW_COVERAGE = 0.8  # modelled share of the source's time below which a warning travels to the report
HIGHEST = 3.0  # standard deviations above its time that an op takes at most
Ends = tuple[Floats, Floats, Floats]  # low end, nominal value, high end


def predict(
    work: pd.DataFrame,
    source: DeviceSpec | None,
    target: DeviceSpec,
    measurements: pd.DataFrame,
    plan: RunPlan,
    *,
    same_setting: bool = False,
    profiled: pd.DataFrame | None = None,
    at_source: pd.DataFrame | None = None,
    step_spread: float = 0.0,
) -> Prediction:
    """Time of every op of WORK on the target, as samples (1 + draws × ops), with the evidence each stands on.

    ``same_setting``: the profile was taken on the target in this very precision, so its own times are the answer.
    ``profiled``: the first rows of WORK as the source ran them, where the target's step differs. ``at_source``:
    MEASUREMENTS of the source. ``step_spread``: of the profiled run, as Profile has it.
    Raises EstimatorError where the target lacks a precision that is asked of it.
    """
    found = gathered(work, source, target, measurements, same_setting, profiled, at_source, step_spread)
    latency = uncertainty.latency(target, plan)
    samples, launch = sampler(work, found, latency, target, plan)(slice(None))
    interval = bounds(samples)
    ops = _describe(work, found, interval, launch[0])
    floor, ceiling = _limits(found, interval, bounds(latency)[2])
    covered = _covered(work, found.method)
    return Prediction(
        ops=ops,
        samples=samples,
        launch=launch,
        floor_s=floor,
        ceiling_s=ceiling,
        run=np.exp(step_spread * uncertainty.source_run(plan)),
        covered_fraction=covered,
        coefficients=shipped().model_dump(),
        warnings=_warnings(ops, target, covered),
    )


def predict_ops(
    work: pd.DataFrame, target: DeviceSpec, measurements: pd.DataFrame, plan: RunPlan, *, at_once: int,
    cache: str = "warm",
) -> pd.DataFrame:  # fmt: skip
    """PREDICTION of ops that are no step of a profile, of any number, as measured with such a ``cache``: the samples of
    AT_ONCE ops are held in memory.

    Raises EstimatorError as :func:`predict` does.
    """
    found = gathered(work, None, target, measurements, cache=cache)
    latency = uncertainty.latency(target, plan)
    sampled = sampler(work, found, latency, target, plan)
    intervals = [bounds(sampled(slice(i, i + at_once))[0]) for i in range(0, len(work), at_once)]
    low, mid, high = np.concatenate(intervals, axis=1)
    return _describe(work, found, (low, mid, high), found.launches * latency[0])


def _describe(work: pd.DataFrame, found: Evidence, interval: Ends, launch: Floats) -> pd.DataFrame:
    low, mid, high = interval
    uncertain = high > low
    return PREDICTION.conform(
        work.assign(
            bound=_bound(found, launch),
            method=found.method,
            source_efficiency=found.efficiency,
            target_time_s=mid,
            low_s=np.where(uncertain, low, np.nan),
            high_s=np.where(uncertain, high, np.nan),
        ),
        "prediction",
    )


def _bound(found: Evidence, launch: Floats) -> Names:
    """What limits each op: compute, memory, or the latency of its launches; nothing where no model speaks."""
    known, nothing = found.known, (found.rung == "unchanged") | np.isnan(found.known.time)
    conditions = [nothing, launch > known.time, known.compute_share >= 0.5]
    return named(conditions, ["", "latency", "compute"], "memory")


def _limits(found: Evidence, interval: Ends, latency: Floats) -> tuple[Floats, Floats]:
    """Least and most time of each op; carried ops may vanish, and are at most the high end of what they are.

    The least is at the quoted peaks without any launch; the most with arithmetic and traffic one after the other, and
    launches of the longest ``latency``.
    """
    (low, _, high), known = interval, found.known
    floor = np.where(found.rung == "unchanged", 0.0, np.fmin(np.nan_to_num(known.least), low))
    most = found.launches * latency + known.serial * np.exp(HIGHEST * known.log_spread)
    return floor, np.where(found.rung == "modelled", np.fmax(most, high), high)


def _covered(work: pd.DataFrame, method: Names) -> float:
    """Share of the source's time that some evidence other than 'unchanged' speaks for."""
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
