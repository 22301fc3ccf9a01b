"""The ladder of evidence: what is known of each op's time on the target, and the time that follows.

The models give each op a time from specifications. The target's own measurements correct it as far as they are alike
(calibration.py): few tell what the device sustains, near ones are interpolated, and the very shape gives its own time.
The source's run tells by how much an op is off there. Ops of which no model speaks keep the source's time.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd

from estimator.core import physics
from estimator.core.errors import EstimatorError
from estimator.core.interval import Z, bounds, draw
from estimator.core.schema import MATRIX, PREDICTION
from estimator.core.types import DeviceSpec, Floats, Prediction, RunPlan
from estimator.model import measured, uncertainty
from estimator.model.calibration import Correction, Ops, correction
from estimator.model.coefficients import Coefficients, shipped
from estimator.model.hardware import Hardware, hardware_of, number, peak_of_op
from estimator.model.kernels import MODELS, Model, launch_latency
from estimator.model.transfer import carried_over

LOW_COVERAGE = 0.8  # modelled share of the source's time below which a warning travels to the report
MUCH_CARRIED = 0.5  # carried share of the predicted time above which one does
FEW_LAUNCHES = 3.0  # times its launches that a measured op must be busy, to tell anything of the kernel
TELLING = 0.05  # share of an op's uncertainty that evidence must remove to be named
HIGHEST = 3.0  # standard deviations above its time that an op takes at most
NOTHING = Ops(np.empty((0, 0)), np.empty(0), np.empty(0, dtype=int))
Names = npt.NDArray[np.str_]


@dataclass(frozen=True)
class Modelled:
    """What the models and the evidence say of all calls of each op; NaN where nothing does. One entry per op."""

    model: Names  # which, or nothing
    time: Floats  # [s], busy
    serial: Floats  # [s]
    least: Floats  # [s]
    compute_share: Floats
    launches: Floats
    log_spread: Floats  # standard deviation of the logarithm of the time
    common: Floats  # share of that variance that ops of one model and path have in common
    method: Names
    shape: Names  # what shares the rest of it


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
    own = np.tile(work["time_s"].to_numpy(dtype=float), (1 + plan.draws, 1))
    table = measured.evidence(measurements)
    known = modelled(work, target, table, carried_over(work, source, shipped()), shipped())
    launch = known.launches * uncertainty.latency(target, plan)
    rungs = {
        "measured": own if same_setting else _measured(work, target, table, plan),
        "modelled": launch + _busy(work, known, target, plan),
        "unchanged": own,
    }
    samples, rung = _first(rungs)
    method = np.where(rung == "modelled", known.method, rung)
    launch = np.where(rung == "modelled", launch, 0.0)
    ops = _describe(work, known, source, samples, launch[0], method)
    floor, ceiling = _limits(known, samples, launch, rung)
    covered = _covered(work, method)
    return Prediction(
        ops=ops,
        samples=samples,
        launch=launch,
        floor_s=floor,
        ceiling_s=ceiling,
        covered_fraction=covered,
        coefficients=shipped().model_dump(),
        warnings=_warnings(ops, target, covered),
    )


def modelled(work: pd.DataFrame, target: DeviceSpec, table: pd.DataFrame, carried: Floats, c: Coefficients) -> Modelled:
    """What the models say of every op on the target, corrected by a table of its measured ops, and, as far as those do
    not tell, by the logarithm that is ``carried`` over from the source's run.
    """
    on = hardware_of(target, work["op_class"], work["precision"])
    out = _nothing(len(work))
    free = np.ones(len(work), dtype=bool)
    for name, model in MODELS.items():
        rows = free & model.speaks(work)
        if rows.any():
            found = _of_model(name, model, work[rows], on.of(rows), target, table, carried[rows], c)
            for field, values in vars(found).items():
                getattr(out, field)[rows] = values
        free &= ~rows
    return out


def _nothing(count: int) -> Modelled:
    blank = np.full(count, "", dtype="U64")
    return Modelled(*(blank.copy() if field in ("model", "method", "shape") else np.full(count, np.nan)
                      for field in Modelled.__dataclass_fields__))  # fmt: skip


def _of_model(
    name: str, model: Model, work: pd.DataFrame, on: Hardware, target: DeviceSpec, table: pd.DataFrame, carried: Floats,
    c: Coefficients,
) -> Modelled:  # fmt: skip
    """What one model says of ops of its class."""
    busy = model.busy(work, on, target, c)
    ops = model.alike(work, on, target, busy)
    rows = table[model.speaks(table) & table["flag"].isna().to_numpy()]
    met = hardware_of(target, rows["op_class"], rows["precision"])
    said = correction(*told(model, rows, met, target, launch_latency(target, c), c), ops, model.likeness(c))
    calls = work["calls"].fillna(1.0).to_numpy(dtype=float)
    time = np.maximum(busy.time * np.exp(said.mean + (1.0 - said.told) * carried), busy.least)
    return Modelled(
        model=np.full(len(work), name),
        time=calls * time,
        serial=calls * busy.serial * time / busy.time,
        least=calls * busy.least,
        compute_share=busy.compute_share,
        launches=calls * busy.launches,
        log_spread=said.spread,
        common=said.common,
        method=_method(said, carried),
        shape=_shapes(target, name, ops, model.likeness(c).scales),
    )


def told(
    model: Model, rows: pd.DataFrame, on: Hardware, device: DeviceSpec, latency: Floats | float, c: Coefficients
) -> tuple[Ops, Floats, Floats]:
    """The measured ops of a model's class, the logarithm of measured over modelled busy time of each, and how far that
    is in doubt by the ends of the measured time.

    ``latency`` [s] of one launch as it was measured. What is little beside its launches tells nothing.
    """
    if rows.empty:
        return NOTHING, np.empty(0), np.empty(0)
    busy = model.busy(rows, on, device, c)
    launch = busy.launches * latency
    busied = rows["time_s"].to_numpy(dtype=float) - launch
    tells = np.flatnonzero((busy.time > FEW_LAUNCHES * launch) & (busied > 0))
    low, high = (rows[end].fillna(rows["time_s"]).to_numpy(dtype=float) for end in ("time_low_s", "time_high_s"))
    doubt = np.log(high / low) / (2.0 * Z)
    return model.alike(rows, on, device, busy).at(tells), np.log(busied[tells] / busy.time[tells]), doubt[tells]


def _method(said: Correction, carried: Floats) -> Names:
    """The evidence by how much it removes of what was not known, and whether by more than ops of all shapes could."""
    local, some = said.told > said.common + TELLING, said.told > TELLING
    return np.select([local, some, carried != 0], ["interpolated", "scaled", "transferred"], "roofline")


def _shapes(target: DeviceSpec, model: str, ops: Ops, scales: tuple[float, ...]) -> Names:
    """The stream of what is not known of each op's shape: by the features to within their scales."""
    cells = pd.util.hash_pandas_object(pd.DataFrame(np.round(ops.features / scales)), index=False)
    stream = (cells % uncertainty.SHAPES).astype(str)
    return np.asarray(f"{target.name}.{model}.shape." + stream, dtype=str)


