"""What one call of each op takes on a device, from specifications: a model per class of ops, all in one table."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from estimator.core import physics
from estimator.core.operators import attribute, benchmark_kernels, cast_formats, is_cast
from estimator.core.schema import MATRIX, SHAPED_BY, STREAMING, UNPOOLED, numbers
from estimator.core.types import DeviceSpec, Flags, Floats
from estimator.model import convolution, gemm, memory_bound, published_shapes
from estimator.model.calibration import Likeness, Ops
from estimator.model.coefficients import Coefficients
from estimator.model.convolution_passes import Convolutions, convolutions
from estimator.model.hardware import Hardware

POOLS: dict[str, Any] = {  # libraries differ widely: oneDNN has a gradient of maxima for AVX2 on, none for AVX
    "compute": 0.1, "kind": 0.5, "shape": 0.5, "noise": 0.03, "scales": (3.0, 3.0, 3.0, 0.3, 0.3),
}  # fmt: skip
ACTIVATIONS: dict[str, Any] = {"compute": 0.1, "kind": 0.3, "shape": 0.5, "noise": 0.03, "scales": (3.0, 0.5, 0.3, 0.3)}
CHANNELS: dict[str, Any] = {  # libraries differ widely: Eigen takes ten times as long as to move the elements
    "compute": 0.1, "kind": 1.5, "shape": 0.5, "noise": 0.03, "scales": (3.0, 0.5, 3.0),
}  # fmt: skip
CASTS: dict[str, Any] = {"compute": 0.1, "kind": 0.5, "shape": 0.5, "noise": 0.03, "scales": (3.0,)}
STREAMS: dict[str, Any] = {"compute": 0.1, "kind": 0.03, "shape": 0.06, "noise": 0.03, "scales": (3.0, 3.0, 0.5)}
ACTIVATION_KERNELS = ("sigmoid", "tanh", "sigmoid_grad", "tanh_grad")
CHANNEL_KERNELS = ("bias_add", "channel_sum", "bias_grad")


@dataclass(frozen=True)
class Busy:
    """What one call of each op takes beside its launches."""

    time: Floats  # [s]
    serial: Floats  # [s], arithmetic and traffic one after the other
    least: Floats  # [s], what the quoted peak and bandwidth allow at best
    compute_share: Floats  # how far the peak binds the time, 0 … 1; the bandwidth does the rest
    launches: Floats  # kernels that it is made of


class Model(NamedTuple):
    """How ops of one class are modelled: rows are of WORK, MEASUREMENTS or TRUTH, with what each meets on a device."""

    speaks: Callable[[pd.DataFrame], Flags]
    busy: Callable[[pd.DataFrame, Hardware, DeviceSpec, Coefficients], Busy]
    alike: Callable[[pd.DataFrame, Hardware, DeviceSpec, Busy], Ops]
    likeness: Callable[[Coefficients], Likeness]
    by_precision: bool = True  # whether measurements of one precision tell nothing of another
    by_caches: float = 0.0  # standard deviation (logarithm) between sizes that caches of unlike speeds hold
    by_format: bool = True  # whether rows of other formats stand for one that nobody measured: bytes are bytes
    instead: str = ""  # the model that is corrected where nothing of its own was measured


def calls_of(rows: pd.DataFrame) -> Floats:
    """Calls of each row; one where it does not say."""
    return numbers(rows, "calls")


def amounts(rows: pd.DataFrame) -> tuple[Floats, Floats]:
    """FLOP and bytes of one call of each row, which states those of all its calls."""
    flop, bytes_ = (rows[name].to_numpy(dtype=float, na_value=np.nan) / _divisor(rows) for name in ("flop", "bytes"))
    return flop, bytes_


def _divisor(rows: pd.DataFrame) -> Floats:
    """Calls that a row's amounts are of; one where it has none, as its amounts are 0."""
    calls = calls_of(rows)
    return np.where(calls == 0.0, 1.0, calls)


def launch_latency(device: DeviceSpec, c: Coefficients) -> float:
    """What launching one kernel takes [s], at nominal inputs."""
    return device.launch_latency.value if device.launch_latency else c.launches.latency_s.mid


