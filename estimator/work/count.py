"""Classes, dimensions, FLOP and bytes of every op: OPS → WORK.

A count comes from the row itself where a table states it, else from the op's shapes, else from the model that the
workload file describes. Otherwise it stays NA: no work is guessed.
"""

from __future__ import annotations

import hashlib
from collections.abc import Hashable
from dataclasses import replace

import numpy as np
import pandas as pd

from estimator.core import physics
from estimator.core.conv_shape import ConvShape
from estimator.core.errors import EstimatorError
from estimator.core.notes import Note
from estimator.core.operators import SUFFIXES, attribute, class_of, refuse_unknown
from estimator.core.passes import passes_of
from estimator.core.recall import Recall
from estimator.core.recurrent_shape import amounts_of
from estimator.core.schema import MATRIX, STREAMING, WORK, are_sized, share_of_time
from estimator.core.types import ITEMSIZE, Floats, Workload, itemsizes
from estimator.work import aggregates, shapes
from estimator.work.attention import Layer, read_attention
from estimator.work.casts import moved_sizes
from estimator.work.dimensions import fill_convolutions, fill_products, fill_sizes, uncounted_products
from estimator.work.layer_passes import complete_layers
from estimator.work.messages import count_messages
from estimator.work.op_formats import assumed_formats, unstated_precision_notes, with_formats, with_kernel_formats
from estimator.work.operators import operator_in_class, operators_of
from estimator.work.product_passes import complete_products
from estimator.work.recurrent import count_recurrent
from estimator.work.sliced_batch import mark_slices
from estimator.work.stated_batch import contradicted_batch
from estimator.work.suspicious_input import times_in_another_unit, unknown_products
from estimator.work.traffic import Traffic, read_traffic
from estimator.work.transformed import Transformed

LAYERS = ("attention", "gemm", "recurrent", "unmodelled")  # classes in which an op may be a whole layer
MOST_KEPT_ROWS = 20_000  # of a count that is kept: of a larger one the memory would matter
ROW_KIND = ("op_type", "operator", "precision")  # rows equal in these columns do the same work

_COUNTS = Recall()


def count_work(ops: pd.DataFrame, workload: Workload, where: str = "profile") -> Transformed:
    """WORK of an OPS table as profiled, and notes on rows whose work stays unknown.

    The last results are kept: a study takes one profile to many machines, and a count does not depend on them.

    Raises EstimatorError where given dimensions are unreadable, or shapes do not fit their op.
    """
    if len(ops) > MOST_KEPT_ROWS:
        return _count(ops, workload, where)
    counted = _COUNTS(digest(ops, workload, where), lambda: _count(ops, workload, where))
    return replace(counted, work=counted.work.copy())


def digest(ops: pd.DataFrame, workload: Workload, where: str) -> str:
    """A hash of all contents: cells, names and types of columns, the workload and the place."""
    rows = pd.util.hash_pandas_object(ops).to_numpy().tobytes()
    columns, stated = repr(list(ops.dtypes.items())), repr(sorted(workload.model_fields_set))
    texts = "\n".join((columns, stated, repr(workload), where))
    return hashlib.sha256(rows + texts.encode(errors="surrogatepass")).hexdigest()  # a path may be any bytes