def _busy(work: pd.DataFrame, known: Modelled, target: DeviceSpec, plan: RunPlan) -> Floats:
    """Samples (1 + draws × ops) of the time of all calls beside their launches [s].

    Peak and bandwidth lengthen a time as far as they bind it; nothing is faster than they allow.
    """
    peak, bandwidth = uncertainty.peaks(target, work, plan), uncertainty.bandwidth(target, plan)
    specified = known.compute_share * peak + (1.0 - known.compute_share) * bandwidth
    kind = np.char.add(
        f"{target.name}.", np.char.add(known.model, np.char.add(".", work["precision"].to_numpy(dtype=str)))
    )
    device: Floats = np.sqrt(known.common) * uncertainty.normals(kind, plan)
    shape: Floats = np.sqrt(1.0 - known.common) * uncertainty.normals(known.shape, plan)
    least = known.least * np.exp(np.minimum(peak, bandwidth))
    return np.maximum(known.time * np.exp(specified + known.log_spread * (device + shape)), least)


def _measured(work: pd.DataFrame, target: DeviceSpec, table: pd.DataFrame, plan: RunPlan) -> Floats:
    """Samples (1 + draws × ops) of calls × the measured time of the very shape [s]; NaN where it was not measured."""
    calls = work["calls"].fillna(1.0).to_numpy(dtype=float)
    low, mid, high = measured.times_of(work, table)
    return np.asarray(calls * draw(f"{target.name}.measurements", low, mid, high, plan.draws, plan.seed))


