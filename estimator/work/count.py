"""Classes, dimensions, FLOP and bytes of every op: OPS → WORK.

A count comes, in this order, from the row itself where a table states it, from the op's shapes, or from what the
workload file says of the model; else it stays NA and the op's time is carried, never guessed.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd

from estimator.core import physics
from estimator.core.errors import EstimatorError
from estimator.core.schema import MATRIX, STREAMING, WORK
from estimator.core.types import ITEMSIZE, Floats, Workload, itemsizes
from estimator.work import aggregates, shapes
from estimator.work.classify import classify

SHAPE_OPERAND = ("Fill", "RandomUniform", "RandomStandardNormal", "BroadcastTo")  # whose operand is a shape, not data
FLOP_PER_ELEMENT = {"elementwise": 1.0, "reduction": 1.0, "normalization": 8.0, "movement": 0.0}
CONV_NEEDED = ("conv_n", "conv_c", "conv_h", "conv_w", "conv_k", "conv_r", "conv_s")
CONV_DEFAULTS = {"stride_h": 1, "stride_w": 1, "pad_h": 0, "pad_w": 0, "groups": 1}


def count_work(
    ops: pd.DataFrame, workload: Workload, precision: str | None = None, where: str = "profile"
) -> tuple[pd.DataFrame, tuple[str, ...]]:
    """WORK of an OPS table, and warnings about rows whose work stays unknown.

    ``precision`` is that of the matrix products and convolutions on the target; all else stays as profiled.
    Raises EstimatorError where given dimensions are unreadable.
    """
    work = WORK.conform(ops, where)
    work["op_class"] = work["op_class"].fillna(classify(work["op_type"]))
    work["precision"] = work["precision"].fillna(workload.precision)
    if precision:
        work.loc[work["op_class"].isin(MATRIX), "precision"] = precision
    work["flop"] = work["flop"].mask(
        work["op_class"].isin(STREAMING) & work["bytes"].notna() & work["flop"].isna(), 0.0
    )
    dimensions = work["m"].notna() | work["conv_n"].notna()  # say more than stated amounts: also in another precision
    given = work["flop"].notna() & work["bytes"].notna() & ~(work["op_class"].isin(MATRIX) & dimensions)
    work["work_source"] = pd.Series(np.where(given, "reported", "none"), dtype="string[python]", index=work.index)
    work, warnings = _matrix_dimensions(work, workload, where)
    for counter in (_count_products, _count_convolutions, _count_streams, _count_aggregates):
        work = counter(work, workload)
    work["intensity"] = (work["flop"] / work["bytes"]).where(work["bytes"] > 0)
    return WORK.conform(work, where), warnings


def _matrix_dimensions(work: pd.DataFrame, workload: Workload, where: str) -> tuple[pd.DataFrame, tuple[str, ...]]:
    """Fill batch, m, n, k, transposes and phase of products whose row states only operand shapes.

    Raises EstimatorError where two matrices do not multiply in any reading.
    """
    open_rows = work.index[(work["op_class"] == "gemm") & work["m"].isna() & work["shapes"].notna()]
    pairs = {i: shapes.operands(str(work.at[i, "shapes"]), workload.batch_size) for i in open_rows}
    products = shapes.resolve_products(pairs.values())
    unread = []
    for i, pair in pairs.items():
        product = products[pair]
        if product is None:
            unread.append(str(work.at[i, "shapes"]))
            _refuse_unlike(pair, f"{where}: '{work.at[i, 'op']}' has the shapes '{unread[-1]}'")
            continue
        for name in ("batch", "m", "n", "k", "trans_a", "trans_b"):
            work.at[i, name] = getattr(product, name) if getattr(product, name) is not None else pd.NA
        if pd.isna(work.at[i, "phase"]):
            work.at[i, "phase"] = product.phase
    work["batch"] = work["batch"].mask((work["op_class"] == "gemm") & work["m"].notna() & work["batch"].isna(), 1)
    return work, (*_unread(unread, workload), *_never_ran(work), *_no_dimensions(work))


def _no_dimensions(work: pd.DataFrame) -> Iterator[str]:
    rows = (work["op_class"] == "convolution") & work["conv_n"].isna() & work["flop"].isna() & (work["time_s"] > 0)
    if rows.any():
        first = work.loc[rows, "op"].iloc[0]
        yield f"{int(rows.sum())} convolutions state no dimensions ({first}): give conv_n, conv_c, … or flop and bytes"
    bare = (work["op_class"] == "gemm") & work["m"].isna() & work["shapes"].isna() & work["flop"].isna()
    bare &= work["time_s"] > 0
    if bare.any():
        first = work.loc[bare, "op"].iloc[0]
        yield f"{int(bare.sum())} matrix products state no shapes ({first}): give m, n, k or shapes"


def _refuse_unlike(pair: tuple[shapes.Shape, ...], found: str) -> None:
    if len(pair) == 2 and all(len(shape) == 2 for shape in pair) and not shapes.readings(pair):
        raise EstimatorError(f"{found}, which do not multiply; expected a dimension that both share")


def _unread(shapes_text: list[str], workload: Workload) -> Iterator[str]:
    if shapes_text:
        unknown = workload.batch_size is None and any("-1" in text for text in shapes_text)
        hint = "; give the batch size: --batch, or batch_size in workload.yaml" if unknown else ""
        yield f"{len(shapes_text)} matrix products have shapes that no single reading fits ({shapes_text[0]}){hint}"


def _never_ran(work: pd.DataFrame) -> Iterator[str]:
    """A step needs its forward products: where one never ran, a fused kernel did its work under another op's name."""
    count = int(((work["phase"] == "forward") & (work["op_class"] == "gemm") & (work["calls"] == 0)).sum())
    if count:
        yield f"{count} forward matrix products never ran: a fused kernel books their time on another op, such as Relu"


