"""Algorithms of convolutions, and the time that each takes.

Every pass is matrix products (Chetlur et al., cuDNN, arXiv:1410.0759). Implicit GEMM gathers its operands as it goes:
forward m = n·p·q, n = k, k = c·r·s; the gradient of the input m = n·p·q times the stride, which is about n·h·w, n = c,
k = k·r·s over the stride, times a power of the stride, as strides leave much idle; that of the weights m = c·r·s, n =
k, k = n·p·q, split into partial sums. The gradient of the input may also come as columns that are added up (col2im).
Winograd's transforms (Lavin & Gray, arXiv:1509.09308) make tiles of 2×2 outputs of 3×3 windows in 16 products in place
of 36, in one kernel; or, through memory, tiles of 4×4 (2×2 of 5×5 windows) in 36 in place of 144 (100). FFT makes tiles
of 32×32 inputs. Winograd's one kernel has no form for tensor units.

A product is cut into tiles, and units idle where tiles are few (see gemm.py). Kernels of convolutions need more tiles
in flight than GEMM's; as many as 128 lanes make up a unit. However many tiles there are, and however deep, no product
attains more than a matrix product sustains. No time is below what the algorithm's own work and traffic take at that
peak and the quoted bandwidth, and none falls when batch, channels or image grow.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from estimator.core import physics
from estimator.core.types import Flags, Floats
from estimator.model.convolution_coefficients import ConvolutionCoefficients, Shares
from estimator.model.convolution_passes import ConvPasses

TILES = ((128, 128), (128, 64), (64, 64), (64, 32), (32, 128), (32, 32), (128, 16))
SPLITS = (1, 4, 16, 64)
SLICE = 64  # bytes of channels per step of tensor units (CUTLASS, implicit_gemm_convolution.md)
FFT_TILE, FREQUENCIES = 32, 32 * 17  # side of an FFT's input tile, and what is left of it by symmetry
COMPLEX_FLOP, COMPLEX_SIZE = 8, 8  # of a complex multiply-add; bytes of a complex number


@dataclass(frozen=True)
class Machine:
    """The hardware of each call."""

    peak: Floats  # sustained
    tensor: Flags
    bandwidth: Floats
    gathering: Floats  # bandwidth of gathering operands
    staging: Floats  # bandwidth of transforms
    units: Floats
    transforms: Flags


@dataclass(frozen=True)
class _Product:
    """Products of m·n·k multiply-adds, one entry per call, and the algorithm's shares of the peak."""

    m: Floats
    n: Floats
    k: Floats
    batch: Floats
    shares: Shares
    flop: int = 2  # of a multiply-add


def _implicit(passes: ConvPasses, machine: Machine, coefficients: ConvolutionCoefficients) -> Floats:
    """Implicit GEMM; gathering its operands overlaps with the products."""
    points, strided = passes.n * passes.p * passes.q, passes.of_direction(1.0, passes.stride, 1.0)
    # with a 1×1 window all added points are zeros, and none is skipped
    waste = np.where(passes.window == 1, passes.stride, passes.stride**coefficients.idle)
    c_slices, k_slices = (_whole_slices(channels, passes, machine) for channels in (passes.c, passes.k))
    sum_depths = c_slices * passes.window, k_slices * passes.window / strided * waste
    product = _Product(
        passes.of_direction(points, points * strided, sum_depths[0]),
        passes.of_direction(passes.k, passes.c, passes.k),
        passes.of_direction(*sum_depths, points),
        passes.groups,
        coefficients.implicit,
    )
    compute_s = _compute_time(passes, product, machine, coefficients)
    return _overlapped(compute_s, _compulsory_bytes(passes) / machine.gathering)


def _whole_slices(channels: Floats, passes: ConvPasses, machine: Machine) -> Floats:
    """Channels in whole slices of tensor units; groups have their own kernels."""
    slice_channels = np.where(machine.tensor & (passes.groups == 1), SLICE / passes.itemsize, 1.0)
    return np.asarray(np.ceil(channels / slice_channels) * slice_channels)


def _col2im(passes: ConvPasses, machine: Machine, coefficients: ConvolutionCoefficients) -> Floats:
    """The gradient of the input as columns (c·r·s per output), which are then summed."""
    points, column = passes.n * passes.p * passes.q, passes.c * passes.window
    product = _Product(points, column, passes.k, passes.groups, coefficients.implicit)
    bytes_moved = (
        _compulsory_bytes(passes) + coefficients.columns * 2.0 * passes.groups * points * column * passes.itemsize
    )
    time = _compute_time(passes, product, machine, coefficients) + bytes_moved / machine.staging
    return np.where(passes.direction == "grad_input", time, np.inf)


def _fused_winograd(passes: ConvPasses, machine: Machine, coefficients: ConvolutionCoefficients) -> Floats:
    """Tiles of 2×2 outputs of 3×3 windows, transformed in registers."""
    product = _transformed(passes, _tiles(passes, np.full_like(passes.p, 2.0)), 16.0, coefficients.fused_winograd)
    time = _overlapped(
        _compute_time(passes, product, machine, coefficients), _compulsory_bytes(passes) / machine.gathering
    )
    return np.where((passes.side == 3) & machine.transforms & ~machine.tensor, time, np.inf)


