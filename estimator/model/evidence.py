"""The ladder of evidence: what is known of each op's time on the target, and the time that follows.

The models give each op a time from specifications. The target's own measurements correct it as far as they are alike
(calibration.py): few tell what the device sustains, near ones are interpolated, and the very shape gives its own time.
The source's run tells by how much an op is off there. Ops of which no model speaks keep the source's time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd

from estimator.core import physics
from estimator.core.errors import EstimatorError
from estimator.core.interval import Z, bounds, draw
from estimator.core.schema import MATRIX, PREDICTION, Flags
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
Names = npt.NDArray[np.object_]  # words that many ops share
Interval = tuple[Floats, Floats, Floats]  # low end, nominal value, high end


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


@dataclass(frozen=True)
class Evidence:
    """What is known of the time of all calls of each op, before anything is drawn."""

    known: Modelled
    rung: Names  # measured, modelled, unchanged or nothing
    times: Floats  # low end, median and high end (3 × ops) [s] of what is not modelled
    efficiency: Floats  # on the source

    @property
    def method(self) -> Names:
        """By which the time was found."""
        return np.asarray(np.where(self.rung == "modelled", self.known.method, self.rung))

    @property
    def launches(self) -> Floats:
        """Those that a time is made of beside the busy time; 0 where it is not modelled."""
        return np.where(self.rung == "modelled", self.known.launches, 0.0)


def predict(
    work: pd.DataFrame,
    source: DeviceSpec | None,
    target: DeviceSpec,
    measurements: pd.DataFrame,
    plan: RunPlan,
    *,
    same_setting: bool = False,
    profiled: pd.DataFrame | None = None,
) -> Prediction:
    """Time of every op of WORK on the target, as samples (1 + draws × ops), with the evidence each stands on.

    ``same_setting``: the profile was taken on the target in this very precision, so its own times are the answer.
    ``profiled``: the first rows of WORK as the source ran them, where the target's step differs.
    Raises EstimatorError where the target lacks a precision that is asked of it.
    """
    found = _evidence(work, source, target, measurements, same_setting, profiled)
    latency = uncertainty.latency(target, plan)
    samples, launch = _sampler(work, found, latency, target, plan)(slice(None))
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
        covered_fraction=covered,
        coefficients=shipped().model_dump(),
        warnings=_warnings(ops, target, covered),
    )


def predict_ops(
    work: pd.DataFrame, target: DeviceSpec, measurements: pd.DataFrame, plan: RunPlan, *, at_once: int
) -> pd.DataFrame:
    """PREDICTION of ops that are no step of a profile, of any number: the samples of AT_ONCE ops are held in memory.

    Raises EstimatorError as :func:`predict` does.
    """
    found = _evidence(work, None, target, measurements)
    latency = uncertainty.latency(target, plan)
    sampled = _sampler(work, found, latency, target, plan)
    intervals = [bounds(sampled(slice(i, i + at_once))[0]) for i in range(0, len(work), at_once)]
    low, mid, high = np.concatenate(intervals, axis=1)
    return _describe(work, found, (low, mid, high), found.launches * latency[0])


def _evidence(
    work: pd.DataFrame, source: DeviceSpec | None, target: DeviceSpec, measurements: pd.DataFrame,
    same_setting: bool = False, profiled: pd.DataFrame | None = None,
) -> Evidence:  # fmt: skip
    """The rung of the ladder that each op stands on: the first that speaks of it."""
    if not same_setting:
        _refuse(target, work, measurements)
    asked = measurements["op_class"].isin(work["op_class"]) & measurements["precision"].isin(work["precision"])
    table = measured.evidence(measurements[asked])
    ran = work if profiled is None else profiled
    carried = _padded(carried_over(ran, source, shipped()), len(work), 0.0)
    known = modelled(work, target, table, carried, shipped())
    own = work["time_s"].to_numpy(dtype=float)
    times = np.array([own] * 3) if same_setting else _calls(work) * measured.times_of(work, table)
    speaks = [~np.isnan(values) for values in (times[1], known.time + known.compute_share, own)]
    rung = _named(speaks, ["measured", "modelled", "unchanged"], "")
    efficiency = _padded(_source_efficiency(ran, source), len(work), np.nan)
    return Evidence(known, rung, np.where(rung == "unchanged", own, times), efficiency)


def modelled(work: pd.DataFrame, target: DeviceSpec, table: pd.DataFrame, carried: Floats, c: Coefficients) -> Modelled:
    """What the models say of every op on the target, corrected by a table of its measured ops, and, as far as those do
    not tell, by the logarithm that is ``carried`` over from the source's run.
    """
    on = hardware_of(target, work["op_class"], work["precision"])
    out = _nothing(len(work))
    free = np.ones(len(work), dtype=bool)
    precisions = work["precision"].to_numpy(dtype=object)
    for name, model in MODELS.items():
        speaks = free & model.speaks(work)
        free &= ~speaks
        for precision in set(precisions[speaks]):  # each is told by measurements of its own alone
            rows, like = speaks & (precisions == precision), table[table["precision"] == precision]
            found = _of_model(name, model, work[rows], on.of(rows), target, like, carried[rows], c)
            for field, values in vars(found).items():
                getattr(out, field)[rows] = values
    return out


def _padded(values: Floats, count: int, missing: float) -> Floats:
    """Values of the first ops, and a missing one for each of the rest."""
    return np.concatenate([values, np.full(count - len(values), missing)])


def _nothing(count: int) -> Modelled:
    blank = np.full(count, "", dtype=object)
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
    calls = _calls(work)
    time = np.maximum(busy.time * np.exp(said.mean + (1.0 - said.told) * carried), busy.least)
    return Modelled(
        model=np.full(len(work), name, dtype=object),
        time=calls * time,
        serial=calls * busy.serial * np.divide(time, busy.time, out=np.ones_like(time), where=busy.time > 0),
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
    return _named([local, some, carried != 0], ["interpolated", "scaled", "transferred"], "roofline")


def _named(conditions: Sequence[Flags], names: Sequence[str], otherwise: str) -> Names:
    """The name of the first condition that each op meets."""
    first = np.select(conditions, range(len(names)), len(names))
    return np.asarray(np.array([*names, otherwise], dtype=object)[first])


def _shapes(target: DeviceSpec, model: str, ops: Ops, scales: tuple[float, ...]) -> Names:
    """The stream of what is not known of each op's shape: by the features to within their scales."""
    cells = pd.util.hash_pandas_object(pd.DataFrame(np.round(ops.features / scales)), index=False)
    streams = [f"{target.name}.{model}.shape.{i}" for i in range(uncertainty.SHAPES)]
    return np.asarray(np.array(streams, dtype=object)[cells % uncertainty.SHAPES])