def _count_products(work: pd.DataFrame, workload: Workload) -> pd.DataFrame:
    rows = (work["op_class"] == "gemm") & work[["m", "n", "k"]].notna().all(axis=1)
    batch, m, n, k = (work[name].to_numpy(dtype=float, na_value=np.nan) for name in ("batch", "m", "n", "k"))
    flop = physics.gemm_flop(batch, m, n, k)
    bytes_ = physics.gemm_bytes(batch, m, n, k, itemsizes(work["precision"]))
    return _fill(work, rows, flop, bytes_, "shapes")


def _count_convolutions(work: pd.DataFrame, workload: Workload) -> pd.DataFrame:
    rows = (work["op_class"] == "convolution") & work[list(CONV_NEEDED)].notna().all(axis=1)
    n, c, h, w, k, r, s = (work[name].to_numpy(dtype=float, na_value=np.nan) for name in CONV_NEEDED)
    stride_h, stride_w, pad_h, pad_w, groups = (
        work[name].to_numpy(dtype=float, na_value=default) for name, default in CONV_DEFAULTS.items()
    )
    p, q = physics.conv_output(h, r, stride_h, pad_h), physics.conv_output(w, s, stride_w, pad_w)
    impossible = rows.to_numpy(dtype=bool) & ~((p > 0) & (q > 0) & (c % groups == 0) & (k % groups == 0))
    if impossible.any():
        op = work["op"].iloc[int(impossible.argmax())]
        raise EstimatorError(
            f"{op} in row {int(impossible.argmax()) + 1}: kernel, image and groups of the convolution do not fit"
        )
    flop = physics.conv_flop(n, c, k, p, q, r, s, groups)
    bytes_ = physics.conv_bytes(n, c, h, w, k, p, q, r, s, itemsizes(work["precision"]), groups)
    return _fill(work, rows, flop, bytes_, "shapes")


def _count_streams(work: pd.DataFrame, workload: Workload) -> pd.DataFrame:
    """Memory-bound ops with shapes: every operand read once, one result of the largest operand's size written."""
    rows = work["op_class"].isin(FLOP_PER_ELEMENT) & work["shapes"].notna() & ~work["op_type"].isin(SHAPE_OPERAND)
    operands = [shapes.operands(text, workload.batch_size) for text in work["shapes"].where(rows, "")]
    sizes = [[shapes.elements(shape) for shape in found] for found in operands]
    read = np.array([float(sum(s)) for s in sizes])
    largest = np.array([float(max(s, default=0)) for s in sizes])
    written = np.where(work["op_class"] == "reduction", 0.0, largest)
    flop = largest * work["op_class"].map(FLOP_PER_ELEMENT).to_numpy(dtype=float, na_value=np.nan)
    return _fill(work, rows & (largest > 0), flop, (read + written) * itemsizes(work["precision"]), "shapes")


def _fill(work: pd.DataFrame, rows: pd.Series, flop: Floats, bytes_: Floats, source: str) -> pd.DataFrame:
    """Write per-call counts × calls (1 where unknown) into rows that nothing has counted yet."""
    rows = rows & (work["work_source"] == "none")
    calls = work["calls"].fillna(1.0)
    work["flop"] = work["flop"].mask(rows, flop * calls)
    work["bytes"] = work["bytes"].mask(rows, bytes_ * calls)
    work["work_source"] = work["work_source"].mask(rows, source)
    return work


def _count_aggregates(work: pd.DataFrame, workload: Workload) -> pd.DataFrame:
    """Rows without shapes: the optimizer's update and layer-wise ops, from the workload file.

    What the file says is of all rows of an op type together; each gets the share of its time.
    """
    open_rows = work[(work["work_source"] == "none") & work["shapes"].isna() & (work["time_s"] > 0)]
    shares = open_rows["time_s"] / open_rows.groupby("op_type")["time_s"].transform("sum")
    for i, share in shares.dropna().items():
        op_type, itemsize = str(work.at[i, "op_type"]), ITEMSIZE[str(work.at[i, "precision"])]
        amount = aggregates.update_work(op_type, workload, itemsize)
        amount = amount or aggregates.layer_work(op_type, workload, itemsize)
        if amount:
            calls = share * amount.calls if pd.isna(work.at[i, "calls"]) else work.at[i, "calls"]
            work.loc[i, ["flop", "bytes", "calls"]] = share * amount.flop, share * amount.bytes, calls
            work.at[i, "work_source"] = "workload"
            work.at[i, "phase"] = amount.phase if pd.isna(work.at[i, "phase"]) else work.at[i, "phase"]
    return work
