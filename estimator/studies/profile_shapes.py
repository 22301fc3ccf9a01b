"""A profile → the SHAPES that its step needs: what must be timed on a device to predict it there by measurement."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from estimator.collect.measure import sweep
from estimator.core.operators import CAST, attribute, benchmark_kernels, cast_formats, is_cast, with_operators
from estimator.core.schema import CONV_COLUMNS, GEMM_COLUMNS, MATRIX, SHAPED_BY, SHAPES, STREAMING
from estimator.devices.measurements import bounds
from estimator.profiles import read_profile
from estimator.work import convert_precision, count_work

LOST_B = 2.0**20, 2.0**26  # that an op moves: less stays in some cache, of more few caches hold any
BOUND_BY_COMPUTE = 100.0  # FLOP per byte, from which on it matters little where operands lie
DIMENSIONS = [column.name for column in (*GEMM_COLUMNS, *CONV_COLUMNS)]
OF_AN_OP = ["op_class", "operator", "kernel", "precision", *DIMENSIONS, "row_length", "bytes", "flop"]
ALONG_CHANNELS = ("bias_add", "channel_sum", "bias_grad")
POOLED = ["conv_n", "conv_c", "conv_h", "conv_w", "conv_r", "conv_s", "conv_p", "conv_q"]


def profile_shapes(names: Sequence[str], precision: str | None = None) -> tuple[pd.DataFrame, tuple[str, ...]]:
    """The distinct shapes of one call in these profiles, those that take most of a step first, and sentences on what
    has none.

    ``precision`` is that of the matrix products and convolutions on the device. Pools are told by their sizes,
    activations by their kernel, ops along channels by these, other memory-bound ops by their bytes and FLOP. Raises
    EstimatorError as read_profile and count_work do.
    """
    parts, said = [], []
    for name in names:
        profile = read_profile(name)
        counted = count_work(profile.ops, profile.workload, profile.where)
        work = convert_precision(counted.work, profile.workload, precision).work
        shapes = _shapes(work)
        whole = work.loc[work["calls"].fillna(1.0) > 0, "time_s"].sum()  # casts that crossing takes away are not called
        parts.append(shapes.assign(share=shapes["time_s"] / max(whole, 1e-300)))
        rest = 1 - parts[-1]["share"].sum()
        if rest > 0.005:
            said.append(f"{name}: {100 * rest:.1f} % of the step's time is in ops that no shape tells of")
    found = pd.concat(parts, ignore_index=True)
    kinds = found.groupby([name for name in OF_AN_OP if name != "flop"], dropna=False, sort=False)
    found = kinds.agg({"share": "sum", "flop": "max"}).reset_index()
    ordered = found.sort_values("share", ascending=False, kind="stable", ignore_index=True)
    return SHAPES.conform(ordered[OF_AN_OP], "the shapes of the profile")[OF_AN_OP], tuple(said)


def in_both_states(shapes: pd.DataFrame) -> pd.DataFrame:
    """Shapes, and behind each of those that a cache may lose between two uses in a step the same with an empty one:
    products and convolutions, which are else timed with their operands in the cache, and streams that are to be so, but
    those that take longer than to move what they move: pools, and ops along channels.
    """
    told = with_operators(SHAPES.conform(shapes, "shapes"))
    flop, bytes_ = bounds.work_of_call(told)
    lost = (bytes_ >= LOST_B[0]) & (bytes_ <= LOST_B[1]) & (flop < BOUND_BY_COMPUTE * bytes_)
    moved = ~np.isin(attribute(told, "along"), ("windows", "channels")) & ~told["kernel"].isin(ALONG_CHANNELS)
    warm = told["op_class"].isin(MATRIX) | (told["cache"].eq("warm").fillna(False) & moved)
    cold = SHAPES.conform(told[lost & warm].assign(cache="cold"), "shapes")
    return pd.concat([told, cold]).sort_index(kind="stable", ignore_index=True)[sweep.OF_A_SHAPE]


def _shapes(work: pd.DataFrame) -> pd.DataFrame:
    """The rows of WORK that a shape tells of, their bytes and FLOP those of one call where nothing else tells it."""
    products = (work["op_class"] == "gemm") & work[list(SHAPED_BY["gemm"])].notna().all(axis=1)
    convolutions = (work["op_class"] == "convolution") & work[list(SHAPED_BY["convolution"])].notna().all(axis=1)
    pools = work["op_class"] == "pooling"
    streams = work["op_class"].isin(STREAMING) & (work["bytes"] > 0) & (~pools | work[POOLED].notna().all(axis=1))
    calls = work["calls"].fillna(1.0).where(work["calls"] > 0, 1.0)
    amounts = {n: (work[n] / calls).round().mask(work["op_class"].isin(MATRIX)) for n in ("bytes", "flop")}
    rows = products | convolutions | streams
    casts, kernel = is_cast(work), pd.Series(benchmark_kernels(work), index=work.index).replace("", pd.NA)
    named = {
        "op_class": work["op_class"].mask(casts, "elementwise"),
        "operator": work["operator"].mask(casts, CAST),
        "precision": cast_formats(work).fillna(work["precision"]),
        "kernel": kernel.mask(products | convolutions),
    }
    found = work.assign(**amounts, **named)[rows.to_numpy(dtype=bool)]
    found.loc[(found["op_class"] == "gemm").to_numpy(dtype=bool), "batch"] = found["batch"].fillna(1)
    return found[[*OF_AN_OP, "time_s"]]
