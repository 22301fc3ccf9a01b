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
from estimator.core.types import File, Floats, itemsizes
from estimator.model.calibration import Likeness, Ops
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
USUAL_TILES = ((128, 128), (256, 128))  # by what they leave idle and pad, products are told apart
ALIGNED = 64  # elements; dimensions of which no more are whole are alike
BALANCE = (-3.0, 4.0)  # octaves between compute and memory time beyond which products are alike
SCALES = 5 * (4.0,) + 13 * (2.0,)  # of the features: distance 1 is four octaves of size, or two of waste, or two flags
UNITS = 80  # where a device file does not tell


class Tiling(File):
    """What tiles cost on one path."""

    start: float = Field(ge=0, description="what starting a tile costs [steps of k]")
    half_tile: float = Field(ge=0, description="uses of a loaded element at which a unit attains half its peak")
    wave: float = Field(ge=0, le=1, description="how far the last wave idles: 0 work is evened out, 1 not at all")
    memory: float = Field(gt=0, le=1, description="share of the bandwidth that is sustained")
    reload: float = Field(ge=0, description="share of the tiles' loads that costs bandwidth again")
    resident: float = Field(gt=0, description="tiles that a unit works on at once")


class Gemm(File):
    """The coefficients, in text."""

    source: str
    vector: Tiling
    tensor: Tiling
    sustained: Sustained
    likeness: Likeness


@dataclass(frozen=True)
class Products:
    """Shapes of matrix products, one entry per product."""

    batch: Floats
    m: Floats
    n: Floats
    k: Floats
    itemsize: Floats  # [B]


def product_times(of: Products, on: Hardware, c: Gemm) -> tuple[Floats, Floats]:
    """Compute and memory time [s] of one call of each product, without its launch."""
    peak = c.sustained.of(on)
    compute, memory = np.empty_like(of.m), np.empty_like(of.m)
    for rows, tiling in ((~on.tensor, c.vector), (on.tensor, c.tensor)):
        if not rows.any():
            continue
        of_path = Products(*(sizes[rows] for sizes in vars(of).values()))
        found = tiled_times(of_path, peak[rows], on.attained(tiling.memory)[rows], on.units[rows], tiling)
        compute[rows], memory[rows] = found
    return compute, memory


def tiled_times(
    of: Products, peak: ArrayLike, bandwidth: ArrayLike, units: ArrayLike, c: Tiling
) -> tuple[Floats, Floats]:
    """Compute and memory time [s] of one call of each product under the tile and split that take least.

    ``peak`` [FLOP/s] and ``bandwidth`` [B/s] that are sustained, ``units`` that share the peak, NaN where unknown: all
    one for all products, or one for each.
    """
    peak, bandwidth = np.asarray(peak, float), np.asarray(bandwidth, float)
    units = np.where(np.isnan(units), UNITS, units)
    traffic, result = physics.gemm_bytes(*vars(of).values()), of.batch * of.m * of.n
    least = np.full(of.m.shape, np.inf)
    compute = memory = np.full(of.m.shape, np.nan)
    for tile_m, tile_n in TILES:
        tiles = of.batch * np.ceil(of.m / tile_m) * np.ceil(of.n / tile_n)
        loads = tiles * (tile_m + tile_n) * of.k * of.itemsize
        loading = traffic / bandwidth + c.reload * loads / np.maximum(bandwidth, peak / FED)
        steps_per_s = peak / units * _reuse(tile_m, tile_n, c.half_tile) / (2.0 * tile_m * tile_n)
        for split in SPLITS:
            rounds = _waves(tiles * split / (units * c.resident), c.wave) * c.resident
            computing = rounds * (of.k / split + c.start) / steps_per_s
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


def typical_share(c: Tiling) -> float:
    """Share of the sustained peak that a unit attains on a tile of typical size."""
    return _reuse(TYPICAL_TILE, TYPICAL_TILE, c.half_tile)


def compute_share(compute: Floats, memory: Floats) -> Floats:
    """How far compute binds the time of work that overlaps, 0 … 1: d ln t / d ln C of :func:`overlapped`."""
    return np.asarray(compute**3 / (compute**3 + memory**3))


def overlapped(compute: ArrayLike, memory: ArrayLike) -> Floats:
    """Time [s] of compute and memory time that overlap: (C³ + M³)^(1/3), at least the greater of the two."""
    return np.asarray(np.cbrt(np.asarray(compute, float) ** 3 + np.asarray(memory, float) ** 3))


def products(rows: pd.DataFrame) -> Products:
    """The products of rows with the columns of a GEMM, in WORK or in MEASUREMENTS."""
    batch, m, n, k = (numbers(rows, name) for name in ("batch", "m", "n", "k"))
    return Products(batch, m, n, k, itemsizes(rows["precision"]))


def alike(rows: pd.DataFrame, on: Hardware, compute_share: Floats) -> Ops:
    """Products by what makes them alike, in the order of SCALES: sizes in octaves and how far compute binds them; what
    usual tiles leave idle in the last wave and pad, in octaves; how the operands lie. Batched ones are a kind of their
    own. Of C and its transpose, one product in the other storage order, all is the same but for one flag.
    """
    of, wide = products(rows), (rows["n"] > rows["m"]).to_numpy(dtype=bool)
    sides = np.maximum(of.m, of.n), np.minimum(of.m, of.n)
    flop, bytes_ = physics.gemm_flop(of.batch, of.m, of.n, of.k), physics.gemm_bytes(*vars(of).values())
    cached = bytes_ <= on.cache
    features = [
        *np.log2([*sides, of.k, of.batch]),
        np.clip(np.log2(flop / on.peak / (bytes_ / on.bandwidth)), *BALANCE),
        *(_idle(of, tile, on.units) for tile in USUAL_TILES),
        *(np.log2(np.ceil(side / tile) * tile / side) for tile, _ in USUAL_TILES for side in sides),
        cached,
        wide,
        *(np.log2(np.gcd(size.astype(int), ALIGNED)) / np.log2(ALIGNED) for size in (*sides, of.k)),
        *(np.where(wide, *pair) for pair in permutations(_transposed(rows))),
    ]
    return Ops(np.column_stack(features), compute_share, (of.batch > 1).astype(int), cached)


def _idle(of: Products, tile: tuple[int, int], units: Floats) -> Floats:
    """By how many octaves the last wave of tiles lengthens the others, at most one; 0 where the units are not known."""
    rounds = of.batch * np.ceil(of.m / tile[0]) * np.ceil(of.n / tile[1]) / units
    return np.nan_to_num(np.minimum(np.log2(np.ceil(rounds) / rounds), 1.0))


def _transposed(rows: pd.DataFrame) -> list[Floats]:
    """1 where A, and where B, is stored transposed; 0 where not, and a half where nobody says."""
    return [rows[name].map({"n": 0.0, "t": 1.0}).to_numpy(dtype=float, na_value=0.5) for name in ("trans_a", "trans_b")]