def _sampler(
    work: pd.DataFrame, found: Evidence, latency: Floats, target: DeviceSpec, plan: RunPlan
) -> Callable[[slice], tuple[Floats, Floats]]:
    """What gives samples (1 + draws × ops) of the time of some ops [s], and of what launches take of it."""
    busy, launches, (low, mid, high) = _busy(work, found.known, target, plan), found.launches, found.times
    told = found.rung != "modelled"
    uncertain = told & (high > low)

    def samples(ops: slice) -> tuple[Floats, Floats]:
        time, launch = busy(ops), launches[ops] * latency
        time += launch
        time[:, told[ops]] = mid[ops][told[ops]]
        wide = uncertain[ops]
        if wide.any():
            ends = low[ops][wide], mid[ops][wide], high[ops][wide]
            time[:, wide] = draw(f"{target.name}.measurements", *ends, plan.draws, plan.seed)
        return time, launch

    return samples


def _busy(work: pd.DataFrame, known: Modelled, target: DeviceSpec, plan: RunPlan) -> Callable[[slice], Floats]:
    """What gives samples (1 + draws × ops) of the time of all calls of some ops beside their launches [s].

    Peak and bandwidth lengthen a time as far as they bind it; nothing is faster than they allow. The logarithm is
    linear in what is drawn, of which many ops share most: one matrix product and one exponential.
    """
    peak, bandwidth = uncertainty.peaks(target, work, plan), uncertainty.bandwidth(target, plan)
    kinds = f"{target.name}." + known.model + "." + work["precision"].to_numpy(dtype=object)
    device = uncertainty.normals(kinds, plan)
    shape = uncertainty.normals(known.shape, plan)
    common, own = (known.log_spread * np.sqrt(share) for share in (known.common, 1.0 - known.common))
    inputs = np.hstack([bandwidth, peak.samples, device.samples])
    binds = known.compute_share
    weights = np.vstack([1.0 - binds, peak.weights(binds), device.weights(common)])
    least = uncertainty.Streams(np.exp(np.minimum(peak.samples, bandwidth)), peak.taken)

    def samples(ops: slice) -> Floats:
        time = shape.of(ops)
        time *= own[ops]
        time += inputs @ weights[:, ops]
        np.exp(time, out=time)
        time *= known.time[ops]
        bound = least.of(ops)
        bound *= known.least[ops]
        return np.maximum(time, bound, out=time)

    return samples


def _calls(work: pd.DataFrame) -> Floats:
    """Of each op; one where nobody says."""
    return np.asarray(work["calls"].fillna(1.0), dtype=float)


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


def _describe(work: pd.DataFrame, found: Evidence, interval: Interval, launch: Floats) -> pd.DataFrame:
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
    return _named(conditions, ["", "latency", "compute"], "memory")


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


def _limits(found: Evidence, interval: Interval, latency: Floats) -> tuple[Floats, Floats]:
    """Least and most time of each op; carried ops may vanish, and are at most what they are.

    The least is at the quoted peaks without any launch; the most with arithmetic and traffic one after the other, and
    launches of the longest ``latency``.
    """
    (low, mid, high), known = interval, found.known
    floor = np.where(found.rung == "unchanged", 0.0, np.fmin(np.nan_to_num(known.least), low))
    most = found.launches * latency + known.serial * np.exp(HIGHEST * known.log_spread)
    return floor, np.where(found.rung == "modelled", np.fmax(most, high), mid)


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
