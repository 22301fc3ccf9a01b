"""The time of a kernel by itself on a device: the model from specifications, corrected by the device's measured rows.

Few measured rows show what the device sustains, near ones are interpolated (calibration.py), and an op whose very shape
was measured takes that time.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd

from estimator.core.interval import log_spread
from estimator.core.types import ITEMSIZE, DeviceSpec, Floats, Names, itemsizes
from estimator.model.arrays import first_met
from estimator.model.calibration import AXES, NO_RESIDUALS, Correction, Residuals, estimate_correction
from estimator.model.coefficients import shipped
from estimator.model.kernels.kernel_model import KernelInputs, KernelModel, calls_of, launch_latency
from estimator.model.kernels.registry import KERNEL_MODELS, models_of
from estimator.model.measured_rows import ENDS
from estimator.model.measured_times import measured_times

MIN_LAUNCHES = 3.0  # times its launches that a measured op must be busy, for its time to be the kernel's
MIN_LAUNCHES_OF_ONE_LIBRARY = 0.3  # the same where one library timed both ops and launches
MIN_BEYOND_LAUNCHES = 0.1  # times its launches that its measured time must be beyond them
MIN_EXPLAINED = 0.05  # share of an op's uncertainty that evidence must remove to be named


@dataclass(frozen=True)
class DeviceOps:
    """Ops on a device, and tables of its measured ops, one row per shape, by the state of the cache."""

    work: pd.DataFrame
    device: DeviceSpec
    tables: Mapping[str, pd.DataFrame]


@dataclass(frozen=True)
class KernelEstimate:
    """What models and evidence say of all calls of each op; NaN where no model matches. One entry per op."""

    model: Names  # which, or nothing
    time_s: Floats  # busy, without launches
    serial_s: Floats  # arithmetic and traffic one after the other
    lower_bound_s: Floats
    compute_share: Floats
    launches: Floats
    log_std: Floats  # standard deviation of the logarithm of the time
    loadings: Floats  # ops × AXES: on what it depends
    method: Names


def isolated_time(ops: DeviceOps, cache: str = "warm") -> tuple[KernelEstimate, Floats]:
    """What the models say of each op by itself, and what all its calls take so [s]: as its very shape was measured,
    else as modelled; else NaN.
    """
    estimate = estimate_kernels(ops, cache, isolated=True)
    measured = calls_of(ops.work) * measured_times(ops.work, ops.tables[cache])[1]
    modelled = estimate.time_s + estimate.launches * launch_latency(ops.device, shipped())
    return estimate, np.where(np.isnan(measured), modelled, measured)


def estimate_kernels(
    ops: DeviceOps, cache: str = "warm", *, class_bias: Floats | None = None, isolated: bool = False
) -> KernelEstimate:
    """What the models say of every op, corrected by the device's ops that were measured with such a ``cache``, and, as
    far as those leave it open, by the logarithm that the source's run has its class biased by.

    ``isolated``: as benchmarks time ops, which find their operands in the cache, faster than memory allows.
    """
    inputs = KernelInputs.on_device(ops.work, ops.device, shipped())
    bias = np.zeros(len(ops.work)) if class_bias is None else class_bias
    precisions, out = ops.work["precision"].to_numpy(dtype=object), _empty(len(ops.work))
    measured = _Measured(ops.tables[cache], ops.device, isolated)
    for name, _, of_model in models_of(ops.work):
        for precision in set(precisions[of_model]):
            rows = of_model & (precisions == precision)
            found = _estimate(inputs.at(rows), *_residuals_of(name, precision, measured), bias[rows], isolated)
            for field, values in vars(found).items():
                getattr(out, field)[rows] = values
    return out


def _empty(count: int) -> KernelEstimate:
    words, numbers = np.full(count, "", dtype=object), np.full(count, np.nan)
    blank = {"model": words, "method": words, "loadings": np.full((count, AXES), np.nan, dtype=np.float32)}
    return KernelEstimate(**{field: blank.get(field, numbers).copy() for field in KernelEstimate.__dataclass_fields__})


@dataclass(frozen=True)
class _Measured:
    """A table of measured ops of a device, and whether ops by themselves are asked for, as they were measured."""

    table: pd.DataFrame
    device: DeviceSpec
    isolated: bool


def _residuals_of(name: str, precision: str, measured: _Measured) -> tuple[str, Residuals]:
    """The model for ops of one model in a precision, and what it misses measured ops by: its fallback, where none of
    its own was measured well enough.
    """
    model = KERNEL_MODELS[name]
    inputs = KernelInputs.on_device(_rows_of(model, precision, measured), measured.device, shipped())
    few = MIN_LAUNCHES_OF_ONE_LIBRARY if measured.isolated else MIN_LAUNCHES
    found = residuals(model, inputs, inputs.launch_s, few)
    nothing = not len(found.log_residual)
    return _residuals_of(model.fallback, precision, measured) if nothing and model.fallback else (name, found)


def _rows_of(model: KernelModel, precision: str, measured: _Measured) -> pd.DataFrame:
    """The measured rows that correct a model in a precision. Where nobody measured a format, rows of others stand for
    it, as far as the model goes by bytes.
    """
    table = measured.table
    usable = table["flag"].isna().to_numpy() | measured.isolated
    if model.by_precision:
        usable &= (table["precision"] == precision).to_numpy(dtype=bool)
    rows = table[model.matches(table) & usable]
    if model.by_format and not (itemsizes(rows["precision"]) == ITEMSIZE.get(precision)).any():
        return rows.assign(precision=precision)
    return rows


def residuals(
    model: KernelModel, measured: KernelInputs, launch_s: Floats | float, min_launches: float = MIN_LAUNCHES
) -> Residuals:
    """By how much a model misses measured ops: the logarithm of measured over modelled busy time of each, and its
    standard deviation by the ends of the measured time and by its noise, more than usual where launches are a part of
    it.

    Args:
        model: of the measured ops.
        measured: the measured ops on their device.
        launch_s: time of one launch as it was measured [s].
        min_launches: ops that are less busy than so many times their launches are left out.

    Returns:
        The residuals of the ops that are not left out.
    """
    if measured.rows.empty:
        return NO_RESIDUALS
    busy = model.busy_time(measured)
    launch = busy.launches * launch_s
    low, time, high = (measured.rows[end].fillna(measured.rows["time_s"]).to_numpy(dtype=float) for end in ENDS)
    measured_busy = time - launch
    usable = np.flatnonzero((busy.time_s > min_launches * launch) & (measured_busy > MIN_BEYOND_LAUNCHES * launch))
    part = time[usable] / measured_busy[usable]
    spread = np.asarray(log_spread(low, high) / np.sqrt(_pieces(measured.rows)))[usable]
    noise = model.hyperparameters(measured.coefficients).noise
    std = np.sqrt((part * spread) ** 2 + (part**2 - 1.0) * noise**2)
    log_residual = np.log(measured_busy[usable] / busy.time_s[usable])
    return Residuals(model.features(measured, busy).at(usable), log_residual, std)


def _pieces(rows: pd.DataFrame) -> Floats:
    """Of how many measurements each row is made."""
    return rows["pieces"].to_numpy(dtype=float) if "pieces" in rows else np.ones(len(rows))


def _estimate(
    inputs: KernelInputs, name: str, measured: Residuals, class_bias: Floats, isolated: bool
) -> KernelEstimate:
    """What one model says of ops, corrected by the residuals of measured ones."""
    model, calls = KERNEL_MODELS[name], calls_of(inputs.rows)
    busy = model.busy_time(inputs)
    hyperparameters = model.hyperparameters(inputs.coefficients)
    hyperparameters = hyperparameters.isolated() if isolated else hyperparameters
    correction = estimate_correction(measured, model.features(inputs, busy), hyperparameters)
    time = busy.time_s * np.exp(correction.mean + (1.0 - correction.explained_share) * class_bias)
    time = time if isolated else np.maximum(time, busy.lower_bound_s)
    longer = np.divide(time, busy.time_s, out=np.ones_like(time), where=busy.time_s > 0)
    in_cache = isolated & (time < busy.lower_bound_s)  # memory bounds no op in the cache
    return KernelEstimate(
        model=np.full(len(calls), name, dtype=object),
        time_s=calls * time,
        serial_s=calls * busy.serial_s * longer,
        lower_bound_s=calls * np.where(in_cache, 0.0, busy.lower_bound_s),
        compute_share=busy.compute_share,
        launches=calls * busy.launches,
        log_std=correction.std,
        loadings=correction.loadings,
        method=_method(correction, class_bias),
    )


def _method(correction: Correction, class_bias: Floats) -> Names:
    """The evidence by how much it removes of what was not known, and whether by more than ops of all shapes could."""
    near = correction.explained_share > correction.common_share + MIN_EXPLAINED
    some = correction.explained_share > MIN_EXPLAINED
    return first_met([near, some, class_bias != 0], ["interpolated", "scaled", "transferred"], "roofline")
