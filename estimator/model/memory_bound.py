"""Time of memory-bound kernels from their traffic: element-wise work, movement, reductions, softmax, normalizations.

t = max(W/P, passes · Q/(share · B)), without launch. The compulsory traffic Q streams at the share of the bandwidth
that a plain kernel attains. A kernel that reduces each row reads it again, from memory as far as the rows in flight
exceed the cache. This is the structure of PyTorch's kernels (aten/src/ATen/native/cuda/SoftMax.cu,
layer_norm_kernel.cu): a short row of a softmax stays in registers, a longer one is read for its maximum, its sum and
its result; a layer norm reads each row for its moments and for its result.

A batch normalization reads every image of a channel twice too, and one unit of a GPU runs a channel (cuDNN's kernels
bn_fw_tr_1C11 and bn_bw_1C11; PyTorch's Normalization.cuh). A pool addresses each element by itself
(DilatedMaxPool2d.cu, AveragePool2d.cu). Where memory is fast, the units of a GPU limit both:
t = Q / itemsize · cycles / (min(units, channels) · clock).

The coefficients are those of coefficients/memory_bound.yaml, fitted by estimator/fitting/memory_bound.py. As shares
are at most 1 and passes at least 1, no time is below the roofline.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd
from pydantic import Field

from estimator.core.operators import attribute, benchmark_kernels
from estimator.core.schema import numbers
from estimator.core.types import File, Flags, Floats, itemsizes
from estimator.model.hardware import Hardware

MAX_REGISTER_ROW = 1024  # elements of the longest row that a softmax keeps in registers
BYTES_IN_FLIGHT = 2048 * 16  # bytes in flight in one unit: threads that reside in it, times a vector load
SOFTMAX_ROWS, NORMALIZATION_ROWS = 2, 16  # rows in flight in one unit: blocks of 1,024 and of 128 threads
REREAD_SHARE = 0.5  # reread part of a normalization's traffic, of one read and one write


class RereadCache(File):
    """Cache behaviour of reread rows."""

    source: str
    share: float = Field(gt=0, le=1, description="of the cache, that holds what is read; the rest, what is written")
    sharpness: float = Field(gt=0, description="with which a cache ceases to hold a growing amount")


class UnitElements(File):
    """What a GPU's unit takes for each element that pools and batch normalizations read or write."""

    source: str
    cycles: float = Field(gt=0, description="of a unit for one element")


class MemoryBoundCoefficients(File):
    """The coefficients, in text."""

    source: str
    streaming: float = Field(gt=0, le=1, description="share of the bandwidth that a plain kernel attains")
    streaming_std: float = Field(ge=0, description="standard deviation of its logarithm over devices; assumed")
    softmax_short: float = Field(ge=1, description="passes of a softmax whose rows stay in registers")
    softmax_long: float = Field(ge=1, description="passes of one whose rows stay in the cache")
    row_overhead: float = Field(ge=0, description="what a row costs a normalization beside its elements [elements]")
    cache: RereadCache
    unit_elements: UnitElements


@dataclass(frozen=True)
class StreamCalls:
    """Calls of memory-bound kernels, one entry per call."""

    kernel: npt.NDArray[np.str_]  # stream, softmax or normalization
    bytes: Floats  # compulsory traffic [B]
    flop: Floats
    row_length: Floats  # of softmax and layer norm [elements]; NaN where unknown
    itemsize: Floats  # [B]
    by_element: Flags  # whether units take each element by itself: pools and batch normalizations
    channels: Floats  # of a batch normalization; NaN of others, and where unknown
    read_share: Floats  # of the compulsory traffic of a batch normalization, which it reads twice; 0 of others


def stream_calls(rows: pd.DataFrame, calls: Floats | float = 1.0) -> StreamCalls:
    """The calls of rows of WORK, with ``bytes`` and ``flop`` of ``calls`` calls, or of TRUTH."""
    is_normalization = (rows["op_class"] == "normalization").to_numpy(dtype=bool, na_value=False)
    is_softmax = (
        is_normalization & (benchmark_kernels(rows) == "softmax") if is_normalization.any() else is_normalization
    )
    kernel = np.select([is_softmax, is_normalization], ["softmax", "normalization"], "stream")
    bytes_, flop = numbers(rows, "bytes") / calls, numbers(rows, "flop") / calls
    row_length, itemsize = numbers(rows, "row_length"), itemsizes(rows["precision"])
    by_channel = is_batch_normalization(rows)
    return StreamCalls(
        kernel,
        bytes_,
        np.nan_to_num(flop),
        row_length,
        itemsize,
        by_element=_is_pool(rows) | by_channel,
        channels=np.where(by_channel, numbers(rows, "conv_c"), np.nan),
        read_share=_read_shares(rows, by_channel),
    )


