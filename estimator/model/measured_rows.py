"""Select and merge the measured rows that apply to ops; rows of one shape are merged into one."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd

from estimator.core.interval import Z, log_spread
from estimator.core.number_formats import OTHER_16_BIT
from estimator.core.schema import STREAMING, UNPOOLED, numbers
from estimator.model.shape_keys import shape_keys

ENDS = ("time_low_s", "time_s", "time_high_s")


def rows_for_ops(measurements: pd.DataFrame, work: pd.DataFrame) -> pd.DataFrame:
    """The measured rows of the op classes and precisions of WORK, of all memory-bound classes but pools, and of
    collectives, whose time goes by their bytes alone.
    """
    is_same_kind = measurements["op_class"].isin(work["op_class"]) & measurements["precision"].isin(work["precision"])
    return measurements[is_same_kind | measurements["op_class"].isin((*UNPOOLED, "collective"))]


def products_in_other_format(measurements: pd.DataFrame, work: pd.DataFrame) -> pd.DataFrame:
    """The measured products in the other 16-bit format, for those of WORK."""
    asked = set(work.loc[work["op_class"] == "gemm", "precision"].dropna()) & OTHER_16_BIT.keys()
    others = {OTHER_16_BIT[name] for name in asked} - asked
    return measurements[measurements["op_class"].eq("gemm") & measurements["precision"].isin(others)]


def rows_of_common_libraries(first: pd.DataFrame, second: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The rows of two tables of MEASUREMENTS by common libraries with stated versions."""
    libraries = {
        name for name in {*first["library"].dropna()} & {*second["library"].dropna()} if re.search(r"\d", name)
    }
    return first[first["library"].isin(libraries)], second[second["library"].isin(libraries)]


def applicable_rows(measurements: pd.DataFrame, cache: str = "warm") -> pd.DataFrame:
    """Select the rows of dense ops for a ``cache`` state, with a column ``shape`` of shape_keys.

    warm: the last call left the operands in the cache, as in benchmarks; cold: not. A shape timed in one state only is
    used for the other too, except cold products for warm ones. Rows that beat a bound count only where a shape has no
    others.
    """
    dense, in_state = numbers(measurements, "sparsity") == 0, _is_in_cache_state(measurements, cache)
    any_state = measurements["op_class"].isin(STREAMING) | (cache == "cold")
    rows = measurements[dense & (in_state | any_state)].reset_index(drop=True)
    if rows.empty:
        return rows
    shape, in_state = shape_keys(rows), _is_in_cache_state(rows, cache)
    applicable = rows.assign(shape=shape)[in_state | ~in_state.groupby(shape).transform("any")]
    return applicable[best_of_shape(applicable, applicable["shape"])]


def _is_in_cache_state(rows: pd.DataFrame, cache: str) -> pd.Series:
    return rows["cache"].fillna("warm") == cache


def best_of_shape(rows: pd.DataFrame, shape: pd.Series) -> pd.Series:
    """Which rows count for their shape: rows that beat a bound only where there are no others."""
    flagged = rows["flag"].notna()
    return ~flagged | flagged.groupby(shape).transform("all") if flagged.any() else ~flagged


def use_fastest_repeats(*tables: pd.DataFrame) -> list[pd.DataFrame]:
    """Replace medians by the times of the fastest repeats, with the same relative interval.

    Other processes and waiting threads only make a kernel longer. Tables with a row without repeats are unchanged, as
    its low end may only be that of a rounded digit.
    """
    if not all(rows["repeats"].notna().all() for rows in tables):
        return list(tables)
    shares = [(rows["time_low_s"] / rows["time_s"]).fillna(1.0) for rows in tables]
    return [rows.assign(**{end: share * rows[end] for end in ENDS}) for rows, share in zip(tables, shares, strict=True)]


def one_row_per_shape(rows: pd.DataFrame) -> pd.DataFrame:
    """Merge applicable rows of one ``shape``: median time, ends that include all, and ``pieces``, their number."""
    if rows.empty:
        return rows
    times = {name: rows[name].fillna(rows["time_s"]).groupby(rows["shape"]) for name in ENDS}
    merged = rows.assign(
        time_low_s=times["time_low_s"].transform("min"),
        time_s=times["time_s"].transform("median"),
        time_high_s=times["time_high_s"].transform("max"),
        pieces=times["time_s"].transform("count"),
    )
    return _widen_single_rows(merged[~rows["shape"].duplicated()].reset_index(drop=True))


def _widen_single_rows(merged: pd.DataFrame) -> pd.DataFrame:
    """Widen the intervals of shapes with a single row by the typical spread of shapes with several."""
    low, high = (merged[end].to_numpy(dtype=float) for end in (ENDS[0], ENDS[-1]))
    spread, single = log_spread(low, high), (merged["pieces"] == 1).to_numpy(dtype=bool)
    if single.all() or not single.any():
        return merged
    typical = float(np.median(spread[~single]))
    factor = np.exp(Z * np.hypot(spread, typical))
    ends = {"time_low_s": merged["time_s"] / factor, "time_high_s": merged["time_s"] * factor}
    return merged.assign(**{name: merged[name].mask(single, times) for name, times in ends.items()})
