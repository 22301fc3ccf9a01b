"""Times of the very op: rows of the target's measurements that have its shape.

C = A·B and its transpose are the same work in the other storage order, so (m, n, trans_a, trans_b) and
(n, m, trans_b, trans_a) are one shape here. Rows of one shape are one piece of evidence: their median, with ends that
hold them all.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pandas as pd

from estimator.core.conv_shape import ConvShape
from estimator.core.interval import Z, log_spread
from estimator.core.operators import benchmark_kernels, cast_formats
from estimator.core.schema import MATRIX, STREAMING, numbers
from estimator.core.types import Flags, Floats
from estimator.model.kernels import amounts

STAND_IN = 0.06  # standard deviation (logarithm) between memory-bound ops that move the same amount
NEAR = 0.01  # share by which the amount that a measured row moves may be off
SIZES_OF_OTHERS = ("row_length", "hidden", "sequences", "timesteps", "ranks")
MISSING = -1.0  # no size is negative
SPARE = 2  # bits, as pandas adds up the distances of an index's labels
ENDS = ("time_low_s", "time_s", "time_high_s")


def telling(measurements: pd.DataFrame, cache: str = "warm") -> pd.DataFrame:
    """The rows that tell of dense ops whose operands lie in the ``cache``, where the last call left them, as benchmarks
    time them, or (cold) do not, with their ``shape``, a column of :func:`keys`. Where a shape was timed in one state
    alone, that tells of the other too, but for products in a cold cache. Rows that beat a bound count only where a
    shape has no others.
    """
    dense, alike = numbers(measurements, "sparsity") == 0, measurements["cache"].fillna("warm") == cache
    either = measurements["op_class"].isin(STREAMING) | (cache == "cold")
    rows = measurements[dense & (alike | either)].reset_index(drop=True)
    if rows.empty:
        return rows
    shape, alike = keys(rows), rows["cache"].fillna("warm") == cache
    found = rows.assign(shape=shape)[alike | ~alike.groupby(shape).transform("any")]
    return found[_counts(found, found["shape"])]


def timed_cold(work: pd.DataFrame, rows: pd.DataFrame) -> Flags:
    """Ops of which rows that are :func:`telling` of an empty cache were timed in one: of a product, the very shape."""
    cold = rows[rows["cache"].eq("cold").fillna(False).to_numpy(dtype=bool)]
    if cold.empty:
        return np.zeros(len(work), dtype=bool)
    streams = work["op_class"].isin(STREAMING) & cold["op_class"].isin(STREAMING).any()
    however = _however(work) & keys(work, transposes=False).isin(keys(cold, transposes=False))
    return np.asarray(streams | however | keys(work).isin(cold["shape"]), dtype=bool)


def undisturbed(*tables: pd.DataFrame) -> list[pd.DataFrame]:
    """Tables with the time of the quickest repeats in place of the median, and as much in doubt: what else runs, and
    threads that wait for each other, only make a kernel longer, and are no part of it. As they are where a row does not
    tell its repeats: the low end of its time may be a digit's that is not printed.
    """
    if not all(rows["repeats"].notna().all() for rows in tables):
        return list(tables)
    quick = [(rows["time_low_s"] / rows["time_s"]).fillna(1.0) for rows in tables]
    return [rows.assign(**{end: q * rows[end] for end in ENDS}) for rows, q in zip(tables, quick, strict=True)]


def evidence(rows: pd.DataFrame) -> pd.DataFrame:
    """Rows that are :func:`telling`, as one row a ``shape``, of so many ``pieces``."""
    if rows.empty:
        return rows
    times = {name: rows[name].fillna(rows["time_s"]).groupby(rows["shape"]) for name in ENDS}
    merged = rows.assign(
        time_low_s=times["time_low_s"].transform("min"),
        time_s=times["time_s"].transform("median"),
        time_high_s=times["time_high_s"].transform("max"),
        pieces=times["time_s"].transform("count"),
    )
    return _as_sure(merged[~rows["shape"].duplicated()].reset_index(drop=True))


def _as_sure(merged: pd.DataFrame) -> pd.DataFrame:
    """Rows of which those of one piece are no surer than one piece of the others is, where there are others."""
    low, high = (merged[end].to_numpy(dtype=float) for end in (ENDS[0], ENDS[-1]))
    spread, one = log_spread(low, high), (merged["pieces"] == 1).to_numpy(dtype=bool)
    if one.all() or not one.any():
        return merged
    usual = float(np.median(spread[~one]))
    apart = np.exp(Z * np.hypot(spread, usual))
    ends = {"time_low_s": merged["time_s"] / apart, "time_high_s": merged["time_s"] * apart}
    return merged.assign(**{name: merged[name].mask(one, times) for name, times in ends.items()})


def times_of(work: pd.DataFrame, table: pd.DataFrame) -> Floats:
    """Low end, median and high end [s] of one call (3 × ops) of each op whose shape was measured; else NaN.

    Where the op's transposes are not known, those of all measured ones together. A memory-bound op is known by what it
    moves, give or take NEAR, as benchmarks move whole elements; where it was not timed itself, by a kernel that stands
    for it, whose time is as much less sure as ops of one kind differ.
    """
    if table.empty:
        return np.full((len(ENDS), len(work)), np.nan)
    times = table.set_index("shape")[list(ENDS)].reindex(keys(work)).to_numpy(dtype=float)
    unknown = _however(work)
    if unknown.any():
        times[unknown] = _however_stored(table).reindex(keys(work[unknown], transposes=False)).to_numpy(dtype=float)
    streams = work["op_class"].isin(STREAMING).to_numpy(dtype=bool)
    if streams.any():
        times[streams] = _of_streams(work[streams], table[table["op_class"].isin(STREAMING)])
    return np.asarray(times.T)


def _of_streams(work: pd.DataFrame, table: pd.DataFrame) -> Floats:
    """Times [s] (ops × 3) of memory-bound ops, as they were timed themselves, else as their stand-ins were."""
    stand_ins = pd.Series(benchmark_kernels(work), index=work.index, dtype="string[python]").replace("", pd.NA)
    own, others = (_of_rows(rows, table) for rows in (work, work.assign(operator=stand_ins)))
    wider = np.exp(Z * STAND_IN * np.array([-1.0, 0.0, 1.0]))
    return np.where(np.isnan(own), others * wider, own)


def _of_rows(work: pd.DataFrame, table: pd.DataFrame) -> Floats:
    """Times [s] (ops × 3) of the measured rows of the same operator; where the length of an op's rows is not known, and
    none was timed so, of those of any length.
    """
    times = _of_amount(work, table)
    unknown = work["row_length"].isna().to_numpy(dtype=bool) & np.isnan(times[:, 0])
    if unknown.any() and table["row_length"].notna().any():
        times[unknown] = _of_amount(work[unknown], table.drop(columns="row_length"))
    return times


def _of_amount(work: pd.DataFrame, table: pd.DataFrame) -> Floats:
    """Times [s] (ops × 3) of the measured rows of the same operator and sizes that move the nearest amount."""
    sides = []
    for rows in (work, table):
        amount = np.log(np.maximum(amounts(rows)[1], 1.0))
        sides.append(pd.DataFrame({"shape": keys(rows, amount=False).to_numpy(), "amount": amount}))
    asked, known = (
        sides[0].rename_axis("place").reset_index(),
        sides[1].assign(**{end: table[end].to_numpy() for end in ENDS}),
    )
    found = pd.merge_asof(
        asked.dropna().sort_values("amount"), known.sort_values("amount"),
        on="amount", by="shape", tolerance=np.log1p(NEAR), direction="nearest",
    )  # fmt: skip
    return np.asarray(found.set_index("place")[list(ENDS)].reindex(range(len(work))), dtype=float)


def _however(work: pd.DataFrame) -> Flags:
    """Products of which nothing tells how their operands are stored."""
    return np.asarray((work["op_class"] == "gemm") & work[["trans_a", "trans_b"]].isna().any(axis=1), dtype=bool)


def _however_stored(table: pd.DataFrame) -> pd.DataFrame:
    """Low end, mean and high end [s] of each shape's rows, whatever their transposes."""
    shape = keys(table, transposes=False)
    told = table.assign(shape=shape)[_counts(table, shape)]
    return told.groupby("shape").agg({"time_low_s": "min", "time_s": "mean", "time_high_s": "max"})


