"""The isolated time of a kernel on a device: the model from specifications, corrected by the device's measured rows.

A few measured rows show what the device sustains, near ones are interpolated (calibration.py), and an op of a measured
shape takes the measured time. Where no product of the device was measured in a format, those that resemble them most
correct the model (resemblance.py).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd

from estimator.core.interval import log_spread
from estimator.core.physics import ratio
from estimator.core.types import ITEMSIZE, DeviceSpec, Floats, MeasuredDevice, Names, Sourced, itemsizes
from estimator.model.arrays import first_met
from estimator.model.calibration import AXES, NO_RESIDUALS, Correction, Residuals, estimate_correction
from estimator.model.coefficients import shipped
from estimator.model.kernels.kernel_model import KernelInputs, KernelModel, calls_of, launch_latency
from estimator.model.kernels.registry import KERNEL_MODELS, correcting_rows, models_of
from estimator.model.measured_rows import ENDS
from estimator.model.measured_times import measured_times
from estimator.model.resemblance import Siblings, nearest_first

UNIT_FIELDS = ("compute_units", "boost_clock")  # of a device, which may be assumed
MIN_LAUNCHES = 3.0  # times its launches that a measured op must be busy
MIN_LAUNCHES_SAME_LIBRARY = 0.3  # the same where one library timed ops and launches
MIN_BEYOND_LAUNCHES = 0.1  # times its launches by which the measured time must exceed them
MIN_EXPLAINED = 0.05  # share of an op's variance that evidence must remove to be named as method


@dataclass(frozen=True)
class DeviceOps:
    """Ops on a device, and its tables of measured ops, one row per shape, by cache state."""

    work: pd.DataFrame
    device: DeviceSpec
    tables: Mapping[str, pd.DataFrame]
    siblings: Siblings = tuple  # with one row per shape too; asked for where products were not measured


@dataclass(frozen=True)
class KernelEstimate:
    """Estimate of all calls of each op, one entry per op; NaN where no model matches."""

    model: Names  # name of the model, or empty
    time_s: Floats  # busy, without launches
    serial_s: Floats  # arithmetic and traffic one after the other
    lower_bound_s: Floats
    compute_share: Floats
    launches: Floats
    start_share: Floats  # of the time: waits that neither the peak nor the bandwidth shortens
    unit_slopes: Floats  # ops × UNIT_FIELDS: d ln t / d ln of these numbers of the device, where they are uncertain
    log_std: Floats  # standard deviation of the logarithm of the time
    loadings: Floats  # ops × AXES
    method: Names
    resembling: Names  # whose measured ops correct the model where its own were not measured, in words; or empty


def isolated_time(ops: DeviceOps, cache: str = "warm") -> tuple[KernelEstimate, Floats]:
    """Estimate of each op by itself, and the isolated time of all its calls [s]: measured, else modelled, else NaN."""
    estimate = estimate_kernels(ops, cache, isolated=True)
    measured = calls_of(ops.work) * measured_times(ops.work, ops.tables[cache])[1]
    return estimate, np.where(np.isnan(measured), modelled_times(estimate, ops.device), measured)


def modelled_times(estimate: KernelEstimate, device: DeviceSpec) -> Floats:
    """Time of all calls of each op with launches [s], at nominal inputs."""
    return estimate.time_s + estimate.launches * launch_latency(device, shipped())


def estimate_kernels(ops: DeviceOps, cache: str = "warm", *, isolated: bool = False) -> KernelEstimate:
    """Estimate every op by its model, corrected by the device's ops measured with this ``cache`` state.

    ``isolated``: as in benchmarks, with operands in the cache, which may be faster than memory allows.
    """
    inputs = KernelInputs.on_device(ops.work, ops.device, shipped())
    precisions, out = ops.work["precision"].to_numpy(dtype=object), _empty(len(ops.work))
    measured = _MeasuredTable(ops.tables[cache], ops.device, isolated)
    for name, _, is_of_model in models_of(ops.work, ops.device):
        for precision in set(precisions[is_of_model]):
            rows = is_of_model & (precisions == precision)
            evidence = _evidence_of(name, precision, measured, ops.siblings)
            estimate = _estimate(inputs.at(rows), evidence, isolated)
            for field, values in vars(estimate).items():
                getattr(out, field)[rows] = values
    return out


def _empty(count: int) -> KernelEstimate:
    texts, numbers = np.full(count, "", dtype=object), np.full(count, np.nan)
    defaults = {
        "model": texts,
        "method": texts,
        "resembling": texts,
        "loadings": np.full((count, AXES), np.nan, dtype=np.float32),
        "unit_slopes": np.zeros((count, len(UNIT_FIELDS))),
    }
    return KernelEstimate(
        **{field: defaults.get(field, numbers).copy() for field in KernelEstimate.__dataclass_fields__}
    )


@dataclass(frozen=True)
class _MeasuredTable:
    """A table of measured ops of a device; ``isolated``: for estimates of isolated ops."""

    table: pd.DataFrame
    device: DeviceSpec
    isolated: bool


@dataclass(frozen=True)
class _Evidence:
    """What corrects a model: residuals of measured ops, and the correlation of their device's with the wanted one's."""

    model_name: str
    residuals: Residuals
    weight: float = 1.0
    resembling: str = ""


def _evidence_of(model_name: str, precision: str, measured: _MeasuredTable, siblings: Siblings) -> _Evidence:
    """The evidence of the device's own ops; where there is none, that of measured ops that resemble them most."""
    own = _Evidence(*_residuals_of(model_name, precision, measured))
    model = KERNEL_MODELS[own.model_name]
    if model.by_resemblance and not len(own.residuals.log_residual):
        here = MeasuredDevice(measured.device, measured.table)
        for each in nearest_first(here, siblings(), precision):
            table = _MeasuredTable(each.measured.measurements, each.measured.device, measured.isolated)
            resembling = _own_residuals(model, each.precision, table)
            if len(resembling.log_residual):
                return _Evidence(own.model_name, resembling, each.weight, str(each))
    return own