def _count(ops: pd.DataFrame, workload: Workload, where: str) -> Transformed:
    """As :func:`count_work`."""
    work = with_kernel_formats(_with_operators(WORK.conform(ops, where), where))
    work, completed = _complete_passes(mark_slices(work, workload.batch_size))
    parsed_ops = shapes.parse_ops(work, workload.batch_size)
    layers = parsed_ops.read_each(work["op_class"].isin(LAYERS), _read_layer, where)
    layer = pd.Series(np.isin(parsed_ops.codes, list(layers)), index=work.index)
    assumed = assumed_formats(work, workload)
    unstated = unstated_precision_notes(work, workload, assumed)
    work["row_length"] = work["row_length"].fillna(_row_lengths(work, parsed_ops))
    work = _mark_reported(with_formats(work, assumed))
    products = (work["op_class"] == "gemm") & work["m"].isna() & work["shapes"].notna() & ~layer
    work, notes = fill_products(work, parsed_ops, products, workload, where)
    work, exact = fill_convolutions(work, parsed_ops, where)
    work = _with_mode_operators(_with_pass_operators(work), workload)
    work = fill_sizes(work, parsed_ops, where)
    work = _count_products(work)
    work = _count_convolutions(work, exact)
    work = _count_recurrent(work)
    work = _count_layers(work, parsed_ops, layers)
    work = _count_streams(work, parsed_ops, where)
    work = _count_copies(work)
    work = count_messages(work, parsed_ops, workload)
    work = _count_aggregates(work, workload)
    work["intensity"] = (work["flop"] / work["bytes"]).where(work["bytes"] > 0)
    suspicious = (*unknown_products(work), *times_in_another_unit(work), *contradicted_batch(work, workload))
    notes = (*unstated, *completed, *notes, *suspicious, *uncounted_products(work), *_uncounted_notes(work))
    return Transformed(WORK.conform(work, where), changed=True, notes=notes)


def _complete_passes(work: pd.DataFrame) -> tuple[pd.DataFrame, tuple[Note, ...]]:
    """WORK whose convolutions and products have the sizes that the other passes of their layers state."""
    work, of_convolutions = complete_layers(work)
    work, of_products = complete_products(work)
    return work, (*of_convolutions, *of_products)


def _read_layer(op: shapes.Op) -> Layer | None:
    """The work of an op that is a whole layer of several products; None for other ops."""
    return read_attention(op) or count_recurrent(op)


def _with_operators(work: pd.DataFrame, where: str) -> pd.DataFrame:
    """WORK with the operator and the class of each op; a stated class outranks the class of the operator."""
    refuse_unknown(work, where)
    operator = work["operator"].fillna(operators_of(work))
    stated = work["op_class"].fillna(operator.map(class_of))
    in_class = [operator_in_class(*pair) for pair in zip(operator.tolist(), stated.tolist(), strict=True)]
    return work.assign(operator=pd.array(in_class, dtype="string[python]"), op_class=stated)


def _with_pass_operators(work: pd.DataFrame) -> pd.DataFrame:
    """WORK with the operator of each convolution set by its pass."""
    known = (work["op_class"] == "convolution") & work["pass"].notna()
    if not known.any():
        return work
    by_pass = {name: f"convolution{suffix}" for name, suffix in SUFFIXES["convolution"].items()}
    return work.assign(operator=work["operator"].mask(known, work["pass"].map(by_pass)))


def _with_mode_operators(work: pd.DataFrame, workload: Workload) -> pd.DataFrame:
    """WORK whose batch normalizations only scale and shift in inference, which has the statistics."""
    scales = (work["operator"] == "batch_norm").fillna(False)
    if workload.mode != "inference" or not scales.any():
        return work
    operator = work["operator"].mask(scales, "batch_norm_inference")
    return work.assign(operator=operator, op_class=work["op_class"].mask(scales, class_of("batch_norm_inference")))


def _row_lengths(work: pd.DataFrame, parsed_ops: shapes.ParsedOps) -> pd.Series:
    """The last dimension of the first operand of ops that work along rows; NA where it is empty, and for all others."""
    along_rows = pd.Series(attribute(work, "along") == "rows", index=work.index)
    first = parsed_ops.read_each(along_rows, lambda op: op.operands[0] if op.operands else None, "row length")
    lengths = parsed_ops.spread(first, lambda shape: (shape[-1] or None) if shape else None)
    return pd.Series(lengths, index=work.index).where(along_rows).astype("Int64")