def _products(rows: pd.DataFrame, on: Hardware, device: DeviceSpec, c: Coefficients) -> Busy:
    """Products with a vector have a kernel of their own, without tiles, which streams the matrix once; it is chosen
    where it takes less.
    """
    of = gemm.products(rows)
    compute, memory = gemm.product_times(of, on, c.gemm)
    flop, bytes_ = physics.gemm_flop(of.batch, of.m, of.n, of.k), physics.gemm_bytes(*vars(of).values())
    alone = flop / c.gemm.sustained.of(on), bytes_ / on.attained(c.memory_bound.streaming)
    vector = (np.minimum(of.m, of.n) == 1) & (gemm.overlapped(*alone) < gemm.overlapped(compute, memory))
    compute, memory = np.where(vector, alone, (compute, memory))
    least = physics.ideal_time(flop, bytes_, on.peak, on.bandwidth)
    share = gemm.compute_share(compute, memory)
    return Busy(gemm.overlapped(compute, memory), compute + memory, least, share, np.ones_like(least))


def _convolutions(rows: pd.DataFrame, on: Hardware, device: DeviceSpec, c: Coefficients) -> Busy:
    """Winograd and FFT need less arithmetic than the direct algorithm: where there may be one, only the traffic bounds
    the time from below; elsewhere also what any product attains.
    """
    both = (rows["pass"] == "backward").to_numpy(dtype=bool, na_value=False)
    of, library = convolutions(rows, on.tensor), convolution.library_of(device)
    time = _convolution_times(of, on, library, c)
    if both.any():
        weights = convolutions(rows[both].assign(**{"pass": "grad_weights"}), on.tensor[both])
        time[both] += _convolution_times(weights, on.of(both), library, c)
    flop, bytes_ = amounts(rows)
    memory, attained = bytes_ / on.bandwidth, c.convolution.attained * c.gemm.sustained.of(on)
    ideal = physics.ideal_time(flop, bytes_, attained, on.bandwidth)
    direct = np.where(convolution.may_transform(of, library), np.nan, ideal)
    time = np.fmax(time, direct)  # TRUTH tells no amounts
    share = gemm.compute_share(np.minimum(flop / on.peak, time), memory)
    return Busy(time, time + memory, np.fmax(np.minimum(memory, time), direct), share, np.ones_like(time))


def _convolution_times(of: Convolutions, on: Hardware, library: convolution.Library, c: Coefficients) -> Floats:
    transforms = np.broadcast_to(library.transforms, on.tensor.shape)
    corrected = published_shapes.shape_correction(published_shapes.alike(of, on.tensor, transforms), c.convolution)
    return convolution.convolution_times(of, on, c.gemm.sustained.of(on), library, c.convolution) * np.exp(corrected)


def _streams(rows: pd.DataFrame, on: Hardware, device: DeviceSpec, c: Coefficients) -> Busy:
    of = memory_bound.streams(rows, _divisor(rows))
    time = memory_bound.stream_time(of, on, on.attained(c.memory_bound.streaming), c.memory_bound)
    compute = of.flop / on.peak
    least = physics.ideal_time(of.flop, of.bytes, on.peak, on.bandwidth)
    return Busy(time, time + compute, least, (compute >= time).astype(float), np.ones_like(time))


def _others(rows: pd.DataFrame, on: Hardware, device: DeviceSpec, c: Coefficients) -> Busy:
    """Matrix work of which only the amounts are known, such as recurrent layers: taken to be cut into typical tiles."""
    flop, bytes_ = amounts(rows)
    tiling = [c.gemm.tensor if tensor else c.gemm.vector for tensor in on.tensor]
    compute = flop / (c.gemm.sustained.of(on) * [gemm.typical_share(t) for t in tiling])
    memory = bytes_ / on.attained([t.memory for t in tiling])
    least = physics.ideal_time(flop, bytes_, on.peak, on.bandwidth)
    share = gemm.compute_share(compute, memory)
    return Busy(gemm.overlapped(compute, memory), compute + memory, least, share, np.ones_like(least))


def _alike_convolutions(rows: pd.DataFrame, on: Hardware, device: DeviceSpec, busy: Busy) -> Ops:
    transforms = np.broadcast_to(convolution.library_of(device).transforms, on.tensor.shape)
    return published_shapes.alike(convolutions(rows, on.tensor), on.tensor, transforms)


