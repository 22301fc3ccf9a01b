"""Profile → the SHAPES to time on a device so that the profile is predicted there by measurement."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pandas as pd

from estimator.collect.measure import sweep
from estimator.core.operators import (
    ALONG_CHANNELS,
    CAST,
    attribute,
    benchmark_kernels,
    cast_formats,
    is_cast,
    with_operators,
)
from estimator.core.schema import CONV_COLUMNS, GEMM_COLUMNS, MATRIX, SHAPES, STREAMING, are_sized, complete
from estimator.core.types import Workload
from estimator.devices.measurements import bounds
from estimator.profiles import read_profile
from estimator.work import convert_precision, count_work
from estimator.work.convolution_biases import separate_biases
from estimator.work.framework_defaults import separates_biases, tensors_at_once
from estimator.work.update_launches import join_updates

EVICTABLE_BYTES = 2.0**20, 2.0**26  # moved by an op: less stays in cache, more never fits
COMPUTE_BOUND_FLOP_PER_BYTE = 100.0  # above this intensity the place of operands matters little
DIMENSIONS = [column.name for column in (*GEMM_COLUMNS, *CONV_COLUMNS)]
SHAPE_COLUMNS = ["op_class", "operator", "kernel", "precision", *DIMENSIONS, "row_length", "bytes", "flop"]
POOL_COLUMNS = ["conv_n", "conv_c", "conv_h", "conv_w", "conv_r", "conv_s", "conv_p", "conv_q"]


def profile_shapes(names: Sequence[str], precision: str | None = None) -> tuple[pd.DataFrame, tuple[str, ...]]:
    """List the distinct shapes of one call in these profiles, by share of the step, and notes on ops without shape.

    ``precision`` is that of the matrix products and convolutions on the device. Pools differ by
    their sizes, activations by their kernel, ops along channels by these, other memory-bound ops by bytes and FLOP.

    Raises EstimatorError as read_profile and count_work do.
    """
    tables, notes = [], []
    for name in names:
        profile = read_profile(name)
        counted = count_work(profile.ops, profile.workload, profile.where)
        work = convert_precision(counted.work, profile.workload, precision).work
        shapes = pd.concat([_shapes(work), *_shapes_of_gpus(work, profile.workload)])
        called = work["calls"].fillna(1.0) > 0  # casts that the precision removes are not
        step_s = work.loc[called, "time_s"].sum()
        tables.append(shapes.assign(share=shapes["time_s"] / max(step_s, 1e-300)))
        uncovered = 1 - tables[-1]["share"].sum()
        if uncovered > 0.005:
            share = f"{100 * uncovered:.1f} % of the step's time"
            notes.append(f"{name}: {share} is in ops of unknown shapes, or of a kind that is not measured")
    shapes_of_all = pd.concat(tables, ignore_index=True)
    groups = shapes_of_all.groupby([name for name in SHAPE_COLUMNS if name != "flop"], dropna=False, sort=False)
    shapes_of_all = groups.agg({"share": "sum", "flop": "max"}).reset_index()
    ordered = shapes_of_all.sort_values("share", ascending=False, kind="stable", ignore_index=True)
    return SHAPES.conform(ordered[SHAPE_COLUMNS], "the shapes of the profile")[SHAPE_COLUMNS], tuple(notes)


def _shapes_of_gpus(work: pd.DataFrame, workload: Workload) -> Iterator[pd.DataFrame]:
    """Yield the shapes of updates and of biases as a GPU launches them, of no share of the step, where they differ."""
    biases = separate_biases(work, separate=separates_biases(workload))
    yield _shapes(biases.work.iloc[len(work) :].assign(time_s=0.0))
    joined = join_updates(work, tensors_at_once(workload))
    if joined.changed:
        others = joined.work["calls"].ne(work["calls"]).fillna(False).to_numpy(dtype=bool)
        yield _shapes(joined.work[others].assign(time_s=0.0))


def with_cold_rows(shapes: pd.DataFrame) -> pd.DataFrame:
    """Add the cold-cache twin of each shape whose operands may leave the cache between two uses in a step.

    Products, convolutions and warm streams get one. Pools and ops along channels do not: they take longer than their
    bytes need.
    """
    table = with_operators(SHAPES.conform(shapes, "shapes"))
    flop, bytes_ = bounds.work_of_call(table)
    in_range = (bytes_ >= EVICTABLE_BYTES[0]) & (bytes_ <= EVICTABLE_BYTES[1])
    evictable = in_range & (flop < COMPUTE_BOUND_FLOP_PER_BYTE * bytes_)
    slow = np.isin(attribute(table, "along"), ("windows", "channels")) | table["kernel"].isin(ALONG_CHANNELS)
    warm = table["op_class"].isin(MATRIX) | (table["cache"].eq("warm").fillna(False) & ~slow)
    cold = SHAPES.conform(table[evictable & warm].assign(cache="cold"), "shapes")
    return pd.concat([table, cold]).sort_index(kind="stable", ignore_index=True)[sweep.SHAPE_COLUMNS]


def _shapes(work: pd.DataFrame) -> pd.DataFrame:
    """The rows of WORK that have a shape; bytes and FLOP of one call, except for products and convolutions."""
    products = are_sized(work, "gemm") | are_sized(work, "convolution")
    is_unsized_pool = (work["op_class"] == "pooling") & ~complete(work, POOL_COLUMNS)
    streams = work["op_class"].isin(STREAMING) & (work["bytes"] > 0) & ~is_unsized_pool
    calls = work["calls"].fillna(1.0).where(work["calls"] > 0, 1.0)
    amounts = {name: (work[name] / calls).round().mask(work["op_class"].isin(MATRIX)) for name in ("bytes", "flop")}
    is_a_cast, kernel = is_cast(work), pd.Series(benchmark_kernels(work), index=work.index).replace("", pd.NA)
    named = {
        "op_class": work["op_class"].mask(is_a_cast, "elementwise"),
        "operator": work["operator"].mask(is_a_cast, CAST),
        "precision": cast_formats(work).fillna(work["precision"]),
        "kernel": kernel.mask(products),
    }
    shaped = work.assign(**amounts, **named)[(products | streams).to_numpy(dtype=bool)]
    shaped.loc[(shaped["op_class"] == "gemm").to_numpy(dtype=bool), "batch"] = shaped["batch"].fillna(1)
    return shaped[[*SHAPE_COLUMNS, "time_s"]]
