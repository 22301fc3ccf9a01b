"""Bounds on measured times from a device's data sheet: arithmetic and memory traffic.

The work is direct arithmetic on the shape and compulsory traffic from memory. A matrix product above ABOVE_PEAK times
the peak cannot be right. Other rows may be faster than the bound and are then flagged: Winograd and FFT convolutions do
less arithmetic, and operands in the cache need no memory traffic.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd

from estimator.core import physics
from estimator.core.conv_shape import ConvShape
from estimator.core.passes import passes_of
from estimator.core.recurrent_shape import RecurrentShape
from estimator.core.schema import MATRIX, STREAMING, numbers
from estimator.core.types import ITEMSIZE, DeviceSpec, Flags, Floats, Sourced, itemsizes

ABOVE_PEAK = 1.05
BYTES_PER_VALUE = ITEMSIZE | {"tf32": 2.5}  # tf32 between bf16 and fp32


def product_rates(rows: pd.DataFrame) -> Floats:
    """Rate of each dense matrix product [FLOP/s]; NaN for other rows."""
    return np.where(dense_products(rows), physics.gemm_flop(*_dimensions(rows)) / rows["time_s"].to_numpy(), np.nan)


def rates(rows: pd.DataFrame) -> Floats:
    """Rate of direct arithmetic of each row [FLOP/s]; NaN where the arithmetic is not known."""
    flop = work_of_call(rows)[0]
    return np.asarray(np.where(flop > 0, flop, np.nan) / rows["time_s"].to_numpy())


def least_times(rows: pd.DataFrame, device: DeviceSpec) -> Floats:
    """Lower bound on each time [s]: direct arithmetic at the peak and compulsory traffic; 0 where unknown."""
    flop, bytes_ = work_of_call(rows)
    bandwidth = device.memory_bandwidth.value if device.memory_bandwidth else np.inf
    return physics.ideal_time(flop, bytes_, peaks(rows, device), bandwidth)


def dense_products(rows: pd.DataFrame) -> Flags:
    """Which rows are matrix products that are not sparse."""
    return np.asarray((rows["op_class"] == "gemm") & ~(rows["sparsity"] > 0), dtype=bool)


def above_peak(rows: pd.DataFrame, device: DeviceSpec) -> Flags:
    """Which rows are dense matrix products above ABOVE_PEAK times the peak."""
    return product_rates(rows) > ABOVE_PEAK * peaks(rows, physical(device))


def physical(device: DeviceSpec) -> DeviceSpec:
    """The device with inf in place of measured rates: another kernel may exceed them."""

    def limit(rate: Sourced | None) -> Sourced | None:
        return rate.model_copy(update={"value": np.inf}) if rate and rate.status == "measured" else rate

    paths = {name: {"vector": limit(peak.vector), "tensor": limit(peak.tensor)} for name, peak in device.peak.items()}
    peak = {name: peak.model_copy(update=paths[name]) for name, peak in device.peak.items()}
    return device.model_copy(update={"peak": peak, "memory_bandwidth": limit(device.memory_bandwidth)})


def peaks(rows: pd.DataFrame, device: DeviceSpec) -> Floats:
    """Highest possible peak of each row [FLOP/s] by its precision and accumulator; inf where unknown."""
    (precision_code, precisions), (accumulate_code, accumulates) = (
        pd.factorize(rows[name].fillna("")) for name in ("precision", "accumulate")
    )
    limits = [
        [max(_possible_rates(device, precision, accumulate), default=np.inf) for accumulate in accumulates]
        for precision in precisions
    ]
    table = np.array(limits, dtype=float).reshape(len(precisions), len(accumulates))
    return np.asarray(table[precision_code, accumulate_code])


def _possible_rates(device: DeviceSpec, precision: str, accumulate: str) -> Iterator[float]:
    """The rates [FLOP/s] at which operands of a precision can be multiplied and summed; '' is any accumulator.

    Vector units sum in the operands' own format unless the device says otherwise. Operands can always be widened to
    the format of the sums (fp16 operands on fp32 units), so those rates count too.
    """
    peak = device.peak_of(precision)
    if not any((peak.vector, peak.tensor)) and peak.supported:
        return  # unknown
    accumulate_bytes = ITEMSIZE.get(accumulate)
    for rate, own_format in ((peak.vector, precision), (peak.tensor, None)):
        if not rate:
            continue
        rate_bytes = ITEMSIZE.get(rate.accumulate or own_format or "")
        if accumulate_bytes is None or rate_bytes is None or rate_bytes == accumulate_bytes:
            yield rate.value
        elif own_format is None and accumulate_bytes < rate_bytes:
            yield np.inf  # narrower sums may be faster than the data sheet's
    if accumulate_bytes is None or not peak.supported:
        wider = [name for name in BYTES_PER_VALUE if BYTES_PER_VALUE[name] > BYTES_PER_VALUE[precision]]
        yield from _all_rates(device, wider or ([] if peak.supported else list(BYTES_PER_VALUE)))
    elif accumulate_bytes > ITEMSIZE[precision]:
        yield from _all_rates(device, [accumulate])


def _all_rates(device: DeviceSpec, precisions: list[str]) -> Iterator[float]:
    peaks = (device.peak_of(precision) for precision in precisions)
    yield from (rate.value for peak in peaks for rate in (peak.vector, peak.tensor) if rate)


def without_hardware_path(rows: pd.DataFrame, device: DeviceSpec, precision: str) -> Flags:
    """Which rows are matrix work in a precision for which the device has no hardware path."""
    if device.peak_of(precision).supported:
        return np.zeros(len(rows), dtype=bool)
    return np.asarray(rows["op_class"].isin(MATRIX) & (rows["precision"] == precision), dtype=bool)


def empty_outputs(rows: pd.DataFrame) -> Flags:
    """Which rows are convolutions whose kernel is larger than the padded image."""
    conv = (rows["op_class"] == "convolution").to_numpy(dtype=bool)
    return np.asarray(conv & (ConvShape.from_table(rows).output < 1).any(axis=0))


def work_of_call(rows: pd.DataFrame) -> tuple[Floats, Floats]:
    """Direct FLOP and compulsory bytes of one call of each row; 0 where neither is known."""
    itemsize = itemsizes(rows["precision"])
    gemm, conv = dense_products(rows), (rows["op_class"] == "convolution").to_numpy(dtype=bool)
    dimensions = _dimensions(rows)
    conv_flop, conv_bytes = _convolution_work(rows, itemsize)
    streamed = np.where(rows["op_class"].isin(STREAMING), numbers(rows, "bytes"), 0.0)
    recurrent, layer = (rows["op_class"] == "recurrent").to_numpy(dtype=bool), RecurrentShape.from_table(rows)
    matrix = [gemm, conv, recurrent]
    flop = np.select(matrix, [physics.gemm_flop(*dimensions), conv_flop, passes_of(rows) * layer.flop()], 0.0)
    bytes_ = np.select(matrix, [physics.gemm_bytes(*dimensions, itemsize), conv_bytes, layer.bytes(itemsize)], streamed)
    return np.nan_to_num(flop), np.nan_to_num(bytes_)


def _dimensions(rows: pd.DataFrame) -> tuple[Floats, Floats, Floats, Floats]:
    """Batch, m, n and k of matrix products."""
    return numbers(rows, "batch"), numbers(rows, "m"), numbers(rows, "n"), numbers(rows, "k")


def _convolution_work(rows: pd.DataFrame, itemsize: Floats) -> tuple[Floats, Floats]:
    """Direct FLOP of all passes, and compulsory bytes of one."""
    shape = ConvShape.from_table(rows)
    return passes_of(rows) * shape.flop(), shape.bytes(itemsize)