def _refuse(target: DeviceSpec, work: pd.DataFrame, measurements: pd.DataFrame) -> None:
    if target.specifications == "known":
        _refuse_unsupported(target, work)
    elif measurements.empty:
        lacks = [
            *(["peak"] if not any(peak.matrix for peak in target.peak.values()) else []),
            *(["memory_bandwidth"] if target.memory_bandwidth is None else []),
        ]
        raise EstimatorError(
            f"{target.name} has no specifications of {' and '.join(lacks)}, and no measurements; "
            "write a device file with them, or choose another target"
        )


def _refuse_unsupported(device: DeviceSpec, work: pd.DataFrame) -> None:
    """Raise EstimatorError where the device lacks the precision of a matrix product or convolution."""
    for precision in sorted(set(work.loc[work["op_class"].isin(MATRIX), "precision"])):
        peak = device.peak_of(precision)
        if peak.matrix is None:
            known = ", ".join(p for p, rates in device.peak.items() if rates.matrix)
            lacks = "has no hardware path for" if not peak.supported else "gives no peak for"
            raise EstimatorError(f"{device.name} {lacks} {precision}; matrix products run there in {known}")


def _first(rungs: dict[str, Floats]) -> tuple[Floats, Names]:
    """Samples and name of the first rung that is not NaN, op by op; no name where none is."""
    samples = np.full_like(rungs["unchanged"], np.nan)
    rung = np.full(samples.shape[1], "", dtype=f"U{max(map(len, rungs))}")
    for name, found in rungs.items():
        speaks = np.isnan(samples[0]) & ~np.isnan(found[0])
        samples[:, speaks] = found[:, speaks]
        rung[speaks] = name
    return samples, rung


def _describe(
    work: pd.DataFrame, known: Modelled, source: DeviceSpec | None, samples: Floats, launch: Floats, method: Names
) -> pd.DataFrame:
    low, mid, high = bounds(samples)
    uncertain = high > low
    return PREDICTION.conform(
        work.assign(
            bound=pd.Series(_bound(known, launch), index=work.index).where(method != "unchanged", ""),
            method=method,
            source_efficiency=_source_efficiency(work, source),
            target_time_s=mid,
            low_s=np.where(uncertain, low, np.nan),
            high_s=np.where(uncertain, high, np.nan),
        ),
        "prediction",
    )


def _bound(known: Modelled, launch: Floats) -> Names:
    """What limits each op: compute, memory, or the latency of its launches; nothing where no model speaks."""
    by_share = np.where(known.compute_share >= 0.5, "compute", "memory")
    bound = np.where(launch > known.time, "latency", by_share)
    return np.where(np.isnan(known.time), "", bound)


def _source_efficiency(work: pd.DataFrame, source: DeviceSpec | None) -> Floats:
    """Roofline time over measured time on the source; NaN where the source's specifications are not known."""
    nothing = np.full(len(work), np.nan)
    if source is None or source.specifications == "unknown" or source.memory_bandwidth is None:
        return nothing
    kinds = zip(work["op_class"], work["precision"], strict=True)
    peak = np.array([number(peak_of_op(source, *kind)[1]) for kind in kinds])
    flop, bytes_ = work["flop"].to_numpy(dtype=float), work["bytes"].to_numpy(dtype=float)
    ideal = physics.ideal_time(flop, bytes_, peak, source.memory_bandwidth.value)
    time = work["time_s"].to_numpy(dtype=float)
    return np.asarray(np.divide(ideal, time, out=nothing, where=time > 0))


def _limits(known: Modelled, samples: Floats, launch: Floats, rung: Names) -> tuple[Floats, Floats]:
    """Least and most time of each op; carried ops may vanish, and are at most what they are.

    The least is at the quoted peaks without any launch; the most with arithmetic and traffic one after the other.
    """
    mid, high = samples[0], bounds(samples)[2]
    floor = np.where(rung == "unchanged", 0.0, np.fmin(np.nan_to_num(known.least), mid))
    most = bounds(launch)[2] + known.serial * np.exp(HIGHEST * known.log_spread)
    return floor, np.where(rung == "modelled", np.fmax(most, high), mid)


def _covered(work: pd.DataFrame, method: Names) -> float:
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
