"""The times of ops whose shape was measured."""

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

USUAL_STD = 0.03  # of the logarithm of one measurement: the noise in coefficients/, fitted to public tables
BYTES_TOLERANCE = 0.01  # relative difference of bytes up to which a measured row applies


def measured_times(work: pd.DataFrame, table: pd.DataFrame) -> Floats:
    """Low end, median and high end [s] of one call (3 × ops) of each op with a measured shape; else NaN.

    ``table`` has one row per shape. Unknown transposes get the mean of all measured ones. A memory-bound op matches by
    its bytes within BYTES_TOLERANCE; without own rows it gets those of its stand-in, with a wider interval.
    """
    if table.empty:
        return np.full((len(ENDS), len(work)), np.nan)
    times = table[["shape", *ENDS]].set_index("shape").reindex(shape_keys(work)).to_numpy(dtype=float)
    unknown_storage = storage_unknown(work)
    if unknown_storage.any():
        times[unknown_storage] = _times_of_any_storage(work[unknown_storage], table)
    is_stream, is_timed_stream = (rows["op_class"].isin(STREAMING).to_numpy(dtype=bool) for rows in (work, table))
    if is_stream.any() and is_timed_stream.any():
        times[is_stream] = _times_of_streams(work[is_stream], table[is_timed_stream])
    return np.asarray(times.T)


def with_usual_spread(times: Floats) -> Floats:
    """Times (low end, median, high end × ops) with the interval of USUAL_STD where the measured rows state none."""
    low, mid, high = times
    factor = np.where(low == high, np.exp(Z * USUAL_STD), 1.0)
    return np.array([low / factor, mid, high * factor])


def timed_cold(work: pd.DataFrame, rows: pd.DataFrame) -> Flags:
    """Which ops have rows timed in a cold cache; for products of the same shape."""
    cold = rows[rows["cache"].eq("cold").fillna(False).to_numpy(dtype=bool)]
    if cold.empty:
        return np.zeros(len(work), dtype=bool)
    streams = work["op_class"].isin(STREAMING) & cold["op_class"].isin(STREAMING).any()
    in_any_storage = shape_keys(work, transposes=False).isin(shape_keys(cold, transposes=False))
    products = storage_unknown(work) & in_any_storage
    return np.asarray(streams | products | shape_keys(work).isin(cold["shape"]), dtype=bool)


def _times_of_any_storage(work: pd.DataFrame, table: pd.DataFrame) -> Floats:
    """Low end, mean and high end [s] (ops × 3) of each shape's rows of all transposes."""
    shape = shape_keys(table, transposes=False)
    rows = table[list(ENDS)].assign(shape=shape)[best_of_shape(table, shape)]
    merged = rows.groupby("shape").agg({"time_low_s": "min", "time_s": "mean", "time_high_s": "max"})
    return np.asarray(merged.reindex(shape_keys(work, transposes=False)), dtype=float)


def _times_of_streams(work: pd.DataFrame, table: pd.DataFrame) -> Floats:
    """Times [s] (ops × 3) of memory-bound ops by own rows, else by those of their stand-ins."""
    kernels = pd.Series(benchmark_kernels(work), index=work.index, dtype="string[python]").replace("", pd.NA)
    own_times, stand_in_times = (_times_of_operator(rows, table) for rows in (work, work.assign(operator=kernels)))
    widening = np.exp(Z * shipped().kernel_priors.stand_in.std * np.array([-1.0, 0.0, 1.0]))
    return np.where(np.isnan(own_times), stand_in_times * widening, own_times)


def _times_of_operator(work: pd.DataFrame, table: pd.DataFrame) -> Floats:
    """Times [s] (ops × 3) of the measured rows of the same operator.

    An unknown row length matches rows without one, else rows of any length.
    """
    times = _times_of_amount(work, table)
    unknown = work["row_length"].isna().to_numpy(dtype=bool) & np.isnan(times[:, 0])
    if unknown.any() and table["row_length"].notna().any():
        times[unknown] = _times_of_amount(work[unknown], table.drop(columns="row_length"))
    return times


def _times_of_amount(work: pd.DataFrame, table: pd.DataFrame) -> Floats:
    """Times [s] (ops × 3) of the measured rows of the same operator and sizes with the nearest bytes."""
    wanted, measured = _amounts(work), _amounts(table)
    measured = measured.assign(**{end: table[end].to_numpy() for end in ENDS})
    matches = pd.merge_asof(
        wanted.rename_axis("place").reset_index().dropna().sort_values("amount"), measured.sort_values("amount"),
        on="amount", by="shape", tolerance=np.log1p(BYTES_TOLERANCE), direction="nearest",
    )  # fmt: skip
    return np.asarray(matches.set_index("place")[list(ENDS)].reindex(range(len(work))), dtype=float)


def _amounts(rows: pd.DataFrame) -> pd.DataFrame:
    """The shape without its bytes, and the log of the bytes of one call."""
    amount = np.log(np.maximum(amounts_per_call(rows)[1], 1.0))
    return pd.DataFrame({"shape": shape_keys(rows, amount=False).to_numpy(), "amount": amount})
