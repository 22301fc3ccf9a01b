"""Algorithms of convolutions, and the time that each takes.

Every pass is matrix products (Chetlur et al., cuDNN, arXiv:1410.0759). Implicit GEMM gathers its operands as it goes:
forward m = n·p·q, n = k, k = c·r·s; the gradient of the input m = n·h·w, n = c, k = k·r·s over the stride, of which
strides leave much idle; that of the weights m = c·r·s, n = k, k = n·p·q, split into partial sums. The gradient of the
input may also come as columns that are added up (col2im). Winograd's transforms (Lavin & Gray, arXiv:1509.09308) make
tiles of 2×2 outputs of 3×3 windows in 16 products in place of 36, in one kernel; or, through memory, tiles of 4×4 (2×2
of 5×5 windows) in 36 in place of 144 (100). FFT makes tiles of 32×32 inputs. Winograd's one kernel has no form for
tensor units.

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
from estimator.model.convolution_coefficients import Convolution, Shares
from estimator.model.convolution_passes import Convolutions

TILES = ((128, 128), (128, 64), (64, 64), (64, 32), (32, 128), (32, 32), (128, 16))
SPLITS = (1, 4, 16, 64)
SLICE = 64  # bytes of channels that a step of tensor units takes (CUTLASS, implicit_gemm_convolution.md)
FFT_TILE, FREQUENCIES = 32, 32 * 17  # side of an FFT's input tile, and what is left of it by symmetry
COMPLEX_FLOP, COMPLEX_SIZE = 8, 8  # of a complex multiply-add; bytes of a complex number


@dataclass(frozen=True)
class Machine:
    """What kernels run on, one entry per call."""

    peak: Floats  # sustained
    tensor: Flags
    bandwidth: Floats
    gathering: Floats  # bandwidth at which operands are gathered
    staging: Floats  # and at which transforms move
    units: Floats
    transforms: Flags


@dataclass(frozen=True)
class _Product:
    """Products of m·n·k multiply-adds, one entry per call, of an algorithm with these shares of the peak."""

    m: Floats
    n: Floats
    k: Floats
    batch: Floats
    shares: Shares
    flop: int = 2  # of a multiply-add


def _implicit(of: Convolutions, on: Machine, c: Convolution) -> Floats:
    """Implicit GEMM; gathering its operands overlaps with the products."""
    points, strided = of.n * of.p * of.q, _made(of, 1.0, of.stride, 1.0)
    wasted = np.where(
        of.window == 1, of.stride, of.stride**c.idle
    )  # a 1×1 window meets zeros alone, none of them skipped
    c_slices, k_slices = (_whole_slices(channels, of, on) for channels in (of.c, of.k))
    product = _Product(
        _made(of, points, points * strided, c_slices * of.window),
        _made(of, of.k, of.c, of.k),
        _made(of, c_slices * of.window, k_slices * of.window / strided * wasted, points),
        of.groups, c.implicit,
    )  # fmt: skip
    return _overlapped(_computing(of, product, on, c), _bytes(of) / on.gathering)


def _whole_slices(channels: Floats, of: Convolutions, on: Machine) -> Floats:
    """Channels as tensor units take them at each point of the window; groups have kernels of their own."""
    taken = np.where(on.tensor & (of.groups == 1), SLICE / of.itemsize, 1.0)
    return np.asarray(np.ceil(channels / taken) * taken)


def _columns(of: Convolutions, on: Machine, c: Convolution) -> Floats:
    """The gradient of the input as columns, c·r·s for every output, that are then added up."""
    points, column = of.n * of.p * of.q, of.c * of.window
    product = _Product(points, column, of.k, of.groups, c.implicit)
    moved = _bytes(of) + c.columns * 2.0 * of.groups * points * column * of.itemsize
    return np.where(of.made == "grad_input", _computing(of, product, on, c) + moved / on.staging, np.inf)


def _fused_winograd(of: Convolutions, on: Machine, c: Convolution) -> Floats:
    """Tiles of 2×2 outputs of 3×3 windows, transformed in registers."""
    product = _transformed(of, _tiles(of, np.full_like(of.p, 2.0)), 16.0, c.fused_winograd)
    time = _overlapped(_computing(of, product, on, c), _bytes(of) / on.gathering)
    return np.where((of.side == 3) & on.transforms & ~on.tensor, time, np.inf)


def _winograd(of: Convolutions, on: Machine, c: Convolution) -> Floats:
    """Tiles of 6×6 inputs, transformed in kernels of their own: 4×4 outputs of 3×3 windows, 2×2 of 5×5."""
    tiles = _tiles(of, np.where(of.side == 5, 2.0, 4.0))
    time = _through_memory(of, tiles, 36, of.itemsize, _transformed(of, tiles, 36.0, c.winograd), on, c)
    return np.where(np.isin(of.side, (3, 5)) & on.transforms, time, np.inf)


def _fft(of: Convolutions, on: Machine, c: Convolution) -> Floats:
    """Tiles of 32×32 inputs, by FFT."""
    tiles = _tiles(of, np.maximum(FFT_TILE + 1 - of.side, 1.0))
    product = _transformed(of, tiles, FREQUENCIES, c.fft, COMPLEX_FLOP)
    time = _through_memory(of, tiles, FREQUENCIES, COMPLEX_SIZE, product, on, c)
    return np.where((of.side > 1) & (of.side <= FFT_TILE // 2) & on.transforms, time, np.inf)


ALGORITHMS: tuple[Callable[[Convolutions, Machine, Convolution], Floats], ...] = (
    _implicit, _columns, _fused_winograd, _winograd, _fft,
)  # fmt: skip


def _made(
    of: Convolutions, forward: Floats | float, grad_input: Floats | float, grad_weights: Floats | float
) -> Floats:
    """What holds for each call's pass."""
    return np.where(of.made == "forward", forward, np.where(of.made == "grad_input", grad_input, grad_weights))