def _mark_reported(work: pd.DataFrame) -> pd.DataFrame:
    """WORK with rows that state both FLOP and bytes marked as reported, unless they state matrix dimensions.

    Dimensions are preferred, because they also give the amounts in other precisions.
    """
    stream = work["op_class"].isin(STREAMING) & work["bytes"].notna() & work["flop"].isna()
    flop = work["flop"].mask(stream, 0.0)
    dimensions = work["op_class"].isin(MATRIX) & (work["m"].notna() | work["conv_n"].notna())
    given = flop.notna() & work["bytes"].notna() & ~dimensions
    source = pd.Series(np.where(given, "reported", "none"), dtype="string[python]", index=work.index)
    return work.assign(flop=flop, work_source=source)


def _count_products(work: pd.DataFrame) -> pd.DataFrame:
    rows = are_sized(work, "gemm")
    if not rows.any():
        return work
    batch, m, n, k = (work[name].to_numpy(dtype=float, na_value=np.nan) for name in ("batch", "m", "n", "k"))
    flop = physics.gemm_flop(batch, m, n, k)
    bytes_ = physics.gemm_bytes(batch, m, n, k, itemsizes(work["precision"]))
    return _fill(work, rows, flop, bytes_, "shapes")


def _count_convolutions(work: pd.DataFrame, exact: Floats) -> pd.DataFrame:
    """WORK with counted convolutions; ``exact``: FLOP of one call where they differ from the dimensions', else NaN."""
    rows = are_sized(work, "convolution")
    if not rows.any():
        return work
    shape = ConvShape.from_table(work)
    fits = (shape.output > 0).all(axis=0) & (shape.c % shape.groups == 0) & (shape.k % shape.groups == 0)
    impossible = rows.to_numpy(dtype=bool) & ~fits
    if impossible.any():
        op = work["op"].iloc[int(impossible.argmax())]
        raise EstimatorError(
            f"{op} in row {int(impossible.argmax()) + 1}: kernel, image and groups of the convolution do not fit"
        )
    passes = passes_of(work)
    bytes_ = passes * shape.bytes(itemsizes(work["precision"]))
    return _fill(work, rows, np.where(np.isnan(exact), passes * shape.flop(), exact), bytes_, "shapes")


def _count_layers(work: pd.DataFrame, parsed_ops: shapes.ParsedOps, layers: dict[int, Layer]) -> pd.DataFrame:
    """WORK with counted attention, and recurrent layers of unknown sizes; they hold several products."""
    flop = parsed_ops.spread(layers, lambda layer: layer.flop)
    elements = parsed_ops.spread(layers, lambda layer: layer.elements)
    rows = pd.Series(~np.isnan(flop), index=work.index) & work["m"].isna()
    return _fill(work, rows, flop, elements * itemsizes(work["precision"]), "shapes")


def _count_recurrent(work: pd.DataFrame) -> pd.DataFrame:
    """WORK with counted recurrent layers of known sizes."""
    rows = are_sized(work, "recurrent")
    if not rows.any():
        return work
    return _fill(work, rows, *amounts_of(work), "shapes")


def _count_streams(work: pd.DataFrame, parsed_ops: shapes.ParsedOps, where: str) -> pd.DataFrame:
    """WORK with counted memory-bound ops that have shapes."""
    rows = work["op_class"].isin(STREAMING) & (work["shapes"].notna() | work["output_shapes"].notna())
    traffics = parsed_ops.read_each(rows, _traffic, where)
    read = parsed_ops.spread(traffics, lambda traffic: traffic.read)
    written = parsed_ops.spread(traffics, lambda traffic: traffic.written)
    read_itemsize, written_itemsize = moved_sizes(work)
    moved_bytes = read * read_itemsize + written * written_itemsize
    flop = parsed_ops.spread(traffics, lambda traffic: traffic.flop)
    return _fill(work, rows & ~np.isnan(moved_bytes), flop, moved_bytes, "shapes")


def _traffic(op: shapes.Op) -> Traffic | None:
    return None if op.is_partial_kernel else read_traffic(op)


