"""Time of memory-bound kernels from their traffic: element-wise work, movement, reductions, softmax, normalizations.

t = max(W/P, passes · Q/(share · B)) beside the launch. The compulsory traffic Q streams at the share of the
bandwidth that a plain kernel attains. A kernel that reduces each row reads it again, from memory as far as the rows in
flight outgrow the cache. So PyTorch's kernels are built (aten/src/ATen/native/cuda/SoftMax.cu, layer_norm_kernel.cu):
a short row of a softmax stays in registers, a longer one is read for its maximum, its sum and its result; a layer norm
reads each row for its moments and for its result.

The coefficients are those of coefficients/memory_bound.yaml, fitted by estimator/fitting/memory_bound.py. As shares
are at most 1, and passes at least 1, no time is below the roofline.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd
from pydantic import Field

from estimator.core.operators import benchmark_kernels
from estimator.core.schema import numbers
from estimator.core.types import File, Floats, itemsizes
from estimator.model.hardware import Hardware

REGISTERS = 1024  # elements of the longest row that a softmax keeps in registers
LOADS = 2048 * 16  # bytes in flight in one unit: threads that reside in it, times a vector load
SOFTMAX_ROWS, NORMALIZATION_ROWS = 2, 16  # rows in flight in one unit: blocks of 1,024 and of 128 threads
READ_AGAIN = 0.5  # of the traffic of a normalization, one read and one write


class RereadCache(File):
    """How a cache holds rows that are read again."""

    source: str
    share: float = Field(gt=0, le=1, description="of the cache, that holds what is read; the rest, what is written")
    sharpness: float = Field(gt=0, description="with which a cache ceases to hold a growing amount")


class MemoryBoundCoefficients(File):
    """The coefficients, in text."""

    source: str
    streaming: float = Field(gt=0, le=1, description="share of the bandwidth that a plain kernel attains")
    streaming_std: float = Field(ge=0, description="standard deviation of its logarithm over devices")
    softmax_short: float = Field(ge=1, description="passes of a softmax whose rows stay in registers")
    softmax_long: float = Field(ge=1, description="passes of one whose rows stay in the cache")
    row_overhead: float = Field(ge=0, description="what a row costs a normalization beside its elements [elements]")
    cache: RereadCache


@dataclass(frozen=True)
class StreamCalls:
    """Calls of memory-bound kernels, one entry per call."""

    kernel: npt.NDArray[np.str_]  # stream, softmax or normalization
    bytes: Floats  # compulsory traffic [B]
    flop: Floats
    row_length: Floats  # of softmax and layer norm [elements]; NaN where unknown
    itemsize: Floats  # [B]


def stream_calls(rows: pd.DataFrame, calls: Floats | float = 1.0) -> StreamCalls:
    """The calls of rows of WORK, whose ``bytes`` and ``flop`` are those of so many calls, or of TRUTH."""
    normal = (rows["op_class"] == "normalization").to_numpy(dtype=bool, na_value=False)
    softmax = normal & (benchmark_kernels(rows) == "softmax")
    kernel = np.select([softmax, normal], ["softmax", "normalization"], "stream")
    bytes_, flop = numbers(rows, "bytes") / calls, numbers(rows, "flop") / calls
    length = numbers(rows, "row_length")
    return StreamCalls(kernel, bytes_, np.nan_to_num(flop), length, itemsizes(rows["precision"]))


def passes(calls: StreamCalls, hardware: Hardware, coefficients: MemoryBoundCoefficients) -> Floats:
    """Traffic over compulsory traffic, at least 1. Where rows, units or cache are not known, rows are long, and half of
    what is read again comes from memory.
    """
    row_bytes = calls.row_length * calls.itemsize
    softmax_rows = hardware.units * np.maximum(LOADS, SOFTMAX_ROWS * row_bytes)
    long = 1.0 + _missed(softmax_rows, hardware.cache, coefficients.cache)
    long = np.maximum(long, max(coefficients.softmax_short, coefficients.softmax_long))
    softmax = np.where(calls.row_length <= REGISTERS, coefficients.softmax_short, long)
    again = READ_AGAIN * _missed(hardware.units * NORMALIZATION_ROWS * row_bytes, hardware.cache, coefficients.cache)
    normalization = (1.0 + again) * (1.0 + np.nan_to_num(coefficients.row_overhead / calls.row_length))
    return np.select([calls.kernel == "softmax", calls.kernel == "normalization"], [softmax, normalization], 1.0)


def _missed(in_flight: Floats, cache_size: Floats, cache: RereadCache) -> Floats:
    """Share of repeated reads that go to memory, with so many bytes of rows in flight; a half where unknown."""
    held = np.nan_to_num(cache.share * cache_size / in_flight, nan=1.0)
    return np.asarray(1.0 / (1.0 + held**cache.sharpness))


def stream_time(
    calls: StreamCalls, hardware: Hardware, bandwidth: Floats, coefficients: MemoryBoundCoefficients
) -> Floats:
    """Time of each call [s] without its launch, at the ``bandwidth`` [B/s] that is sustained."""
    moving = passes(calls, hardware, coefficients) * calls.bytes / bandwidth
    return np.asarray(np.maximum(calls.flop / hardware.peak, moving))