def _tiles(of: Convolutions, side: Floats) -> Floats:
    """Output tiles of so many points a side."""
    return of.n * np.ceil(of.p / side) * np.ceil(of.q / side)


def _transformed(of: Convolutions, tiles: Floats, points: float, shares: Shares, flop: int = 2) -> _Product:
    """The products of transformed tiles, one for each of their points."""
    m, n, k = _made(of, tiles, tiles, of.c), _made(of, of.k, of.c, of.k), _made(of, of.c, of.k, tiles)
    return _Product(m, n, k, of.groups * points, shares, flop)


def _through_memory(
    of: Convolutions,
    tiles: Floats,
    points: int,
    itemsize: Floats | int,
    product: _Product,
    on: Machine,
    c: Convolution,
) -> Floats:
    """Time [s] where both operands and the result are transformed, written and read, one kernel after the other."""
    staged = 2.0 * points * itemsize * of.groups * (tiles * (of.c + of.k) + of.c * of.k)
    return _computing(of, product, on, c) + (_bytes(of) + staged) / on.staging


def _bytes(of: Convolutions) -> Floats:
    """Compulsory traffic [B]."""
    c, k = of.groups * of.c, of.groups * of.k
    return physics.conv_bytes(of.n, c, of.image, 1, k, of.p, of.q, of.window, 1, of.itemsize, of.groups)


def _overlapped(computing: Floats, moving: Floats) -> Floats:
    """Time [s] of work that overlaps but for a soft corner, at least the greater of the two."""
    return np.asarray((computing**2.5 + moving**2.5) ** 0.4)


def _computing(of: Convolutions, product: _Product, on: Machine, c: Convolution) -> Floats:
    """Time [s] that products take, tiled and, for the gradient of the weights, split as takes least."""
    m, n, k, batch = product.m, product.n, product.k, product.batch
    share = _made(of, product.shares.forward, product.shares.forward, product.shares.weights)
    rate = share * on.peak / on.units
    least = np.full_like(m, np.inf)
    for split in SPLITS:
        added = c.partial_sums * 2.0 * (split if split > 1 else 0) * batch * m * n * of.itemsize / on.bandwidth
        for tile_m, tile_n in TILES:
            tiles = batch * np.ceil(m / tile_m) * np.ceil(n / tile_n) * split
            flop = product.flop * tile_m * tile_n * (k / split + c.start) * _reloads(tile_m, tile_n, c.half_tile)
            time = np.hypot(np.maximum(np.ceil(tiles / on.units), 1.0), c.in_flight) * flop / rate + added
            least = np.minimum(least, np.where((split == 1) | (of.made == "grad_weights"), time, np.inf))
    return np.maximum(least, product.flop * batch * m * n * k / (c.attained * on.peak))


def _reloads(tile_m: int, tile_n: int, half_tile: float) -> float:
    """Time of a tile's arithmetic over that of the largest tile, as smaller ones load more for each multiply-add."""
    return (1.0 + half_tile * (64 / tile_m + 64 / tile_n)) / (1.0 + half_tile)
