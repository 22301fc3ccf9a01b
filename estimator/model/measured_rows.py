"""Which measured rows apply to ops. Rows of one shape are one piece of evidence."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd

from estimator.core.interval import Z, log_spread
from estimator.core.schema import STREAMING, UNPOOLED, numbers
from estimator.model.shape_keys import shape_keys

ENDS = ("time_low_s", "time_s", "time_high_s")


def rows_for_ops(measurements: pd.DataFrame, work: pd.DataFrame) -> pd.DataFrame:
    """The measured rows of the op classes and precisions of WORK, and of classes that correct each other by bytes."""
    same = measurements["op_class"].isin(work["op_class"]) & measurements["precision"].isin(work["precision"])
    return measurements[same | measurements["op_class"].isin(UNPOOLED)]


def rows_of_common_libraries(one: pd.DataFrame, other: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Of two tables of MEASUREMENTS the rows that were made by libraries in common, of stated versions."""
    common = {name for name in {*one["library"].dropna()} & {*other["library"].dropna()} if re.search(r"\d", name)}
    return one[one["library"].isin(common)], other[other["library"].isin(common)]


def applicable_rows(measurements: pd.DataFrame, cache: str = "warm") -> pd.DataFrame:
    """The rows of dense ops with their operands in the ``cache`` (warm), where the last call left them, as benchmarks
    time them, or not (cold); with their ``shape``, a column of shape_keys. Where a shape was timed in one state alone,
    that stands for the other too, but for products in a cold cache. Rows that beat a bound count only where a shape
    has no others.
    """
    dense, in_state = numbers(measurements, "sparsity") == 0, _is_cache(measurements, cache)
    either = measurements["op_class"].isin(STREAMING) | (cache == "cold")
    rows = measurements[dense & (in_state | either)].reset_index(drop=True)
    if rows.empty:
        return rows
    shape, in_state = shape_keys(rows), _is_cache(rows, cache)
    applicable = rows.assign(shape=shape)[in_state | ~in_state.groupby(shape).transform("any")]
    return applicable[best_of_shape(applicable, applicable["shape"])]


def _is_cache(rows: pd.DataFrame, cache: str) -> pd.Series:
    return rows["cache"].fillna("warm") == cache


def best_of_shape(rows: pd.DataFrame, shape: pd.Series) -> pd.Series:
    """Which rows are evidence of their shape: one that beats a bound is only where there are no others."""
    flagged = rows["flag"].notna()
    return ~flagged | flagged.groupby(shape).transform("all") if flagged.any() else ~flagged


def use_fastest_repeats(*tables: pd.DataFrame) -> list[pd.DataFrame]:
    """Tables with the time of the quickest repeats in place of the median, and as uncertain: what else runs, and
    threads that wait for each other, only make a kernel longer, and are no part of it. They stay as they are where a
    row does not state its repeats: the low end of its time may be a digit's that is not printed.
    """
    if not all(rows["repeats"].notna().all() for rows in tables):
        return list(tables)
    shares = [(rows["time_low_s"] / rows["time_s"]).fillna(1.0) for rows in tables]
    return [rows.assign(**{end: share * rows[end] for end in ENDS}) for rows, share in zip(tables, shares, strict=True)]


def one_row_per_shape(rows: pd.DataFrame) -> pd.DataFrame:
    """Applicable rows, those of one ``shape`` as one: their median, with ends that hold them all, and how many
    ``pieces`` it is made of.
    """
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
    """Those of one piece made no surer than one piece of the others is, where there are others."""
    low, high = (merged[end].to_numpy(dtype=float) for end in (ENDS[0], ENDS[-1]))
    spread, single = log_spread(low, high), (merged["pieces"] == 1).to_numpy(dtype=bool)
    if single.all() or not single.any():
        return merged
    usual = float(np.median(spread[~single]))
    factor = np.exp(Z * np.hypot(spread, usual))
    ends = {"time_low_s": merged["time_s"] / factor, "time_high_s": merged["time_s"] * factor}
    return merged.assign(**{name: merged[name].mask(single, times) for name, times in ends.items()})
