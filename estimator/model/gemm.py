"""Time of matrix products on a machine of equal compute units, from their tiling.

A library cuts C into tiles, and for few tiles the sum over k into parts; each unit works on one tile at a time. What
that costs beside the arithmetic itself: units idle in the last wave, a tile's start, small tiles' reloads of A and B,
padding at the edges, and adding up the parts. The library is taken to choose the tile and the split that take least.
Compute and memory overlap but for a soft corner: t³ = C³ + M³.

The form is that of tile models such as NVIDIA's matrix multiplication guide (docs.nvidia.com, "Matrix Multiplication
Background", tile and wave quantization) and NeuSight (Lee et al., ASPLOS 2025); coefficients/gemm.yaml holds its
numbers, fitted by estimator/fitting/gemm.py. No time is below the roofline, and none falls when m, n or k grows.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import permutations

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from pydantic import Field

from estimator.core import physics
from estimator.core.schema import numbers
from estimator.core.types import File, Flags, Floats, itemsizes
from estimator.model.calibration import KernelHyperparameters, OpFeatures
from estimator.model.hardware import Hardware
from estimator.model.sustained import Sustained

SHAPES_OF_TILES = (
    (256, 128), (256, 64), (128, 128), (128, 64), (128, 32), (128, 16), (128, 8), (64, 64), (64, 32), (64, 16), (64, 8),
    (32, 32), (32, 16),
)  # fmt: skip
TILES = tuple(sorted({*SHAPES_OF_TILES, *((n, m) for m, n in SHAPES_OF_TILES)}))
SPLITS = (1, 2, 4, 8, 16, 32)
PARTIAL_SUM = 8  # bytes that a partial sum moves: fp32, written and read
TYPICAL_TILE = 128
FED = 40.0  # [FLOP/B] of a machine, more than those fitted have; where memory is slower still, a cache feeds the tiles
USUAL_TILES = ((128, 128), (256, 128))  # products differ by what these leave idle and pad
ALIGNED = 64  # elements; a dimension of more whole ones is aligned no better
UNITS = 80  # where a device file gives none


class Tiling(File):
    """What tiles cost on one path."""

    start: float = Field(ge=0, description="what starting a tile costs [steps of k]")
    half_tile: float = Field(ge=0, description="uses of a loaded element at which a unit attains half its peak")
    wave: float = Field(ge=0, le=1, description="how far the last wave idles: 0 work is evened out, 1 not at all")
    memory: float = Field(gt=0, le=1, description="share of the bandwidth that is sustained")
    reload: float = Field(ge=0, description="share of the tiles' loads that costs bandwidth again")
    resident: float = Field(gt=0, description="tiles that a unit works on at once")


class GemmCoefficients(File):
    """The coefficients, in text."""

    source: str
    vector: Tiling
    tensor: Tiling
    sustained: Sustained
    balance: tuple[float, float] = Field(
        description="octaves between compute and memory time beyond which products resemble each other"
    )
    hyperparameters: KernelHyperparameters


@dataclass(frozen=True)
class ProductShapes:
    """Shapes of matrix products, one entry per product."""

    batch: Floats
    m: Floats
    n: Floats
    k: Floats
    itemsize: Floats  # [B]

    def at(self, rows: Flags) -> ProductShapes:
        """Some of the products."""
        return ProductShapes(*(sizes[rows] for sizes in vars(self).values()))

    def flop(self) -> Floats:
        """FLOP of each."""
        return physics.gemm_flop(self.batch, self.m, self.n, self.k)

    def bytes(self) -> Floats:
        """Compulsory traffic of each [B]."""
        return physics.gemm_bytes(self.batch, self.m, self.n, self.k, self.itemsize)


@dataclass(frozen=True)
class TileMachine:
    """What tiles run on; each number one for all products, or one for each."""

    peak: ArrayLike  # that is sustained [FLOP/s]
    bandwidth: ArrayLike  # that is sustained [B/s]
    units: ArrayLike  # that share the peak; NaN where unknown


def product_times(shapes: ProductShapes, hardware: Hardware, coefficients: GemmCoefficients) -> tuple[Floats, Floats]:
    """Compute and memory time [s] of one call of each product, without its launch."""
    peak = coefficients.sustained.peak(hardware)
    compute, memory = np.empty_like(shapes.m), np.empty_like(shapes.m)
    for rows, tiling in ((~hardware.tensor, coefficients.vector), (hardware.tensor, coefficients.tensor)):
        if not rows.any():
            continue
        bandwidth = hardware.attained_bandwidth(tiling.memory)
        machine = TileMachine(peak[rows], bandwidth[rows], hardware.units[rows])
        compute[rows], memory[rows] = tiled_times(shapes.at(rows), machine, tiling)
    return compute, memory


def tiled_times(shapes: ProductShapes, machine: TileMachine, tiling: Tiling) -> tuple[Floats, Floats]:
    """Compute and memory time [s] of one call of each product under the tile and split that take least."""
    peak, bandwidth = np.asarray(machine.peak, float), np.asarray(machine.bandwidth, float)
    units = np.where(np.isnan(machine.units), UNITS, machine.units)
    traffic, result = shapes.bytes(), shapes.batch * shapes.m * shapes.n
    least = np.full(shapes.m.shape, np.inf)
    compute = memory = np.full(shapes.m.shape, np.nan)
    for tile_m, tile_n in TILES:
        tiles = shapes.batch * np.ceil(shapes.m / tile_m) * np.ceil(shapes.n / tile_n)
        loads = tiles * (tile_m + tile_n) * shapes.k * shapes.itemsize
        loading = traffic / bandwidth + tiling.reload * loads / np.maximum(bandwidth, peak / FED)
        steps_per_s = peak / units * _reuse(tile_m, tile_n, tiling.half_tile) / (2.0 * tile_m * tile_n)
        for split in SPLITS:
            rounds = _waves(tiles * split / (units * tiling.resident), tiling.wave) * tiling.resident
            computing = rounds * (shapes.k / split + tiling.start) / steps_per_s
            moving = loading + (split - 1) * PARTIAL_SUM * result / bandwidth
            both = computing**3 + moving**3
            better = both < least
            least, compute, memory = (
                np.where(better, new, old) for new, old in ((both, least), (computing, compute), (moving, memory))
            )
    return compute, memory


def _waves(rounds: Floats, quantized: float) -> Floats:
    """Rounds that the fullest unit works, at least one: between ``rounds`` (work is evened out) and the next whole."""
    return np.asarray((1.0 - quantized) * np.maximum(rounds, 1.0) + quantized * np.ceil(rounds))


def _reuse(tile_m: int, tile_n: int, half: float) -> float:
    """Share of its peak that a unit attains on a tile: a half where each loaded element is used ``half`` times."""
    used = tile_m * tile_n / (tile_m + tile_n)
    return used / (used + half)


def typical_share(tiling: Tiling) -> float:
    """Share of the sustained peak that a unit attains on a tile of typical size."""
    return _reuse(TYPICAL_TILE, TYPICAL_TILE, tiling.half_tile)


def compute_share(compute: Floats, memory: Floats) -> Floats:
    """How far compute binds the time of work that overlaps, 0 … 1: d ln t / d ln C of :func:`overlapped`."""
    return np.asarray(compute**3 / (compute**3 + memory**3))


def overlapped(compute: ArrayLike, memory: ArrayLike) -> Floats:
    """Time [s] of compute and memory time that overlap: (C³ + M³)^(1/3), at least the greater of the two."""
    return np.asarray(np.cbrt(np.asarray(compute, float) ** 3 + np.asarray(memory, float) ** 3))


def product_shapes(rows: pd.DataFrame) -> ProductShapes:
    """The products of rows of any table with the columns of a GEMM."""
    batch, m, n, k = (numbers(rows, name) for name in ("batch", "m", "n", "k"))
    return ProductShapes(batch, m, n, k, itemsizes(rows["precision"]))


def product_features(
    rows: pd.DataFrame, hardware: Hardware, compute_share: Floats, coefficients: GemmCoefficients
) -> OpFeatures:
    """By what products resemble each other: sizes in octaves and how far compute binds them; what usual tiles leave
    idle in the last wave and pad, in octaves; how the operands lie. Batched ones are a kind of their own. Of C and its
    transpose, one product in the other storage order, all is the same but for one flag.
    """
    shapes, wide = product_shapes(rows), (rows["n"] > rows["m"]).to_numpy(dtype=bool)
    sides = np.maximum(shapes.m, shapes.n), np.minimum(shapes.m, shapes.n)
    flop, bytes_ = shapes.flop(), shapes.bytes()
    cached = bytes_ <= hardware.cache
    coordinates = [
        *np.log2([*sides, shapes.k, shapes.batch]),
        np.clip(np.log2(flop / hardware.peak / (bytes_ / hardware.bandwidth)), *coefficients.balance),
        *(_idle(shapes, tile, hardware.units) for tile in USUAL_TILES),
        *(np.log2(np.ceil(side / tile) * tile / side) for tile, _ in USUAL_TILES for side in sides),
        cached,
        wide,
        *(np.log2(np.gcd(size.astype(int), ALIGNED)) / np.log2(ALIGNED) for size in (*sides, shapes.k)),
        *(np.where(wide, *pair) for pair in permutations(_transposed(rows))),
    ]
    return OpFeatures(np.column_stack(coordinates), compute_share, (shapes.batch > 1).astype(int), cached)


def _idle(shapes: ProductShapes, tile: tuple[int, int], units: Floats) -> Floats:
    """By how many octaves the last wave of tiles lengthens the others, at most one; 0 where the units are not known."""
    rounds = shapes.batch * np.ceil(shapes.m / tile[0]) * np.ceil(shapes.n / tile[1]) / units
    return np.nan_to_num(np.minimum(np.log2(np.ceil(rounds) / rounds), 1.0))


def _transposed(rows: pd.DataFrame) -> list[Floats]:
    """1 where A, and where B, is stored transposed; 0 where not, and a half where nobody says."""
    return [rows[name].map({"n": 0.0, "t": 1.0}).to_numpy(dtype=float, na_value=0.5) for name in ("trans_a", "trans_b")]
