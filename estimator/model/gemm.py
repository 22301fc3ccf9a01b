"""Time of matrix products on a machine of equal compute units, from their tiling.

A library cuts C into tiles, and where tiles are few the sum over k into parts; each unit works on one tile at a time.
The losses are: idle units in the last wave, the start of a tile, reloads of A and B by small tiles, padding at the
edges, and the sum of the parts. The library is assumed to choose the fastest tile and split. Compute and memory overlap
with a soft corner: t³ = C³ + M³.

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
PARTIAL_SUM = 8  # bytes moved: fp32, written and read
TYPICAL_TILE = 128
MIN_BALANCE = 40.0  # [FLOP/B], above that of all fitted machines; where memory is slower, a cache feeds the tiles
FEATURE_TILES = ((128, 128), (256, 128))  # whose idle units and padding are features of a product
ALIGNED = 64  # elements; the best alignment of a dimension
DEFAULT_UNITS = 80  # where a device file gives none


class Tiling(File):
    """The losses of tiling on one path."""

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
        """Select products."""
        return ProductShapes(*(sizes[rows] for sizes in vars(self).values()))

    def flop(self) -> Floats:
        """FLOP of each product."""
        return physics.gemm_flop(self.batch, self.m, self.n, self.k)

    def bytes(self) -> Floats:
        """Compulsory traffic of each product [B]."""
        return physics.gemm_bytes(self.batch, self.m, self.n, self.k, self.itemsize)


@dataclass(frozen=True)
class TileMachine:
    """The machine of the tiles; each number is one for all products, or one per product."""

    peak: ArrayLike  # sustained [FLOP/s]
    bandwidth: ArrayLike  # sustained [B/s]
    units: ArrayLike  # compute units; NaN where unknown


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
    """Compute and memory time [s] of one call of each product with the fastest tile and split."""
    peak, bandwidth = np.asarray(machine.peak, float), np.asarray(machine.bandwidth, float)
    units = np.where(np.isnan(machine.units), DEFAULT_UNITS, machine.units)
    traffic, result = shapes.bytes(), shapes.batch * shapes.m * shapes.n
    fastest = np.full(shapes.m.shape, np.inf)
    compute = memory = np.full(shapes.m.shape, np.nan)
    for tile_m, tile_n in TILES:
        tiles = shapes.batch * np.ceil(shapes.m / tile_m) * np.ceil(shapes.n / tile_n)
        loads = tiles * (tile_m + tile_n) * shapes.k * shapes.itemsize
        loading = traffic / bandwidth + tiling.reload * loads / np.maximum(bandwidth, peak / MIN_BALANCE)
        steps_per_s = peak / units * _reuse(tile_m, tile_n, tiling.half_tile) / (2.0 * tile_m * tile_n)
        for split in SPLITS:
            rounds = _waves(tiles * split / (units * tiling.resident), tiling.wave) * tiling.resident
            computing = rounds * (shapes.k / split + tiling.start) / steps_per_s
            moving = loading + (split - 1) * PARTIAL_SUM * result / bandwidth
            combined = computing**3 + moving**3
            better = combined < fastest
            fastest, compute, memory = (
                np.where(better, new, old) for new, old in ((combined, fastest), (computing, compute), (moving, memory))
            )
    return compute, memory


def _waves(rounds: Floats, quantized: float) -> Floats:
    """Rounds of the busiest unit, at least one: between ``rounds`` (evened out) and the next integer."""
    return np.asarray((1.0 - quantized) * np.maximum(rounds, 1.0) + quantized * np.ceil(rounds))


def _reuse(tile_m: int, tile_n: int, half: float) -> float:
    """Share of its peak that a unit attains on a tile: 1/2 where each loaded element is used ``half`` times."""
    used = tile_m * tile_n / (tile_m + tile_n)
    return used / (used + half)


def typical_share(tiling: Tiling) -> float:
    """Share of the sustained peak that a unit attains on a tile of typical size."""
    return _reuse(TYPICAL_TILE, TYPICAL_TILE, tiling.half_tile)


def compute_share(compute: Floats, memory: Floats) -> Floats:
    """How far compute binds overlapping work, 0 … 1: d ln t / d ln C of :func:`overlapped`; NaN where there is none."""
    both = compute**3 + memory**3
    return physics.ratio(compute**3, both, np.nan)


def overlapped(compute: ArrayLike, memory: ArrayLike) -> Floats:
    """Time [s] of overlapping compute and memory time: (C³ + M³)^(1/3), at least the greater of the two."""
    return np.asarray(np.cbrt(np.asarray(compute, float) ** 3 + np.asarray(memory, float) ** 3))


def product_shapes(rows: pd.DataFrame) -> ProductShapes:
    """The products in rows of any table with the columns of a GEMM."""
    batch, m, n, k = (numbers(rows, name) for name in ("batch", "m", "n", "k"))
    return ProductShapes(batch, m, n, k, itemsizes(rows["precision"]))


def product_features(
    rows: pd.DataFrame, hardware: Hardware, compute_share: Floats, coefficients: GemmCoefficients
) -> OpFeatures:
    """Features of products: sizes, balance of compute and memory, idle units and padding of tiles, and storage.

    Batched products are a separate kind. The features of C and of its transpose differ only in one flag.
    """
    shapes, is_wide = product_shapes(rows), (rows["n"] > rows["m"]).to_numpy(dtype=bool)
    sides = np.maximum(shapes.m, shapes.n), np.minimum(shapes.m, shapes.n)
    flop, bytes_ = shapes.flop(), shapes.bytes()
    is_cached = bytes_ <= hardware.cache
    coordinates = [
        *np.log2([*sides, shapes.k, shapes.batch]),
        np.clip(np.log2(flop / hardware.peak / (bytes_ / hardware.bandwidth)), *coefficients.balance),
        *(_idle_octaves(shapes, tile, hardware.units) for tile in FEATURE_TILES),
        *(np.log2(np.ceil(side / tile) * tile / side) for tile, _ in FEATURE_TILES for side in sides),
        is_cached,
        is_wide,
        *(np.log2(np.gcd(size.astype(int), ALIGNED)) / np.log2(ALIGNED) for size in (*sides, shapes.k)),
        *(np.where(is_wide, *pair) for pair in permutations(_transpose_flags(rows))),
    ]
    return OpFeatures(np.column_stack(coordinates), compute_share, (shapes.batch > 1).astype(int), is_cached)


def _idle_octaves(shapes: ProductShapes, tile: tuple[int, int], units: Floats) -> Floats:
    """Octaves by which the last wave of tiles lengthens the time, at most 1; 0 where the units are unknown."""
    rounds = shapes.batch * np.ceil(shapes.m / tile[0]) * np.ceil(shapes.n / tile[1]) / units
    return np.nan_to_num(np.minimum(np.log2(np.ceil(rounds) / rounds), 1.0))


def _transpose_flags(rows: pd.DataFrame) -> list[Floats]:
    """Flags of A and of B: 1 where stored transposed, 0 where not, 0.5 where unknown."""
    return [rows[name].map({"n": 0.0, "t": 1.0}).to_numpy(dtype=float, na_value=0.5) for name in ("trans_a", "trans_b")]