def _residuals_of(model_name: str, precision: str, measured: _MeasuredTable) -> tuple[str, Residuals]:
    """The model for ops in a precision and its residuals; its fallback where none of its own ops was measured well."""
    model = KERNEL_MODELS[model_name]
    own_residuals = _own_residuals(model, precision, measured)
    if model.fallback and not len(own_residuals.log_residual):
        return _residuals_of(model.fallback, precision, measured)
    return model_name, own_residuals


def _own_residuals(model: KernelModel, precision: str, measured: _MeasuredTable) -> Residuals:
    """The residuals of a model in a precision, for ops of its own that were measured well."""
    if measured.table.empty:
        return NO_RESIDUALS
    inputs = KernelInputs.on_device(_rows_for_model(model, precision, measured), measured.device, shipped())
    min_launches = MIN_LAUNCHES_SAME_LIBRARY if measured.isolated else MIN_LAUNCHES
    return residuals(model, inputs, inputs.launch_s, min_launches)


def _rows_for_model(model: KernelModel, precision: str, measured: _MeasuredTable) -> pd.DataFrame:
    """The measured rows that correct a model in a precision.

    Where a format was not measured, rows of other formats are used, for models that depend on bytes only.
    """
    table = measured.table
    usable = table["flag"].isna().to_numpy() | measured.isolated
    if model.by_precision:
        usable &= (table["precision"] == precision).to_numpy(dtype=bool)
    rows = table[correcting_rows(model, table, measured.device) & usable]
    if model.by_format and not (itemsizes(rows["precision"]) == ITEMSIZE.get(precision)).any():
        return rows.assign(precision=precision)
    return rows


def residuals(
    model: KernelModel, measured: KernelInputs, launch_s: Floats | float, min_launches: float = MIN_LAUNCHES
) -> Residuals:
    """Residuals of a model for measured ops: log(measured / modelled busy time) and its standard deviation.

    The standard deviation has parts from the measured interval and from noise, which grows with the share of launches.

    Args:
        model: the model of the measured ops.
        measured: the measured ops on their device.
        launch_s: measured time of one launch [s].
        min_launches: ops with a busy time below so many times their launches are left out.

    Returns:
        The residuals of the ops not left out.
    """
    if measured.rows.empty:
        return NO_RESIDUALS
    busy = model.busy_time(measured)
    launch_total_s = busy.launches * launch_s
    low_s, time_s, high_s = (measured.rows[end].fillna(measured.rows["time_s"]).to_numpy(dtype=float) for end in ENDS)
    measured_busy = time_s - launch_total_s
    usable = np.flatnonzero(
        (busy.time_s > min_launches * launch_total_s) & (measured_busy > MIN_BEYOND_LAUNCHES * launch_total_s)
    )
    ratio = time_s[usable] / measured_busy[usable]
    spread = np.asarray(log_spread(low_s, high_s) / np.sqrt(_pieces(measured.rows)))[usable]
    noise = model.hyperparameters(measured.coefficients).noise
    residual_std = np.sqrt((ratio * spread) ** 2 + (ratio**2 - 1.0) * noise**2)
    log_residual = np.log(measured_busy[usable] / busy.time_s[usable])
    return Residuals(model.features(measured, busy).at(usable), log_residual, residual_std)


