"""The ladder of evidence: what is known of the time of each op on the target.

The models give each op a time from specifications. The target's own measurements correct it as far as they are alike
(calibration.py): few tell what the device sustains, near ones are interpolated, and the very shape gives its own time.
The source's run tells by how much an op is off there. Ops of which no model speaks keep the source's time.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from estimator.core.errors import EstimatorError
from estimator.core.interval import Z
from estimator.core.schema import MATRIX, STREAMING
from estimator.core.types import DeviceSpec, Flags, Floats, Names
from estimator.model import in_step, measured, transfer
from estimator.model.calibration import AXES, Correction, Ops, correction
from estimator.model.coefficients import Coefficients, shipped
from estimator.model.hardware import Hardware, hardware_of
from estimator.model.in_step import Alone
from estimator.model.kernels import Model, by_model, calls_of, launch_latency

FEW_LAUNCHES = 3.0  # times its launches that a measured op must be busy, to tell anything of the kernel
TELLING = 0.05  # share of an op's uncertainty that evidence must remove to be named
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
    efficiency: Floats  # on the source

    @property
    def method(self) -> Names:
        """By which the time was found."""
        return np.asarray(np.where(self.rung == "modelled", self.known.method, self.rung))

    @property
    def launches(self) -> Floats:
        """Those that a time is made of beside the busy time; 0 where it is not modelled."""
        return np.where(self.rung == "modelled", self.known.launches, 0.0)


def gathered(
    work: pd.DataFrame, source: DeviceSpec | None, target: DeviceSpec, measurements: pd.DataFrame,
    same_setting: bool = False, profiled: pd.DataFrame | None = None, at_source: pd.DataFrame | None = None,
    overlap: float = 1.0,
) -> Evidence:  # fmt: skip
    """The rung of the ladder that each op stands on, the first that speaks of it; arguments as of prediction.predict.

    Raises EstimatorError where the target lacks a precision that is asked of it, or all that a time could follow from.
    """
    if not same_setting:
        _refuse(target, work, measurements)
    table = _table(work, measurements)
    ran = work if profiled is None else profiled
    own = work["time_s"].to_numpy(dtype=float)
    if source is not None and at_source is not None and in_step.same_library(at_source, measurements):
        known, times = _in_step(work, ran, source, target, _table(ran, at_source), table, overlap)
    else:
        carried = _padded(transfer.carried_over(ran, source, shipped()), len(work), 0.0)
        known = modelled(work, target, table, carried, shipped())
        times = np.array([own] * 3) if same_setting else calls_of(work) * measured.times_of(work, table)
    speaks = [~np.isnan(values) for values in (times[1], known.time + known.compute_share, own)]
    rung = named(speaks, ["measured", "modelled", "unchanged"], "")
    efficiency = _padded(transfer.efficiency(ran, source), len(work), np.nan)
    return Evidence(known, rung, np.where(rung == "unchanged", own, times), efficiency)


def _table(work: pd.DataFrame, measurements: pd.DataFrame) -> pd.DataFrame:
    """The measured rows that tell of ops like these."""
    alike = measurements["op_class"].isin(work["op_class"]) & measurements["precision"].isin(work["precision"])
    return measured.evidence(measurements[alike | measurements["op_class"].isin(STREAMING)])


def _in_step(
    work: pd.DataFrame, ran: pd.DataFrame, source: DeviceSpec, target: DeviceSpec, at_source: pd.DataFrame,
    at_target: pd.DataFrame, overlap: float,
) -> tuple[Modelled, Floats]:  # fmt: skip
    """What the models and the very shapes' measurements say of each op, with what its step added on the source. Ops
    that ran at once had a part of the device each: what they took of all of it is less by the overlap.
    """
    known, times, on_target = _alone(work, target, at_target)
    _, _, there = _alone(ran, source, at_source)
    own = _padded(overlap * ran["time_s"].to_numpy(dtype=float), len(work), np.nan)
    on_source = Alone(_padded(there.busy, len(work), np.nan), _padded(there.launches, len(work), np.nan), there.latency)
    taken = in_step.in_step(own, on_source, on_target, in_step.traffic_ratio(source, target))
    busy, launches = (np.where(np.isnan(own), values, values / overlap) for values in taken)
    added = np.divide(busy, on_target.busy, out=np.ones_like(busy), where=on_target.busy > 0)
    told = ~np.isnan(known.time) & ~np.isnan(on_source.busy) & ~np.isnan(own)
    method = np.where(told, "transferred", known.method)
    changed = dataclasses.replace(
        known, time=known.time * added, serial=known.serial * added, launches=launches, method=method
    )
    return changed, times * (busy + launches * on_target.latency) / times[1]


def _alone(work: pd.DataFrame, device: DeviceSpec, table: pd.DataFrame) -> tuple[Modelled, Floats, Alone]:
    """What the models say of each op, the times of the very shapes (3 × ops) [s], and what follows of it alone."""
    known = modelled(work, device, table, np.zeros(len(work)), shipped())
    calls, latency = calls_of(work), launch_latency(device, shipped())
    times, launches = calls * measured.times_of(work, table), np.where(np.isnan(known.launches), calls, known.launches)
    busy = np.where(np.isnan(times[1]), known.time, np.maximum(times[1] - launches * latency, 0.0))
    return known, times, Alone(busy, launches, latency)


def modelled(work: pd.DataFrame, target: DeviceSpec, table: pd.DataFrame, carried: Floats, c: Coefficients) -> Modelled:
    """What the models say of every op on the target, corrected by a table of its measured ops, and, as far as those do
    not tell, by the logarithm that is ``carried`` over from the source's run.
    """
    on = hardware_of(target, work["op_class"], work["precision"])
    out = _nothing(len(work))
    precisions = work["precision"].to_numpy(dtype=object)
    for name, model, speaks in by_model(work):
        for precision in set(precisions[speaks]):
            rows = speaks & (precisions == precision)
            like = table[table["precision"] == precision] if model.by_precision else table
            found = _of_model(name, model, work[rows], on.of(rows), target, like, carried[rows], c)
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
    calls = calls_of(work)
    time = np.maximum(busy.time * np.exp(said.mean + (1.0 - said.told) * carried), busy.least)
    return Modelled(
        model=np.full(len(work), name, dtype=object),
        time=calls * time,
        serial=calls * busy.serial * np.divide(time, busy.time, out=np.ones_like(time), where=busy.time > 0),
        least=calls * busy.least,
        compute_share=busy.compute_share,
        launches=calls * busy.launches,
        log_spread=said.spread,
        loadings=said.loadings,
        method=_method(said, carried),
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
