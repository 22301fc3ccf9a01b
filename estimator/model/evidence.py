"""The ladder of evidence: what is known of the time of each op on the target.

The models give each op a time from specifications. The target's own measurements correct it as far as they are alike
(calibration.py): few tell what the device sustains, near ones are interpolated, and the very shape gives its own time.
The source's run tells by how much an op is off there. Ops of which no model speaks keep the source's time.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pandas as pd

from estimator.core.errors import EstimatorError
from estimator.core.interval import log_spread
from estimator.core.schema import MATRIX, UNPOOLED
from estimator.core.types import ITEMSIZE, DeviceSpec, Flags, Floats, Names, itemsizes
from estimator.model import measured, transfer
from estimator.model.calibration import AXES, Correction, Ops, correction
from estimator.model.coefficients import Coefficients, shipped
from estimator.model.hardware import Hardware, hardware_of
from estimator.model.kernels import MODELS, Model, by_model, calls_of, launch_latency

FEW_LAUNCHES = 3.0  # times its launches that a measured op must be busy, to tell anything of the kernel
FEW_ALONE = 0.3  # the same where one library timed ops and launches alike
LEAST_BUSY = 0.1  # times its launches that its measured time must be beyond them
TELLING = 0.05  # share of an op's uncertainty that evidence must remove to be named
Told = tuple[Ops, Floats, Floats]  # as correction takes them: known ops, their residuals, and how far in doubt
NOTHING = Ops(np.empty((0, 0)), np.empty(0), np.empty(0, dtype=int), np.empty(0, dtype=bool))


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
    loadings: Floats  # ops × AXES: on what it depends
    method: Names


@dataclass(frozen=True)
class Evidence:
    """What is known of the time of all calls of each op, before anything is drawn."""

    known: Modelled
    rung: Names  # measured, modelled, unchanged or nothing
    times: Floats  # low end, median and high end (3 × ops) [s] of what is not modelled
    run_spread: Floats  # standard deviation of the logarithm by which it moves with the source's run
    efficiency: Floats  # on the source

    @property
    def method(self) -> Names:
        """By which the time was found."""
        return np.asarray(np.where(self.rung == "modelled", self.known.method, self.rung))

    @property
    def launches(self) -> Floats:
        """Those that a time is made of beside the busy time; 0 where it is not modelled."""
        return np.where(self.rung == "modelled", self.known.launches, 0.0)


class Kernels(NamedTuple):
    """Ops on a device, and what tables of its measured ops tell of them with their operands in the cache, and not."""

    work: pd.DataFrame
    device: DeviceSpec
    warm: pd.DataFrame
    cold: pd.DataFrame


def gathered(
    work: pd.DataFrame, source: DeviceSpec | None, target: DeviceSpec, measurements: pd.DataFrame,
    same_setting: bool = False, profiled: pd.DataFrame | None = None, at_source: pd.DataFrame | None = None,
    step_spread: float = 0.0, cache: str = "warm",
) -> Evidence:  # fmt: skip
    """The rung of the ladder that each op stands on, the first that speaks of it; arguments as of prediction.predict.

    ``cache``: the state in which the measured rows that tell were timed, where no table of the source is at hand.

    Raises EstimatorError where the target lacks a precision that is asked of it, or all that a time could follow from.
    """
    if not same_setting:
        _refuse(target, work, measurements)
    ran = work if profiled is None else profiled
    own = work["time_s"].to_numpy(dtype=float)
    rows = of_these_ops(measurements, work)
    alike = None if at_source is None else transfer.in_common(of_these_ops(at_source, ran), rows)
    if source is not None and alike and len(alike[0]):
        there, here = _kernels((ran, source, alike[0]), (work, target, alike[1]))
        known, factor, told, table = *_by_kernels(there, here), here.warm
    else:
        table = measured.evidence(measured.telling(rows, cache))
        carried = _padded(transfer.carried_over(ran, source, shipped()), len(work), 0.0)
        known, factor = modelled(work, target, table, carried, shipped()), np.ones(len(work))
        told = np.zeros(len(work), dtype=bool)
    times = np.array([own] * 3) if same_setting else factor * calls_of(work) * measured.times_of(work, table)
    speaks = [~np.isnan(values) for values in (times[1], known.time + known.compute_share, own)]
    rung = named(speaks, ["measured", "modelled", "unchanged"], "")
    moves = np.where(told, np.hypot(step_spread, shipped().transfer.in_step), 0.0)
    return Evidence(
        known,
        rung,
        times=np.where(rung == "unchanged", own, times),
        run_spread=np.where(same_setting | (rung == "unchanged"), step_spread, moves),
        efficiency=_padded(transfer.efficiency(ran, source), len(work), np.nan),
    )


def of_these_ops(measurements: pd.DataFrame, work: pd.DataFrame) -> pd.DataFrame:
    """The measured rows that may tell of ops like these; of pools, only those of their precision."""
    alike = measurements["op_class"].isin(work["op_class"]) & measurements["precision"].isin(work["precision"])
    return measurements[alike | measurements["op_class"].isin(UNPOOLED)]


def _kernels(*sides: tuple[pd.DataFrame, DeviceSpec, pd.DataFrame]) -> Iterator[Kernels]:
    """Ops on each of two devices, and what the measured rows of the devices, of a library in common, tell of them."""
    rows = measured.undisturbed(*(rows for _, _, rows in sides))
    ran = sides[0][0]
    warm, cold = (
        _of_the_same_models(ran, *(measured.evidence(measured.telling(each, cache)) for each in rows))
        for cache in ("warm", "cold")
    )
    for (work, device, _), *tables in zip(sides, warm, cold, strict=True):
        yield Kernels(work, device, *tables)


def _of_the_same_models(ran: pd.DataFrame, *tables: pd.DataFrame) -> Iterator[pd.DataFrame]:
    """The tables without what one of them alone tells in place of another model, of ops such as the source ``ran``: the
    factor between devices would hold the difference between the models.
    """
    asked = [name for name, _, _ in by_model(ran)]
    asked += [MODELS[name].instead for name in asked if MODELS[name].instead]  # in whose place yet another may stand
    of_ran = [MODELS[name] for name in dict.fromkeys(asked) if MODELS[name].instead]
    one_sided = [model for model in of_ran if len({bool(model.speaks(table).any()) for table in tables}) > 1]
    for table in tables:
        yield table[~np.any([model.speaks(table) for model in one_sided], axis=0)] if one_sided else table


def _by_kernels(there: Kernels, here: Kernels) -> tuple[Modelled, Floats, Flags]:
    """As :func:`_in_step`, by the kernels on the source, in whose step each took its time, and on the target."""
    known, warm = _alone(here.work, here.device, here.warm)
    warm_there = _alone(there.work, there.device, there.warm)[1]
    cold_there, cold = _out_of_cache(there, here, warm_there, warm)
    own, shared = (there.work[name].to_numpy(dtype=float) for name in ("time_s", "shared_s"))
    shared = np.where(np.isnan(shared), own, shared)
    share = transfer.emptied(shared, warm_there, cold_there)
    alone_there = warm_there + share * (cold_there - warm_there)
    alone = warm + _padded(share, len(warm), 1.0) * (cold - warm)
    launch_there, launch = _launches(there), _launches(here)
    left_out = transfer.left_out(shared, alone_there, launch_there)
    lacking = _padded(left_out, len(warm), 0.0)  # what is added to a step is launched there, beside its other ops
    alone_there = transfer.without(alone_there, left_out * launch_there)
    busy = transfer.without(alone, lacking * launch)
    factor = _padded(transfer.in_step(own, shared, alone_there, busy[: len(own)]), len(warm), np.nan)
    colder, shorter = (_over(*pair) for pair in ((alone, warm), (busy, alone)))
    return _in_step(known, factor, colder, 1.0 - lacking, shorter)


def _over(one: Floats, other: Floats) -> Floats:
    """One time over another; 1 where the other is nothing or not known."""
    return np.divide(one, other, out=np.ones_like(other), where=other > 0)


def _launches(side: Kernels) -> Floats:
    """What launches of all calls of each op take [s] on a device."""
    return calls_of(side.work) * launch_latency(side.device, shipped())


def _out_of_cache(there: Kernels, here: Kernels, warm_there: Floats, warm: Floats) -> tuple[Floats, Floats]:
    """What all calls of each op take by themselves [s] where no cache holds their operands, on the source and on the
    target; as in the cache where that was not timed on both.
    """
    both = measured.timed_cold(here.work, here.cold)
    ran = both[: len(there.work)] & measured.timed_cold(there.work, there.cold)
    if not (ran.any() or both[len(ran) :].any()):
        return warm_there, warm
    both = np.append(ran, both[len(ran) :])
    cold_there, cold = (_alone(side.work, side.device, side.cold)[1] for side in (there, here))
    return np.fmax(np.where(ran, cold_there, np.nan), warm_there), np.fmax(np.where(both, cold, np.nan), warm)


def _alone(work: pd.DataFrame, device: DeviceSpec, table: pd.DataFrame) -> tuple[Modelled, Floats]:
    """What the models say of each op by itself, and what all its calls take so [s]: as the very shape was measured,
    else as modelled; else NaN.
    """
    known = modelled(work, device, table, np.zeros(len(work)), shipped(), alone=True)
    time = calls_of(work) * measured.times_of(work, table)[1]
    return known, np.where(np.isnan(time), known.time + known.launches * launch_latency(device, shipped()), time)


def _in_step(
    known: Modelled, factor: Floats, colder: Floats, kept: Floats, shorter: Floats
) -> tuple[Modelled, Floats, Flags]:
    """What the models say, each op's time and launches longer by what its step makes of them: ``colder`` caches, and
    by a ``factor`` beyond them, of which the source does not always tell; by how much in all; and where it tells.

    Of its launches a part is ``kept``, so that with them it is ``shorter`` by itself.
    """
    told = ~np.isnan(factor)
    by = np.where(told, factor, 1.0) * colder
    method = np.where(told & ~np.isnan(known.time), "transferred", known.method)
    longer = {name: by * getattr(known, name) for name in ("time", "serial")}
    longer["launches"] = by * kept * known.launches
    longer["least"] = np.minimum(by, 1.0) * known.least  # what did not move on the source moves nowhere
    return dataclasses.replace(known, method=method, **longer), by * shorter, told


def modelled(
    work: pd.DataFrame, target: DeviceSpec, table: pd.DataFrame, carried: Floats, c: Coefficients, alone: bool = False
) -> Modelled:
    """What the models say of every op on the target, corrected by a table of its measured ops, and, as far as those do
    not tell, by the logarithm that is ``carried`` over from the source's run.

    ``alone``: as benchmarks time ops, which find their operands in the cache, faster than memory allows.
    """
    on = hardware_of(target, work["op_class"], work["precision"])
    out = _nothing(len(work))
    precisions = work["precision"].to_numpy(dtype=object)
    for name, _, speaks in by_model(work):
        for precision in set(precisions[speaks]):
            rows = speaks & (precisions == precision)
            corrected, known = _like(name, precision, table, target, c, alone)
            found = _of_model(corrected, work[rows], on.of(rows), target, known, carried[rows], c, alone)
            for field, values in vars(found).items():
                getattr(out, field)[rows] = values
    return out


def _padded(values: Floats, count: int, missing: float) -> Floats:
    """Values of the first ops, and a missing one for each of the rest."""
    return np.concatenate([values, np.full(count - len(values), missing)])


def _nothing(count: int) -> Modelled:
    words, numbers = np.full(count, "", dtype=object), np.full(count, np.nan)
    blank = {"model": words, "method": words, "loadings": np.full((count, AXES), np.nan, dtype=np.float32)}
    return Modelled(**{field: blank.get(field, numbers).copy() for field in Modelled.__dataclass_fields__})


def _like(
    name: str, precision: str, table: pd.DataFrame, target: DeviceSpec, c: Coefficients, alone: bool
) -> tuple[str, Told]:
    """The model that is asked for ops of one model in a precision, and what measured rows tell it: the other one that
    it names, where none of its own tells.
    """
    model = MODELS[name]
    counts = table["flag"].isna().to_numpy() | alone
    if model.by_precision:
        counts &= (table["precision"] == precision).to_numpy(dtype=bool)
    rows = table[model.speaks(table) & counts]
    if model.by_format and not (itemsizes(rows["precision"]) == ITEMSIZE.get(precision)).any():
        rows = rows.assign(precision=precision)
    on, latency = hardware_of(target, rows["op_class"], rows["precision"]), launch_latency(target, c)
    known = told(model, rows, on, target, latency, c, FEW_ALONE if alone else FEW_LAUNCHES)
    nothing = not len(known[1]) and model.instead
    return _like(model.instead, precision, table, target, c, alone) if nothing else (name, known)


def _of_model(
    name: str, work: pd.DataFrame, on: Hardware, target: DeviceSpec, known: Told, carried: Floats, c: Coefficients,
    alone: bool,
) -> Modelled:  # fmt: skip
    """What one model says of ops, corrected by what measured rows tell it."""
    model = MODELS[name]
    busy = model.busy(work, on, target, c)
    ops = model.alike(work, on, target, busy)
    like = model.likeness(c)
    like = like.model_copy(update={"shape": max(like.shape, model.by_caches)}) if alone else like
    said = correction(*known, ops, like)
    calls = calls_of(work)
    time = busy.time * np.exp(said.mean + (1.0 - said.told) * carried)
    time = time if alone else np.maximum(time, busy.least)
    return Modelled(
        model=np.full(len(work), name, dtype=object),
        time=calls * time,
        serial=calls * busy.serial * np.divide(time, busy.time, out=np.ones_like(time), where=busy.time > 0),
        least=calls * np.where(alone & (time < busy.least), 0.0, busy.least),  # memory bounds no op in the cache
        compute_share=busy.compute_share,
        launches=calls * busy.launches,
        log_spread=said.spread,
        loadings=said.loadings,
        method=_method(said, carried),
    )


def told(
    model: Model, rows: pd.DataFrame, on: Hardware, device: DeviceSpec, latency: Floats | float, c: Coefficients,
    few: float = FEW_LAUNCHES,
) -> Told:  # fmt: skip
    """The measured ops of a model's class, the logarithm of measured over modelled busy time of each, and how far that
    is in doubt by the ends of the measured time and by its noise, more than usual where launches are a part of it.

    ``latency`` [s] of one launch as it was measured. What is little beside its launches, ``few`` times them, tells
    nothing.
    """
    if rows.empty:
        return NOTHING, np.empty(0), np.empty(0)
    busy = model.busy(rows, on, device, c)
    launch = busy.launches * latency
    low, time, high = (rows[end].fillna(rows["time_s"]).to_numpy(dtype=float) for end in measured.ENDS)
    busied = time - launch
    tells = np.flatnonzero((busy.time > few * launch) & (busied > LEAST_BUSY * launch))
    part, noise = time[tells] / busied[tells], model.likeness(c).noise
    spread = log_spread(low, high) / np.sqrt(rows["pieces"]) if "pieces" in rows else log_spread(low, high)
    doubt = np.sqrt((part * np.asarray(spread)[tells]) ** 2 + (part**2 - 1.0) * noise**2)
    return model.alike(rows, on, device, busy).at(tells), np.log(busied[tells] / busy.time[tells]), doubt


def _method(said: Correction, carried: Floats) -> Names:
    """The evidence by how much it removes of what was not known, and whether by more than ops of all shapes could."""
    local, some = said.told > said.common + TELLING, said.told > TELLING
    return named([local, some, carried != 0], ["interpolated", "scaled", "transferred"], "roofline")


def named(conditions: Sequence[Flags], names: Sequence[str], otherwise: str) -> Names:
    """The name of the first condition that each op meets."""
    first = np.select(conditions, range(len(names)), len(names))
    return np.asarray(np.array([*names, otherwise], dtype=object)[first])


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
