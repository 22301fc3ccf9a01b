"""Models of memory-bound kernels: plain streams, and pools, activations, casts and kernels along channels.

The latter differ from streams and have their own measurements.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from estimator.core import physics
from estimator.core.operators import (
    ALONG_CHANNELS,
    SLOW_ACTIVATIONS,
    attribute,
    benchmark_kernels,
    cast_formats,
    is_cast,
)
from estimator.core.schema import STREAMING, UNPOOLED
from estimator.core.types import Flags, Floats
from estimator.model.calibration import OpFeatures
from estimator.model.kernels.kernel_model import (
    BusyTime,
    KernelInputs,
    KernelModel,
    by_prior,
    counted_calls,
    have_all,
    uncached_features,
)
from estimator.model.memory_bound import StreamCalls, is_batch_normalization, stream_calls, stream_time

ROW_KERNELS = ("softmax", "normalization")  # streams of kind 1 and 2; the others are of kind 0


def _calls(inputs: KernelInputs) -> StreamCalls:
    return stream_calls(inputs.rows, counted_calls(inputs.rows))


def _stream_time(inputs: KernelInputs) -> BusyTime:
    hardware, coefficients, calls = inputs.hardware, inputs.coefficients.memory_bound, _calls(inputs)
    time = stream_time(calls, hardware, hardware.attained_bandwidth(coefficients.streaming), coefficients)
    compute = calls.flop / hardware.peak
    lower_bound = physics.ideal_time(calls.flop, calls.bytes, hardware.peak, hardware.bandwidth)
    return BusyTime(time, time + compute, lower_bound, (compute >= time).astype(float), np.ones_like(time))


def _stream_features(inputs: KernelInputs, busy: BusyTime) -> OpFeatures:
    """Features of streams: bytes, row length, element size in octaves; flags of softmax and normalization, two kinds.

    The element size counts, as processors convert formats without own arithmetic.
    """
    calls = _calls(inputs)
    octaves = np.log2([_bytes(calls), np.nan_to_num(calls.row_length, nan=1.0), calls.itemsize])
    flags = calls.kernel[:, None] == np.array(ROW_KERNELS)
    return uncached_features(np.column_stack([octaves.T, flags]), busy, flags @ np.arange(1, 1 + len(ROW_KERNELS)))


def _pool_features(inputs: KernelInputs, busy: BusyTime) -> OpFeatures:
    """Features of pools: bytes, channels, window (octaves), maximum or mean, and the pass, which is the kind."""
    rows, default_sizes = inputs.rows, inputs.coefficients.kernel_priors.usual_pool.model_dump(exclude={"source"})
    channels, *window = (rows[name].to_numpy(dtype=float, na_value=size) for name, size in default_sizes.items())
    is_mean = np.char.startswith(benchmark_kernels(rows).astype(str), "avg_pool").astype(float)
    gradient = _is_gradient(rows).astype(int)
    octaves = [np.log2(_bytes(_calls(inputs))), np.log2(channels), np.log2(np.prod(window, axis=0))]
    return uncached_features(np.stack([*octaves, is_mean, gradient], axis=1), busy, gradient)


def _batch_features(inputs: KernelInputs, busy: BusyTime) -> OpFeatures:
    """Features of batch normalizations: bytes, element size (octaves), and the pass, which is the kind."""
    calls, gradient = _calls(inputs), _is_gradient(inputs.rows).astype(int)
    return uncached_features(np.stack([*np.log2([_bytes(calls), calls.itemsize]), gradient], axis=1), busy, gradient)


def _activation_features(inputs: KernelInputs, busy: BusyTime) -> OpFeatures:
    """Features of activations: bytes, element size (octaves), whether tanh, and the pass, which is the kind."""
    calls, kernel = _calls(inputs), benchmark_kernels(inputs.rows).astype(str)
    gradient = _is_gradient(inputs.rows).astype(int)
    octaves = np.log2([_bytes(calls), calls.itemsize])
    tanh = np.char.startswith(kernel, "tanh").astype(float)
    return uncached_features(np.stack([*octaves, tanh, gradient], axis=1), busy, gradient)


def _channel_features(inputs: KernelInputs, busy: BusyTime) -> OpFeatures:
    """Features of kernels along channels: bytes, element size and channels in octaves."""
    calls = _calls(inputs)
    octaves = np.log2([_bytes(calls), calls.itemsize, inputs.rows["conv_c"].to_numpy(dtype=float)])
    return uncached_features(octaves.T, busy, np.zeros(len(inputs.rows), dtype=int))


def _cast_features(inputs: KernelInputs, busy: BusyTime) -> OpFeatures:
    """Features of casts: bytes in octaves; each narrow format is a kind, as processors may convert only one."""
    narrow = cast_formats(inputs.rows)
    formats = [(narrow == name).fillna(False).to_numpy(dtype=bool) for name in ("bf16", "fp16")]
    return uncached_features(np.log2(_bytes(_calls(inputs)))[:, None], busy, np.select(formats, [0, 1], 2))


def _bytes(calls: StreamCalls) -> Floats:
    """Bytes of each call, at least 1."""
    return np.maximum(calls.bytes, 1.0)


def _is_gradient(rows: pd.DataFrame) -> Flags:
    """Which ops are gradients, by the stated pass, else by the operator."""
    stated = rows["pass"].to_numpy(dtype=object, na_value="") if "pass" in rows else np.full(len(rows), "")
    operator_is_gradient = np.isin(attribute(rows, "direction"), ("backward", "grad_input"))
    return np.where(stated == "", operator_is_gradient, stated == "grad_input")


def _is_activation(rows: pd.DataFrame) -> Flags:
    """Which ops take longer than their traffic: sigmoids, hyperbolic tangents and their gradients."""
    return np.isin(benchmark_kernels(rows), SLOW_ACTIVATIONS)


def _has_own_model(rows: pd.DataFrame) -> Flags:
    by_kernel = np.isin(benchmark_kernels(rows), (*SLOW_ACTIVATIONS, *ALONG_CHANNELS))
    return by_kernel | is_cast(rows) | is_batch_normalization(rows)


def _channel_model(kernel: str, fallback: str = "memory-bound") -> KernelModel:
    """The model of one kernel along channels; measured biases do not correct their gradients."""
    return KernelModel(
        matches=lambda rows: have_all(rows, STREAMING, ("bytes",), lambda rows: benchmark_kernels(rows) == kernel),
        busy_time=_stream_time,
        features=_channel_features,
        hyperparameters=by_prior(lambda priors: priors.channel),
        by_precision=False,
        fallback=fallback,
    )


POOLING = KernelModel(
    matches=lambda rows: have_all(rows, ["pooling"], ("bytes",)),
    busy_time=_stream_time,
    features=_pool_features,
    hyperparameters=by_prior(lambda priors: priors.pooling),
    fallback="memory-bound",
)
BATCH_NORMALIZATION = KernelModel(
    matches=lambda rows: have_all(rows, ["normalization"], ("bytes",), is_batch_normalization),
    busy_time=_stream_time,
    features=_batch_features,
    hyperparameters=by_prior(lambda priors: priors.batch_normalization),
    by_precision=False,
    fallback="memory-bound",
)
ACTIVATION = KernelModel(
    matches=lambda rows: have_all(rows, ["elementwise"], ("bytes",), _is_activation),
    busy_time=_stream_time,
    features=_activation_features,
    hyperparameters=by_prior(lambda priors: priors.activation),
    by_precision=False,
    fallback="memory-bound",
)
CAST = KernelModel(
    matches=lambda rows: have_all(rows, STREAMING, ("bytes",), is_cast),
    busy_time=_stream_time,
    features=_cast_features,
    hyperparameters=by_prior(lambda priors: priors.cast),
    by_precision=False,
    by_format=False,
    fallback="memory-bound",
)
BIAS_ADD = _channel_model("bias_add")
CHANNEL_SUM = _channel_model("channel_sum")
BIAS_GRAD = _channel_model("bias_grad", fallback="channel_sum")
MEMORY_BOUND = KernelModel(
    matches=lambda rows: have_all(rows, UNPOOLED, ("bytes",), lambda r: ~_has_own_model(r)),
    busy_time=_stream_time,
    features=_stream_features,
    hyperparameters=by_prior(lambda priors: priors.memory_bound),
    by_precision=False,
)