def _counts(rows: pd.DataFrame, shape: pd.Series) -> pd.Series:
    """Whether each row is evidence of its shape: one that beats a bound is only where there are no others."""
    flagged = rows["flag"].notna()
    return ~flagged | flagged.groupby(shape).transform("all")


def keys(rows: pd.DataFrame, *, transposes: bool = True, amount: bool = True) -> pd.Series:
    """One number for each operator, precision and sizes, the same within a process; equal for a product C and its
    transpose. Of ops without matrix dimensions the ``amount`` that they move counts as a size.
    """
    m, n = _number(rows, "m"), _number(rows, "n")
    a, b = _text(rows, "trans_a"), _text(rows, "trans_b")
    first, second = np.where(n > m, b, a), np.where(n > m, a, b)
    turned = (m == n) & (first == "t") & (second == "n")  # of a square C, the transpose has the very shape
    stored = [np.where(turned, "n", first), np.where(turned, "t", second)] if transposes else []
    matrix = rows["op_class"].isin(MATRIX).to_numpy(dtype=bool)
    columns = [
        *(_text(rows, name) for name in ("operator", "pass", "cell")), _format(rows), *stored,
        np.maximum(m, n), np.minimum(m, n), _number(rows, "k"), numbers(rows, "batch"), *_geometry(rows),
        *(np.where(matrix, MISSING, _number(rows, name)) for name in SIZES_OF_OTHERS),
        np.where(matrix | np.isnan(moved := amounts(rows)[1]) | (not amount), MISSING, moved.round()),
    ]  # fmt: skip
    shapes = zip(*(column.tolist() for column in columns), strict=True)
    return pd.Series([hash(shape) >> SPARE for shape in shapes], index=rows.index, dtype="int64")


def _format(rows: pd.DataFrame) -> npt.NDArray[np.object_]:
    """The precision of each row; of a cast, the narrow format."""
    return np.asarray(cast_formats(rows).fillna(rows["precision"]).to_numpy(dtype=object, na_value=""))


def _geometry(rows: pd.DataFrame) -> Floats:
    """Sizes × rows of what a convolution or pool needs; 1 where one is not known."""
    shape = ConvShape.from_table(rows)
    along = (shape.image, shape.window, shape.output, shape.stride, shape.pad, shape.dilation)
    return np.nan_to_num(np.vstack([shape.n, shape.c, shape.k, shape.groups, *along]), nan=1.0)


def _text(rows: pd.DataFrame, name: str) -> npt.NDArray[np.object_]:
    """A column's words, nothing where there are none."""
    return rows[name].to_numpy(dtype=object, na_value="") if name in rows else np.full(len(rows), "", dtype=object)


def _number(rows: pd.DataFrame, name: str) -> Floats:
    """A column's numbers."""
    return rows[name].to_numpy(dtype=float, na_value=MISSING) if name in rows else np.full(len(rows), MISSING)