def _winograd(passes: ConvPasses, machine: Machine, coefficients: ConvolutionCoefficients) -> Floats:
    """Tiles of 6×6 inputs, transformed in kernels of their own: 4×4 outputs of 3×3 windows, 2×2 of 5×5."""
    tiles, points = _tiles(passes, np.where(passes.side == 5, 2.0, 4.0)), 36.0
    product = _transformed(passes, tiles, points, coefficients.winograd)
    compute_s = _compute_time(passes, product, machine, coefficients)
    time = compute_s + _staged_bytes(passes, tiles, points * passes.itemsize) / machine.staging
    return np.where(np.isin(passes.side, (3, 5)) & machine.transforms, time, np.inf)


def _fft(passes: ConvPasses, machine: Machine, coefficients: ConvolutionCoefficients) -> Floats:
    """Tiles of 32×32 inputs, by FFT."""
    tiles = _tiles(passes, np.maximum(FFT_TILE + 1 - passes.side, 1.0))
    product = _transformed(passes, tiles, FREQUENCIES, coefficients.fft, COMPLEX_FLOP)
    compute_s = _compute_time(passes, product, machine, coefficients)
    time = compute_s + _staged_bytes(passes, tiles, FREQUENCIES * COMPLEX_SIZE) / machine.staging
    return np.where((passes.side > 1) & (passes.side <= FFT_TILE // 2) & machine.transforms, time, np.inf)


ALGORITHMS: tuple[Callable[[ConvPasses, Machine, ConvolutionCoefficients], Floats], ...] = (
    _implicit, _col2im, _fused_winograd, _winograd, _fft,
)  # fmt: skip


def _tiles(passes: ConvPasses, side: Floats) -> Floats:
    """The number of output tiles with this side."""
    return passes.n * np.ceil(passes.p / side) * np.ceil(passes.q / side)


def _transformed(passes: ConvPasses, tiles: Floats, points: float, shares: Shares, flop: int = 2) -> _Product:
    """The products of transformed tiles, one per point of a tile."""
    m = passes.of_direction(tiles, tiles, passes.c)
    n = passes.of_direction(passes.k, passes.c, passes.k)
    k = passes.of_direction(passes.c, passes.k, tiles)
    return _Product(m, n, k, passes.groups * points, shares, flop)


def _staged_bytes(passes: ConvPasses, tiles: Floats, tile_bytes: Floats | float) -> Floats:
    """Traffic [B] of separate kernels that transform, write and read both operands and the result."""
    elements = tiles * (passes.c + passes.k) + passes.c * passes.k
    return _compulsory_bytes(passes) + 2.0 * tile_bytes * passes.groups * elements


def _compulsory_bytes(passes: ConvPasses) -> Floats:
    """Compulsory traffic [B]."""
    c, k = passes.groups * passes.c, passes.groups * passes.k
    return physics.conv_bytes(
        passes.n, c, passes.image, 1, k, passes.p, passes.q, passes.window, 1, passes.itemsize, passes.groups
    )


def _overlapped(compute_s: Floats, memory_s: Floats) -> Floats:
    """Time [s] of overlapping work with a soft corner; at least the greater of the two."""
    return np.asarray((compute_s**2.5 + memory_s**2.5) ** 0.4)


def _compute_time(
    passes: ConvPasses, product: _Product, machine: Machine, coefficients: ConvolutionCoefficients
) -> Floats:
    """Time [s] of products with the fastest tile; for the gradient of the weights also the fastest split."""
    m, n, k, batch, shares = product.m, product.n, product.k, product.batch, product.shares
    rate = passes.of_direction(shares.forward, shares.forward, shares.weights) * machine.peak / machine.units
    fastest = np.full_like(m, np.inf)
    for split in SPLITS:
        sum_bytes = coefficients.partial_sums * 2.0 * (split if split > 1 else 0)
        sum_s = sum_bytes * batch * m * n * passes.itemsize / machine.bandwidth
        is_allowed = (split == 1) | (passes.direction == "grad_weights")
        for tile_m, tile_n in TILES:
            tiles = batch * np.ceil(m / tile_m) * np.ceil(n / tile_n) * split
            steps = (k / split + coefficients.start) * _reloads(tile_m, tile_n, coefficients.half_tile)
            flop = product.flop * tile_m * tile_n * steps
            waves = np.hypot(np.maximum(np.ceil(tiles / machine.units), 1.0), coefficients.in_flight)
            fastest = np.minimum(fastest, np.where(is_allowed, waves * flop / rate + sum_s, np.inf))
    return np.maximum(fastest, product.flop * batch * m * n * k / (coefficients.attained * machine.peak))


def _reloads(tile_m: int, tile_n: int, half_tile: float) -> float:
    """Time of a tile's arithmetic over that of the largest tile; smaller tiles load more per multiply-add."""
    return (1.0 + half_tile * (64 / tile_m + 64 / tile_n)) / (1.0 + half_tile)
