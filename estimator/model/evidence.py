"""The ladder of evidence: for each op the first rung that has something to say gives its time."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pandas as pd

from estimator.core import physics
from estimator.core.errors import EstimatorError
from estimator.core.interval import bounds
from estimator.core.schema import MATRIX, PREDICTION
from estimator.core.types import DeviceSpec, Floats, Prediction, RunPlan
from estimator.model import coefficients, gemm, roofline
from estimator.model.uncertainty import Rates, draw_rates, refuse_unsupported

LOW_COVERAGE = 0.8  # modelled share of the source's time below which a warning travels to the report
MUCH_CARRIED = 0.5  # carried share of the predicted time above which one does
Methods = npt.NDArray[np.str_]  # one of METHODS for each op, or nothing


def predict(
    work: pd.DataFrame,
    source: DeviceSpec | None,
    target: DeviceSpec,
    measurements: pd.DataFrame,
    plan: RunPlan,
    *,
    same_setting: bool = False,
) -> Prediction:
    """Time of every op of WORK on the target, as samples (1 + draws × ops), with the evidence each stands on.

    ``same_setting``: the profile was taken on the target in this very precision, so its own times are the answer.
    Raises EstimatorError where the target lacks a precision that is asked of it.
    """
    if not same_setting:
        _refuse(target, work, measurements)
    rates = draw_rates(target, work, plan)
    measured, interpolated = gemm.measured_times(work, rates, target, measurements, plan)
    own = _carried(work, plan)
    rungs = {
        "measured": np.where(same_setting, own, measured),
        "interpolated": interpolated,
        "roofline": roofline.roofline_time(work, rates),
        "unchanged": own,
    }
    samples, method = _first(rungs)
    ops = _describe(work, rates, source, samples, method)
    launch = np.where(method == "roofline", roofline.launch_time(work, rates), 0.0)
    floor, ceiling = _limits(work, rates, samples)
    covered = _covered(work, method)
    return Prediction(
        ops=ops,
        samples=samples,
        launch=launch,
        floor_s=floor,
        ceiling_s=ceiling,
        covered_fraction=covered,
        coefficients=coefficients.load().model_dump(),
        warnings=_warnings(ops, target, covered),
    )


def _refuse(target: DeviceSpec, work: pd.DataFrame, measurements: pd.DataFrame) -> None:
    if target.specifications == "known":
        refuse_unsupported(target, work)
    elif measurements.empty:
        lacks = [
            *(["peak"] if not any(peak.matrix for peak in target.peak.values()) else []),
            *(["memory_bandwidth"] if target.memory_bandwidth is None else []),
        ]
        raise EstimatorError(
            f"{target.name} has no specifications of {' and '.join(lacks)}, and no measurements; "
            "write a device file with them, or choose another target"
        )


def _carried(work: pd.DataFrame, plan: RunPlan) -> Floats:
    """The source's own times as samples (1 + draws × ops)."""
    return np.tile(work["time_s"].to_numpy(dtype=float), (1 + plan.draws, 1))


def _first(rungs: dict[str, Floats]) -> tuple[Floats, Methods]:
    """Samples and name of the first rung that is not NaN, op by op; no name where none is."""
    samples = np.full_like(rungs["unchanged"], np.nan)
    method = np.full(samples.shape[1], "", dtype=f"U{max(map(len, rungs))}")
    for name, rung in rungs.items():
        speaks = np.isnan(samples[0]) & ~np.isnan(rung[0])
        samples[:, speaks] = rung[:, speaks]
        method[speaks] = name
    return samples, method


def _describe(
    work: pd.DataFrame, rates: Rates, source: DeviceSpec | None, samples: Floats, method: Methods
) -> pd.DataFrame:
    low, mid, high = bounds(samples)
    modelled, uncertain = method != "unchanged", high > low
    return PREDICTION.conform(
        work.assign(
            bound=roofline.bounds(work, rates).where(modelled),
            method=method,
            source_efficiency=_source_efficiency(work, source),
            target_time_s=mid,
            low_s=np.where(uncertain, low, np.nan),
            high_s=np.where(uncertain, high, np.nan),
        ),
        "prediction",
    )


def _source_efficiency(work: pd.DataFrame, source: DeviceSpec | None) -> Floats:
    """Roofline time over measured time on the source; NaN where the source's specifications are not known."""
    nothing = np.full(len(work), np.nan)
    if source is None or source.specifications == "unknown" or source.memory_bandwidth is None:
        return nothing
    peaks = [source.peak_of(p).matrix if c in MATRIX else source.peak_of(p).vector
             for c, p in zip(work["op_class"], work["precision"], strict=True)]  # fmt: skip
    peak = np.array([rate.value if rate else np.nan for rate in peaks])
    flop, bytes_ = work["flop"].to_numpy(dtype=float), work["bytes"].to_numpy(dtype=float)
    ideal = physics.ideal_time(flop, bytes_, peak, source.memory_bandwidth.value)
    time = work["time_s"].to_numpy(dtype=float)
    return np.asarray(np.divide(ideal, time, out=nothing, where=time > 0))


def _limits(work: pd.DataFrame, rates: Rates, samples: Floats) -> tuple[Floats, Floats]:
    """Least and most time of each op; carried ops may vanish, and are at most what they are."""
    shipped = coefficients.load()
    lowest = np.where(work["op_class"].isin(MATRIX), shipped.matrix_vector.low, shipped.memory.low)
    floor, ceiling = roofline.floor_and_ceiling(work, rates, lowest)
    mid = samples[0]
    return np.fmin(np.nan_to_num(floor), mid), np.fmax(ceiling, mid)


def _covered(work: pd.DataFrame, method: Methods) -> float:
    """Share of the source's time that some evidence other than 'unchanged' speaks for."""
    time = work["time_s"].to_numpy(dtype=float)
    total = np.nansum(time)
    return float(np.nansum(time[method != "unchanged"]) / total) if total > 0 else 1.0


def _warnings(ops: pd.DataFrame, target: DeviceSpec, covered: float) -> tuple[str, ...]:
    """Sentences on what is carried where it is much of the source's time, or of the time predicted."""
    carried = ops[ops["method"] == "unchanged"]
    share = carried["target_time_s"].sum() / max(ops["target_time_s"].sum(), np.finfo(float).tiny)
    if carried.empty or (covered >= LOW_COVERAGE and share <= MUCH_CARRIED):
        return ()
    worst = carried.nlargest(1, "time_s")["op"].iloc[0]
    modelled = f"{100 * covered:.0f} % of the source's time is modelled on {target.name}"
    return (f"{modelled}; time carried unchanged, such as '{worst}', is {100 * share:.0f} % of the time predicted",)
