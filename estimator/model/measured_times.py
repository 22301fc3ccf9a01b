"""The times of ops whose very shape was measured."""

from __future__ import annotations

import numpy as np
import pandas as pd

from estimator.core.interval import Z
from estimator.core.operators import benchmark_kernels
from estimator.core.schema import STREAMING
from estimator.core.types import Flags, Floats
from estimator.model.coefficients import shipped
from estimator.model.kernels.kernel_model import amounts_per_call
from estimator.model.measured_rows import ENDS, best_of_shape
from estimator.model.shape_keys import shape_keys, storage_unknown

NEAR = 0.01  # share by which the amount that a measured row moves may be off


def measured_times(work: pd.DataFrame, table: pd.DataFrame) -> Floats:
    """Low end, median and high end [s] of one call (3 × ops) of each op whose shape is in a table of one row per shape;
    else NaN.

    Where the op's transposes are not known, those of all measured ones together. A memory-bound op is known by what it
    moves, give or take NEAR, as benchmarks move whole elements; where it was not timed itself, by a kernel that stands
    for it, whose time is as much less sure as ops of one kind differ.
    """
    if table.empty:
        return np.full((len(ENDS), len(work)), np.nan)
    times = table[["shape", *ENDS]].set_index("shape").reindex(shape_keys(work)).to_numpy(dtype=float)
    unknown = storage_unknown(work)
    if unknown.any():
        times[unknown] = _times_of_any_storage(work[unknown], table)
    streams, timed = (rows["op_class"].isin(STREAMING).to_numpy(dtype=bool) for rows in (work, table))
    if streams.any() and timed.any():
        times[streams] = _times_of_streams(work[streams], table[timed])
    return np.asarray(times.T)


def timed_cold(work: pd.DataFrame, rows: pd.DataFrame) -> Flags:
    """Ops of which rows that apply to a cold cache were timed in one: of a product, the very shape."""
    cold = rows[rows["cache"].eq("cold").fillna(False).to_numpy(dtype=bool)]
    if cold.empty:
        return np.zeros(len(work), dtype=bool)
    streams = work["op_class"].isin(STREAMING) & cold["op_class"].isin(STREAMING).any()
    however_stored = shape_keys(work, transposes=False).isin(shape_keys(cold, transposes=False))
    products = storage_unknown(work) & however_stored
    return np.asarray(streams | products | shape_keys(work).isin(cold["shape"]), dtype=bool)


def _times_of_any_storage(work: pd.DataFrame, table: pd.DataFrame) -> Floats:
    """Low end, mean and high end [s] (ops × 3) of each shape's rows, whatever their transposes."""
    shape = shape_keys(table, transposes=False)
    rows = table[list(ENDS)].assign(shape=shape)[best_of_shape(table, shape)]
    merged = rows.groupby("shape").agg({"time_low_s": "min", "time_s": "mean", "time_high_s": "max"})
    return np.asarray(merged.reindex(shape_keys(work, transposes=False)), dtype=float)


def _times_of_streams(work: pd.DataFrame, table: pd.DataFrame) -> Floats:
    """Times [s] (ops × 3) of memory-bound ops, as they were timed themselves, else as their stand-ins were."""
    stand_ins = pd.Series(benchmark_kernels(work), index=work.index, dtype="string[python]").replace("", pd.NA)
    own, others = (_times_of_operator(rows, table) for rows in (work, work.assign(operator=stand_ins)))
    wider = np.exp(Z * shipped().kernel_priors.stand_in.std * np.array([-1.0, 0.0, 1.0]))
    return np.where(np.isnan(own), others * wider, own)


def _times_of_operator(work: pd.DataFrame, table: pd.DataFrame) -> Floats:
    """Times [s] (ops × 3) of the measured rows of the same operator; where the length of an op's rows is not known, and
    none was timed so, of those of any length.
    """
    times = _times_of_amount(work, table)
    unknown = work["row_length"].isna().to_numpy(dtype=bool) & np.isnan(times[:, 0])
    if unknown.any() and table["row_length"].notna().any():
        times[unknown] = _times_of_amount(work[unknown], table.drop(columns="row_length"))
    return times


def _times_of_amount(work: pd.DataFrame, table: pd.DataFrame) -> Floats:
    """Times [s] (ops × 3) of the measured rows of the same operator and sizes that move the nearest amount."""
    wanted, measured = _amounts(work), _amounts(table)
    measured = measured.assign(**{end: table[end].to_numpy() for end in ENDS})
    found = pd.merge_asof(
        wanted.rename_axis("place").reset_index().dropna().sort_values("amount"), measured.sort_values("amount"),
        on="amount", by="shape", tolerance=np.log1p(NEAR), direction="nearest",
    )  # fmt: skip
    return np.asarray(found.set_index("place")[list(ENDS)].reindex(range(len(work))), dtype=float)


def _amounts(rows: pd.DataFrame) -> pd.DataFrame:
    """The shape but for its amount, and the logarithm of the bytes that one call moves."""
    amount = np.log(np.maximum(amounts_per_call(rows)[1], 1.0))
    return pd.DataFrame({"shape": shape_keys(rows, amount=False).to_numpy(), "amount": amount})
