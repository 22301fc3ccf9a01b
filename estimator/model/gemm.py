"""Matrix products from the target's own measured ones: the very shape, or interpolation among the nearest.

C = A·B and its transpose are the same work in the other storage order, so (m, n, trans_a, trans_b) and
(n, m, trans_b, trans_a) are one shape here. What is interpolated is the attained share of the roofline beyond a
launch, in log size, by inverse distance to the power 3 over the 8 nearest of the same precision and alignment class.
Rows of one shape are one piece of evidence: their median, with ends that hold them all.
tests/model/test_gemm.py leaves out one shape at a time of the shipped tables and holds it against a constant share.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd

from estimator.core import physics
from estimator.core.interval import draw
from estimator.core.schema import Flags
from estimator.core.types import DeviceSpec, Floats, RunPlan, itemsizes
from estimator.model.uncertainty import Rates, draw_rates

NEAREST, POWER = 8, 3.0
REACH = 4.0  # octaves: nothing is interpolated from shapes farther away
TRANSPOSED = 0.5  # octaves that unlike transposes count as
FLOOR_SHARE = 0.8  # a launch takes at most this share of the shortest time measured
VECTOR_LOAD = 16  # bytes; dimensions that fill whole vector loads form one alignment class


@dataclass(frozen=True)
class Shapes:
    """Canonical shapes of matrix products, one entry per product."""

    size: Floats  # products × (log2 of the larger of m and n, of the smaller, of k)
    batch: Floats
    transposes: npt.NDArray[np.str_]  # two letters, or "" where unknown
    precision: npt.NDArray[np.str_]
    aligned: npt.NDArray[np.bool_]


def measured_times(
    work: pd.DataFrame, rates: Rates, target: DeviceSpec, measurements: pd.DataFrame, plan: RunPlan
) -> tuple[Floats, Floats]:
    """Samples (1 + draws × ops) of the measured and of the interpolated time [s]; NaN where there is no such evidence.

    Interpolated times are never below the roofline; measured ones are what they are.
    """
    out = np.full((2, 1 + plan.draws, len(work)), np.nan)
    rows = np.flatnonzero((work["op_class"] == "gemm") & work[["m", "n", "k"]].notna().all(axis=1))
    table = _evidence(measurements)
    if not len(rows) or table.empty:
        return out[0], out[1]
    times, honest = _times(table), table["flag"].isna().to_numpy()  # operands in the cache tell nothing of other shapes
    distance = _distances(shapes(work.iloc[rows]), shapes(table))
    ideal = ideal_of_one_call(work, rates)[:, rows]
    calls = work["calls"].fillna(1.0).to_numpy(dtype=float)[rows]

    def draw_times(low: Floats, mid: Floats, high: Floats) -> Floats:
        return draw(f"{target.name}.measurements", low, mid, high, plan.draws, plan.seed)

    out[0][:, rows] = calls * draw_times(*_of_equals(distance == 0, honest, times))
    if honest.any():
        table, times = table[honest], times[:, honest]
        table_rates = draw_rates(target, table, dataclasses.replace(plan, draws=0))
        floor = min(float(rates.latency[0, 0]), FLOOR_SHARE * float(times.min()))
        log_excess = np.log((times - floor) / ideal_of_one_call(table, table_rates)[0])
        interpolated = floor + ideal[0] * np.exp(_interpolate(distance[:, honest], log_excess))
        out[1][:, rows] = calls * np.maximum(draw_times(*interpolated), ideal)
    return out[0], out[1]


def _evidence(measurements: pd.DataFrame) -> pd.DataFrame:
    """The measured dense products, timed as DeepBench does: operands where the last call left them; a row a shape."""
    products = measurements[(measurements["op_class"] == "gemm") & measurements["m"].notna()]
    dense, warm = products["sparsity"].fillna(0) == 0, products["cache"].fillna("warm") == "warm"
    return _one_a_shape(products[dense & warm].reset_index(drop=True))


def _one_a_shape(rows: pd.DataFrame) -> pd.DataFrame:
    """The first row of each shape with the median time of all of them, and ends that hold them all.

    Flagged rows count only where a shape has no others.
    """
    known, flagged = shapes(rows), rows["flag"].notna()
    keys = [pd.Series(key) for key in (*known.size.T, known.batch, known.transposes, known.precision)]
    counted = rows[~flagged | flagged.groupby(keys).transform("all")]
    low, mid, high = (pd.Series(time, counted.index).groupby([key[counted.index] for key in keys], sort=False)
                      for time in _times(counted))  # fmt: skip
    merged = counted.assign(
        time_low_s=low.transform("min"), time_s=mid.transform("median"), time_high_s=high.transform("max")
    )
    return merged[mid.cumcount() == 0].reset_index(drop=True)


def shapes(frame: pd.DataFrame) -> Shapes:
    """The canonical shapes of a frame with the GEMM columns."""
    m, n, k = (frame[name].to_numpy(dtype=float) for name in ("m", "n", "k"))
    a, b = (frame[name].fillna("").to_numpy(dtype=str) for name in ("trans_a", "trans_b"))
    transposes = np.where(n > m, np.char.add(b, a), np.char.add(a, b))
    transposes = np.where((m == n) & (transposes == "tn"), "nt", transposes)  # a square C is its own transpose's shape
    transposes = np.where(np.char.str_len(transposes) == 2, transposes, "")
    itemsize = itemsizes(frame["precision"])
    aligned = np.all([(dim * itemsize) % VECTOR_LOAD == 0 for dim in (m, n, k)], axis=0)
    size = np.log2(np.stack([np.maximum(m, n), np.minimum(m, n), k], axis=1))
    batch = frame["batch"].fillna(1).to_numpy(dtype=float)
    return Shapes(size, batch, transposes, frame["precision"].to_numpy(dtype=str), aligned)


def _distances(wanted: Shapes, known: Shapes) -> Floats:
    """Distance in octaves (wanted × known); infinite between unlike precisions, alignment classes or batches."""
    squares = ((wanted.size[:, None, :] - known.size[None, :, :]) ** 2).sum(axis=2)
    a, b = wanted.transposes[:, None], known.transposes[None, :]
    squares += np.where((a != b) & (a != "") & (b != ""), TRANSPOSED**2, 0.0)
    like = np.ones_like(squares, dtype=bool)
    for name in ("precision", "aligned", "batch"):
        like &= getattr(wanted, name)[:, None] == getattr(known, name)[None, :]
    return np.where(like, np.sqrt(squares), np.inf)


def _of_equals(equal: Flags, honest: Flags, times: Floats) -> Floats:
    """Lowest, mean and highest time (3 × wanted) of the rows of the very shape; NaN where there is none.

    There are several where transposes are not known. Flagged rows count only where there are no others.
    """
    equal = np.where((equal & honest).any(axis=1, keepdims=True), equal & honest, equal)
    count = equal.sum(axis=1)
    low, high = np.where(equal, times[0], np.inf).min(axis=1), np.where(equal, times[2], 0).max(axis=1)
    return np.where(count > 0, np.stack([low, equal @ times[1] / np.maximum(count, 1), high]), np.nan)


def _interpolate(distance: Floats, log_excess: Floats) -> Floats:
    """Inverse-distance mean (3 × wanted) of the logs over the nearest rows, ties included; NaN where none is near."""
    count = min(NEAREST, distance.shape[1])
    reach = np.partition(distance, count - 1, axis=1)[:, count - 1 : count]
    weight = np.maximum(distance, np.finfo(float).tiny ** (1 / 8)) ** -POWER
    weight = np.where((distance <= reach) & np.isfinite(distance), weight, 0.0)
    total = np.where(distance.min(axis=1) <= REACH, weight.sum(axis=1), np.nan)
    return np.asarray(log_excess @ weight.T / total)


def _times(table: pd.DataFrame) -> Floats:
    """Low end, median and high end (3 × rows) of one call's time [s]; the median where no end is stated."""
    mid = table["time_s"].to_numpy(dtype=float)
    ends = (table[name].to_numpy(dtype=float) for name in ("time_low_s", "time_high_s"))
    low, high = (np.where(np.isnan(end), mid, end) for end in ends)
    return np.stack([low, mid, high])


def ideal_of_one_call(frame: pd.DataFrame, rates: Rates) -> Floats:
    """Samples (1 + draws × products) of one call's roofline time [s]."""
    batch, m, n, k = (frame[name].fillna(1).to_numpy(dtype=float) for name in ("batch", "m", "n", "k"))
    itemsize = itemsizes(frame["precision"])
    flop, bytes_ = physics.gemm_flop(batch, m, n, k), physics.gemm_bytes(batch, m, n, k, itemsize)
    return physics.ideal_time(flop, bytes_, rates.peak, rates.bandwidth)