def _count_copies(work: pd.DataFrame) -> pd.DataFrame:
    """WORK with counted copies and fills of device memory, whose bytes profilers report; a copy moves them twice."""
    copies, fills = (work["operator"].eq(name).fillna(False) for name in ("memcpy", "memset"))
    rows = (copies | fills) & work["reported_bytes"].notna()
    if not rows.any():
        return work
    calls = work["calls"].fillna(1.0).replace(0.0, np.nan)
    bytes_ = (work["reported_bytes"] / calls * np.where(copies, 2.0, 1.0)).to_numpy(dtype=float)
    return _fill(work, rows & calls.notna(), np.zeros(len(work)), bytes_, "reported")


def _fill(work: pd.DataFrame, rows: pd.Series, flop: Floats, bytes_: Floats, source: str) -> pd.DataFrame:
    """Write per-call counts × calls (1 where unknown) into rows that are not counted yet."""
    rows = rows & (work["work_source"] == "none")
    if not rows.any():
        return work
    calls = work["calls"].fillna(1.0)
    work["flop"] = work["flop"].mask(rows, flop * calls)
    work["bytes"] = work["bytes"].mask(rows, bytes_ * calls)
    work["work_source"] = work["work_source"].mask(rows, source)
    return work


def _count_aggregates(work: pd.DataFrame, workload: Workload) -> pd.DataFrame:
    """WORK with counted rows without shapes: the optimizer's update and layer-wise ops, from the workload file.

    The file gives the amounts of all rows of an op type together. Each row gets its share by time, or an equal share of
    an update without known times.
    """
    untimed = (work["phase"] == "optimizer") & (work["time_s"] == 0)
    is_open = (work["work_source"] == "none") & work["shapes"].isna() & (untimed | (work["time_s"] > 0))
    by_row = _amounts(work[is_open], workload) if is_open.any() else {}
    if not by_row:
        return work
    table = pd.DataFrame(list(by_row.values()), index=list(by_row))
    times = work[is_open].groupby("op_type")["time_s"]
    shares = (work.loc[is_open, "time_s"] / times.transform("sum")).fillna(1.0 / times.transform("size"))
    rows, share = table.index, shares[table.index]
    work.loc[rows, ["flop", "bytes"]] = table[["flop", "bytes"]].mul(share, axis=0)
    work.loc[rows, "calls"] = work.loc[rows, "calls"].fillna(share * table["calls"])
    work.loc[rows, "phase"] = work.loc[rows, "phase"].fillna(table["phase"])
    work.loc[rows, "work_source"] = "workload"
    return work


def _amounts(rows: pd.DataFrame, workload: Workload) -> dict[Hashable, aggregates.Amount]:
    """The amounts of all rows of an op type together, by each row of which the file tells them."""
    op_type, operator, precision = (rows[name].fillna("") for name in ROW_KIND)
    kinds = list(zip(op_type, operator, precision, strict=True))
    by_kind = {kind: _amount(*kind, workload) for kind in set(kinds)}
    return {row: amount for row, kind in zip(rows.index, kinds, strict=True) if (amount := by_kind[kind])}


def _amount(op_type: str, operator: str, precision: str, workload: Workload) -> aggregates.Amount | None:
    update = aggregates.update_work(op_type, workload, ITEMSIZE[precision])
    return update or aggregates.layer_work(operator, workload, ITEMSIZE[precision])


def _uncounted_notes(work: pd.DataFrame) -> tuple[Note, ...]:
    rows = work["op_class"].isin(STREAMING) & work["bytes"].isna() & (work["time_s"] > 0)
    if not rows.any():
        return ()
    share = share_of_time(work, rows)
    first = work.loc[rows].nlargest(1, "time_s")["op"].iloc[0]
    unknown = (
        f"{int(rows.sum())} memory-bound ops, {100 * share:.1f} % of the time, have no shapes that give their traffic"
    )
    text = f"{unknown} (such as {first}): their time is scaled from the source's"
    return (Note("traffic-unknown", text, subject=first, share=share),)