def takes_units(rows: pd.DataFrame) -> Flags:
    """Which rows are pools and batch normalizations, whose elements a GPU's units take one by one."""
    return _is_pool(rows) | is_batch_normalization(rows)


def _is_pool(rows: pd.DataFrame) -> Flags:
    return np.asarray((rows["op_class"] == "pooling").to_numpy(dtype=bool, na_value=False))


def is_batch_normalization(rows: pd.DataFrame) -> Flags:
    """Which rows of WORK, or of TRUTH, normalize each channel over all images, or compute that gradient."""
    is_normalization = (rows["op_class"] == "normalization").to_numpy(dtype=bool, na_value=False)
    if not is_normalization.any():
        return np.asarray(is_normalization)
    return np.asarray(is_normalization & (attribute(rows, "along") == "images"))


def _read_shares(rows: pd.DataFrame, by_channel: Flags) -> Floats:
    """The share of its compulsory traffic that a batch normalization reads; 0 of other rows."""
    shares = np.zeros(len(rows))
    if by_channel.any():
        reads, writes = (attribute(rows[by_channel], name).astype(float) for name in ("reads", "writes"))
        shares[by_channel] = reads / (reads + writes)
    return shares


def passes(calls: StreamCalls, hardware: Hardware, coefficients: MemoryBoundCoefficients) -> Floats:
    """Traffic / compulsory traffic, at least 1.

    Where rows, units or cache are unknown, rows are long, and half of the rereads go to memory.
    """
    row_bytes = calls.row_length * calls.itemsize
    softmax_rows = hardware.units * np.maximum(BYTES_IN_FLIGHT, SOFTMAX_ROWS * row_bytes)
    long_rows = 1.0 + _miss_share(softmax_rows, hardware.cache, coefficients.cache)
    long_rows = np.maximum(long_rows, max(coefficients.softmax_short, coefficients.softmax_long))
    softmax_passes = np.where(calls.row_length <= MAX_REGISTER_ROW, coefficients.softmax_short, long_rows)
    reread = REREAD_SHARE * _miss_share(
        hardware.units * NORMALIZATION_ROWS * row_bytes, hardware.cache, coefficients.cache
    )
    normalization = (1.0 + reread) * (1.0 + np.nan_to_num(coefficients.row_overhead / calls.row_length))
    kinds = [calls.kernel == "softmax", calls.read_share > 0, calls.kernel == "normalization"]
    batch = _batch_passes(calls, hardware, coefficients.cache)
    return np.select(kinds, [softmax_passes, batch, normalization], 1.0)


def _batch_passes(calls: StreamCalls, hardware: Hardware, cache: RereadCache) -> Floats:
    """Passes of batch normalizations, which read the images of the channels in flight twice."""
    in_flight = calls.read_share * calls.bytes * np.fmin(1.0, hardware.units / calls.channels)
    return 1.0 + calls.read_share * _miss_share(np.where(in_flight > 0, in_flight, np.nan), hardware.cache, cache)


def _miss_share(in_flight: Floats, cache_size: Floats, cache: RereadCache) -> Floats:
    """Share of rereads that go to memory, by the bytes of rows in flight; 0.5 where unknown."""
    ratio = np.nan_to_num(cache.share * cache_size / in_flight, nan=1.0)
    return np.asarray(1.0 / (1.0 + ratio**cache.sharpness))


def stream_time(
    calls: StreamCalls, hardware: Hardware, bandwidth: Floats, coefficients: MemoryBoundCoefficients
) -> Floats:
    """Time of each call [s] without launch, at the sustained ``bandwidth`` [B/s]."""
    memory_s = passes(calls, hardware, coefficients) * calls.bytes / bandwidth
    by_units_s = np.where(calls.by_element, unit_time(calls, hardware, coefficients.unit_elements.cycles), 0.0)
    return np.asarray(np.fmax(np.maximum(calls.flop / hardware.peak, memory_s), by_units_s))


def unit_time(calls: StreamCalls, hardware: Hardware, cycles: float) -> Floats:
    """Time of each call [s] if every element takes ``cycles`` of a unit; NaN where the units' rate is unknown.

    t = Q / itemsize · cycles / (units · clock · min(1, channels / units)), as one unit runs a channel.
    """
    busy = np.fmin(1.0, calls.channels / hardware.units)
    return np.asarray(calls.bytes / calls.itemsize * cycles / (hardware.unit_rate * busy))