def _pieces(rows: pd.DataFrame) -> Floats:
    """The number of measurements behind each row."""
    return rows["pieces"].to_numpy(dtype=float) if "pieces" in rows else np.ones(len(rows))


def _estimate(inputs: KernelInputs, evidence: _Evidence, isolated: bool) -> KernelEstimate:
    """Estimate ops by one model, corrected by the residuals of measured ones."""
    name, calls = evidence.model_name, calls_of(inputs.rows)
    model = KERNEL_MODELS[name]
    busy = model.busy_time(inputs)
    hyperparameters = model.hyperparameters(inputs.coefficients)
    hyperparameters = hyperparameters.isolated() if isolated else hyperparameters
    features = model.features(inputs, busy)
    correction = estimate_correction(evidence.residuals, features, hyperparameters, evidence.weight)
    time_s = busy.time_s * np.exp(correction.mean)
    time_s = time_s if isolated else np.maximum(time_s, busy.lower_bound_s)
    factor = ratio(time_s, busy.time_s)
    in_cache = isolated & (time_s < busy.lower_bound_s)  # memory does not bound ops in the cache
    return KernelEstimate(
        model=np.full(len(calls), name, dtype=object),
        time_s=calls * time_s,
        serial_s=calls * busy.serial_s * factor,
        lower_bound_s=calls * np.where(in_cache, 0.0, busy.lower_bound_s),
        compute_share=busy.compute_share,
        launches=calls * busy.launches,
        start_share=np.broadcast_to(busy.start_share, calls.shape),
        unit_slopes=_unit_slopes(model, inputs),
        log_std=correction.std,
        loadings=correction.loadings,
        method=_method(correction, is_own=not evidence.resembling),
        resembling=np.full(len(calls), evidence.resembling, dtype=object),
    )


def _unit_slopes(model: KernelModel, inputs: KernelInputs) -> Floats:
    """d ln t / d ln of each of UNIT_FIELDS (ops × UNIT_FIELDS), over its whole uncertainty; 0 where it is certain."""
    slopes = np.zeros((len(inputs.rows), len(UNIT_FIELDS)))
    for column, field in enumerate(UNIT_FIELDS):
        number: Sourced | None = getattr(inputs.device, field)
        if number is not None and number.relative_uncertainty:
            ends = np.array([-1.0, 1.0]) * np.log1p(number.relative_uncertainty)
            low_s, high_s = (_busy_s(model, inputs, {field: number.value * np.exp(end)}) for end in ends)
            slopes[:, column] = np.nan_to_num(np.log(ratio(high_s, low_s, 1.0)) / np.ptp(ends))
    return slopes


def _busy_s(model: KernelModel, inputs: KernelInputs, numbers: Mapping[str, float]) -> Floats:
    """Busy time of one call of each op, with other numbers of the device [s]."""
    fields = {name: getattr(inputs.device, name).model_copy(update={"value": value}) for name, value in numbers.items()}
    device = inputs.device.model_copy(update=fields)
    return model.busy_time(KernelInputs.on_device(inputs.rows, device, inputs.coefficients)).time_s


def _method(correction: Correction, *, is_own: bool) -> Names:
    """The method by the explained share of variance: interpolated, where it exceeds that of all shapes.

    ``is_own``: whether the device's own ops explain it; others only scale.
    """
    is_interpolated = is_own & (correction.explained_share > correction.common_share + MIN_EXPLAINED)
    is_scaled = correction.explained_share > MIN_EXPLAINED
    return first_met([is_interpolated, is_scaled], ["interpolated", "scaled"], "roofline")