def _alike_streams(rows: pd.DataFrame, on: Hardware, device: DeviceSpec, busy: Busy) -> Ops:
    """By their amount, the length of their rows and the size of an element, in octaves, as processors convert elements
    of formats that they have no arithmetic in; each way of streaming is a kind.
    """
    of = memory_bound.streams(rows, _divisor(rows))
    sizes = np.log2([np.maximum(of.bytes, 1.0), np.nan_to_num(of.row_length, nan=1.0), of.itemsize])
    kind = np.select([of.kernel == "softmax", of.kernel == "normalization"], [1, 2], 0)
    return Ops(sizes.T, busy.compute_share, kind, np.zeros(len(rows), dtype=bool))


def _stream_likeness(c: Coefficients) -> Likeness:
    return Likeness(memory=c.memory_bound.streaming_spread, **STREAMS)


def _alike_pools(rows: pd.DataFrame, on: Hardware, device: DeviceSpec, busy: Busy) -> Ops:
    """By their amount, channels and window, in octaves, by whether a window's largest or mean comes out, and by the
    pass, which is a kind as well.
    """
    of = memory_bound.streams(rows, _divisor(rows))
    sizes = {name: rows[name].to_numpy(dtype=float, na_value=usual) for name, usual in memory_bound.USUAL_POOL.items()}
    channels, *window = sizes.values()
    mean = np.char.startswith(benchmark_kernels(rows).astype(str), "avg_pool").astype(float)
    gradient = _is_gradient(rows).astype(int)
    octaves = [np.log2(np.maximum(of.bytes, 1.0)), np.log2(channels), np.log2(np.prod(window, axis=0))]
    features = np.stack([*octaves, mean, gradient], axis=1)
    return Ops(features, busy.compute_share, gradient, np.zeros(len(rows), dtype=bool))


def _alike_activations(rows: pd.DataFrame, on: Hardware, device: DeviceSpec, busy: Busy) -> Ops:
    """By their amount and the size of an element, in octaves, by whether it is tanh, and by the pass, which is a kind
    as well.
    """
    of, kernel = memory_bound.streams(rows, _divisor(rows)), benchmark_kernels(rows).astype(str)
    gradient = _is_gradient(rows).astype(int)
    octaves = np.log2([np.maximum(of.bytes, 1.0), of.itemsize])
    features = np.stack([*octaves, np.char.startswith(kernel, "tanh").astype(float), gradient], axis=1)
    return Ops(features, busy.compute_share, gradient, np.zeros(len(rows), dtype=bool))


def _alike_channels(rows: pd.DataFrame, on: Hardware, device: DeviceSpec, busy: Busy) -> Ops:
    """By their amount, the size of an element and the channels, in octaves."""
    of = memory_bound.streams(rows, _divisor(rows))
    octaves = np.log2([np.maximum(of.bytes, 1.0), of.itemsize, rows["conv_c"].to_numpy(dtype=float)])
    alike = np.zeros(len(rows), dtype=int)
    return Ops(octaves.T, busy.compute_share, alike, alike > 0)


def _alike_casts(rows: pd.DataFrame, on: Hardware, device: DeviceSpec, busy: Busy) -> Ops:
    """By their amount, in octaves; each narrow format is a kind, as a processor may convert one and not the other."""
    of, narrow = memory_bound.streams(rows, _divisor(rows)), cast_formats(rows)
    kind = np.select([(narrow == name).fillna(False).to_numpy(dtype=bool) for name in ("bf16", "fp16")], [0, 1], 2)
    return Ops(np.log2(np.maximum(of.bytes, 1.0))[:, None], busy.compute_share, kind, np.zeros(len(rows), dtype=bool))


def _alike_amounts(rows: pd.DataFrame, on: Hardware, device: DeviceSpec, busy: Busy) -> Ops:
    """By their amounts alone: nothing is measured of them."""
    nothing = np.zeros(len(rows), dtype=int)
    return Ops(np.log2(np.stack(amounts(rows), axis=1)), busy.compute_share, kind=nothing, cached=nothing > 0)


