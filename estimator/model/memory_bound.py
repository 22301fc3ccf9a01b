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
from numpy.typing import ArrayLike
from pydantic import Field

from estimator.core.operators import benchmark_kernels
from estimator.core.types import File, Floats, itemsizes
from estimator.model.hardware import Hardware

REGISTERS = 1024  # elements of the longest row that a softmax keeps in registers
LOADS = 2048 * 16  # bytes in flight in one unit: threads that reside in it, times a vector load
SOFTMAX_ROWS, NORMALIZATION_ROWS = 2, 16  # rows in flight in one unit: blocks of 1,024 and of 128 threads
READ_AGAIN = 0.5  # of the traffic of a normalization, one read and one write
KEPT = 0.5  # share of the cache that holds what is read; the rest holds what is written
USUAL_POOL = {"conv_c": 64.0, "conv_r": 2.0, "conv_s": 2.0}  # where a pool's sizes are not known
SHARPNESS = 3.0  # with which a cache ceases to hold a growing amount


class MemoryBound(File):
    """The coefficients, in text."""

    source: str
    streaming: float = Field(gt=0, le=1, description="share of the bandwidth that a plain kernel attains")
    streaming_spread: float = Field(ge=0, description="standard deviation of its logarithm over devices")
    softmax_short: float = Field(ge=1, description="passes of a softmax whose rows stay in registers")
    softmax_long: float = Field(ge=1, description="passes of one whose rows stay in the cache")
    row_overhead: float = Field(ge=0, description="what a row costs a normalization beside its elements [elements]")


@dataclass(frozen=True)
class Streams:
    """Calls of memory-bound kernels, one entry per call."""

    kernel: npt.NDArray[np.str_]  # stream, softmax or normalization
    bytes: Floats  # compulsory traffic [B]
    flop: Floats
    row_length: Floats  # of softmax and layer norm [elements]; NaN where unknown
    itemsize: Floats  # [B]


def streams(rows: pd.DataFrame, calls: ArrayLike = 1.0) -> Streams:
    """The calls of rows of WORK, whose ``bytes`` and ``flop`` are those of so many calls, or of TRUTH."""
    normal = (rows["op_class"] == "normalization").to_numpy(dtype=bool, na_value=False)
    softmax = normal & (benchmark_kernels(rows) == "softmax")
    kernel = np.select([softmax, normal], ["softmax", "normalization"], "stream")
    bytes_, flop = (rows[of].to_numpy(dtype=float, na_value=np.nan) / calls for of in ("bytes", "flop"))
    length = rows["row_length"].to_numpy(dtype=float, na_value=np.nan)
    return Streams(kernel, bytes_, np.nan_to_num(flop), length, itemsizes(rows["precision"]))


def passes(of: Streams, on: Hardware, c: MemoryBound) -> Floats:
    """Traffic over compulsory traffic, at least 1. Where rows, units or cache are not known, rows are long, and half of
    what is read again comes from memory.
    """
    row = of.row_length * of.itemsize
    long = 1.0 + _missed(on.units * np.maximum(LOADS, SOFTMAX_ROWS * row), on.cache)
    long = np.maximum(long, max(c.softmax_short, c.softmax_long))
    softmax = np.where(of.row_length <= REGISTERS, c.softmax_short, long)
    again = READ_AGAIN * _missed(on.units * NORMALIZATION_ROWS * row, on.cache)
    normalization = (1.0 + again) * (1.0 + np.nan_to_num(c.row_overhead / of.row_length))
    return np.select([of.kernel == "softmax", of.kernel == "normalization"], [softmax, normalization], 1.0)


def _missed(in_flight: Floats, cache_size: Floats) -> Floats:
    """Share of repeated reads that go to memory, with so many bytes of rows in flight; a half where unknown."""
    held = np.nan_to_num(KEPT * cache_size / in_flight, nan=1.0)
    return np.asarray(1.0 / (1.0 + held**SHARPNESS))


def stream_time(of: Streams, on: Hardware, bandwidth: Floats, c: MemoryBound) -> Floats:
    """Time of each call [s] without its launch, at the ``bandwidth`` [B/s] that is sustained."""
    return np.asarray(np.maximum(of.flop / on.peak, passes(of, on, c) * of.bytes / bandwidth))