def _channel_model(kernel: str, instead: str = "memory-bound") -> Model:
    """One kernel's own model: what one device measured of biases alone tells nothing of their gradients on it."""
    return Model(
        lambda rows: _have(rows, STREAMING, ("bytes",)) & (benchmark_kernels(rows) == kernel),
        _streams,
        _alike_channels,
        lambda c: Likeness(memory=c.memory_bound.streaming_spread, **CHANNELS),
        by_precision=False,
        instead=instead,
    )


MODELS: dict[str, Model] = {  # the first that speaks
    "gemm": Model(
        lambda rows: _have(rows, ["gemm"], SHAPED_BY["gemm"]),
        _products,
        lambda rows, on, device, busy: gemm.alike(rows, on, busy.compute_share),
        lambda c: c.gemm.likeness,
    ),
    "convolution": Model(
        lambda rows: _have(rows, ["convolution"], SHAPED_BY["convolution"]),
        _convolutions,
        _alike_convolutions,
        lambda c: c.convolution.likeness,
    ),
    "pooling": Model(
        lambda rows: _have(rows, ["pooling"], ("bytes",)),
        _streams,
        _alike_pools,
        lambda c: Likeness(memory=c.memory_bound.streaming_spread, **POOLS),
        instead="memory-bound",
    ),
    "activation": Model(
        lambda rows: _have(rows, ["elementwise"], ("bytes",)) & _is_activation(rows),
        _streams,
        _alike_activations,
        lambda c: Likeness(memory=c.memory_bound.streaming_spread, **ACTIVATIONS),
        by_precision=False,
        instead="memory-bound",
    ),
    "cast": Model(
        lambda rows: _have(rows, STREAMING, ("bytes",)) & is_cast(rows),
        _streams,
        _alike_casts,
        lambda c: Likeness(memory=c.memory_bound.streaming_spread, **CASTS),
        by_precision=False,
        by_format=False,
        instead="memory-bound",
    ),
    "bias_add": _channel_model("bias_add"),
    "channel_sum": _channel_model("channel_sum"),
    "bias_grad": _channel_model("bias_grad", instead="channel_sum"),
    "memory-bound": Model(
        lambda rows: _have(rows, UNPOOLED, ("bytes",)) & ~_has_a_kernel(rows),
        _streams,
        _alike_streams,
        _stream_likeness,
        by_precision=False,
        by_caches=0.5,
    ),
    "other": Model(
        lambda rows: _have(rows, MATRIX, ("flop", "bytes")),
        _others,
        _alike_amounts,
        lambda c: c.gemm.likeness.model_copy(update={"scales": (4.0, 4.0)}),
    ),
}


def by_model(rows: pd.DataFrame) -> Iterator[tuple[str, Model, Flags]]:
    """Each model that speaks of any of the rows, by name, and of which: of every row one speaks at most."""
    free = np.ones(len(rows), dtype=bool)
    for name, model in MODELS.items():
        speaks = free & model.speaks(rows)
        free &= ~speaks
        if speaks.any():
            yield name, model, speaks


def _is_activation(rows: pd.DataFrame) -> Flags:
    """Rows whose op takes longer than to move its elements: sigmoids, hyperbolic tangents and their gradients."""
    return np.isin(benchmark_kernels(rows), ACTIVATION_KERNELS)


def _is_gradient(rows: pd.DataFrame) -> Flags:
    """Rows whose op is a gradient: as its pass is stated, else as its operator is."""
    stated = rows["pass"].to_numpy(dtype=object, na_value="") if "pass" in rows else np.full(len(rows), "")
    own = np.isin(attribute(rows, "direction"), ("backward", "grad_input"))
    return np.where(stated == "", own, stated == "grad_input")


def _has_a_kernel(rows: pd.DataFrame) -> Flags:
    """Whether a row's op is measured by a kernel of its own."""
    return np.isin(benchmark_kernels(rows), (*ACTIVATION_KERNELS, *CHANNEL_KERNELS)) | is_cast(rows)


def _have(rows: pd.DataFrame, op_classes: Sequence[str], needed: Sequence[str]) -> Flags:
    """Whether rows are of one of the classes and have all that is needed of them."""
    conditions = [rows["op_class"].isin(op_classes), *(rows[name].notna() for name in needed)]
    return np.asarray(np.logical_and.reduce(conditions), dtype=bool)
