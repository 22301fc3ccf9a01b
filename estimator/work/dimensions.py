"""WORK filled with the dimensions of products, convolutions, pools, recurrent layers and channels, from the ops'
descriptions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

import numpy as np
import pandas as pd

from estimator.core.errors import EstimatorError
from estimator.core.notes import Note
from estimator.core.schema import CONV_COLUMNS, RECURRENT_COLUMNS
from estimator.core.types import Floats, Workload
from estimator.work.channels import read_broadcast, read_normalized, read_sum
from estimator.work.convolution import read_convolution
from estimator.work.pooling import read_pool
from estimator.work.products import Product, factors, readings, resolve_products, stated_product
from estimator.work.recurrent import read_recurrent
from estimator.work.shapes import Op, ParsedOps

SIZES = ("batch", "m", "n", "k")
TEXTS = ("trans_a", "trans_b", "phase")
GRAPH = "graph.csv in the folder of the dump, as 'estimator capture' writes it"  # has the shapes that XPlanes lack
FILLED = (*CONV_COLUMNS, *RECURRENT_COLUMNS)
SIZES_OF: tuple[tuple[str, str, Callable[[Op], Mapping[str, int | str] | None]], ...] = (
    # op class; a column that rows without sizes lack; what reads their sizes
    ("pooling", "conv_n", read_pool),
    ("recurrent", "hidden", read_recurrent),
    ("elementwise", "conv_c", read_broadcast),
    ("reduction", "conv_c", read_sum),
    ("normalization", "conv_c", read_normalized),
)


def fill_products(
    work: pd.DataFrame, ops: ParsedOps, rows: pd.Series, workload: Workload, where: str
) -> tuple[pd.DataFrame, tuple[Note, ...]]:
    """WORK with batch, m, n, k, transposes and phase of the products in these rows, and notes on unknown products.

    Raises EstimatorError where operands do not multiply as stated, or two matrices do not multiply at all.
    """
    products = ops.read_each(rows, stated_product, where)
    products |= _resolve(ops, [i for i in ops.indices(rows) if i not in products], products, where)
    if products:
        for name in SIZES:
            values = ops.spread(products, lambda product, name=name: getattr(product, name))  # type: ignore[misc]
            work[name] = work[name].fillna(pd.Series(values, index=work.index).where(rows).astype("Int64"))
        for name in TEXTS:
            work[name] = work[name].fillna(_texts(ops, {i: getattr(p, name) for i, p in products.items()}, rows))
    work["batch"] = work["batch"].mask((work["op_class"] == "gemm") & work["m"].notna() & work["batch"].isna(), 1)
    return work, (*_ambiguous_notes(work, rows, workload), *_never_ran_notes(work))


def _resolve(ops: ParsedOps, unstated: list[int], stated: Mapping[int, Product], where: str) -> dict[int, Product]:
    """The products that state no form, where exactly one reading is consistent."""
    each = {i: (pair, next(iter(ops.ops[i].outputs), None)) for i in unstated if (pair := factors(ops.ops[i]))}
    products = resolve_products(each.values(), stated.values())
    for i, one in each.items():
        if products[one] is None:
            _refuse_mismatch(ops.ops[i], f"{where}: '{ops.names[i]}'")
    return {i: product for i, one in each.items() if (product := products[one]) is not None}


def _refuse_mismatch(op: Op, where: str) -> None:
    pair = factors(op) if op.type_rule.operator == "gemm" else None  # a kernel's name alone tells no operands
    if pair and len(op.operands) == 2 and all(len(shape) == 2 for shape in pair) and not readings(pair):
        shapes = ";".join("x".join(map(str, shape)) for shape in pair)
        raise EstimatorError(
            f"{where} has the shapes '{shapes}', which do not multiply; expected a dimension that both share"
        )


def _texts(ops: ParsedOps, texts: Mapping[int, str | None], rows: pd.Series) -> pd.Series:
    out = np.full(len(ops.ops), None, dtype=object)
    out[list(texts)] = list(texts.values())
    return pd.Series(out[ops.codes], index=rows.index, dtype="string[python]").where(rows)


def fill_convolutions(work: pd.DataFrame, ops: ParsedOps, where: str) -> tuple[pd.DataFrame, Floats]:
    """WORK with the dimensions of its convolutions, and their FLOP where XLA counts them otherwise, else NaN."""
    rows = (work["op_class"] == "convolution") & work["conv_n"].isna() & work["shapes"].notna()
    convolutions = ops.read_each(rows, read_convolution, where)
    work = _fill(work, ops, rows, {i: convolution.columns() for i, convolution in convolutions.items()})
    return work, np.where(rows, ops.spread(convolutions, lambda convolution: convolution.flop), np.nan)


def fill_sizes(work: pd.DataFrame, ops: ParsedOps, where: str) -> pd.DataFrame:
    """WORK with the sizes of its pools, of its recurrent layers, and of ops that broadcast or sum along channels."""
    for op_class, column, read in SIZES_OF:
        rows = (work["op_class"] == op_class) & work[column].isna() & work["shapes"].notna()
        work = _fill(work, ops, rows, ops.read_each(rows, read, where))
    return work


def _fill(
    work: pd.DataFrame, ops: ParsedOps, rows: pd.Series, dimensions: Mapping[int, Mapping[str, int | str]]
) -> pd.DataFrame:
    """WORK with the dimensions of these rows' descriptions, column by column, where it has none."""
    names = {name for known in dimensions.values() for name in known}
    for name, kind in ((column.name, column.kind) for column in FILLED if column.name in names):
        if kind == "text":
            values = _texts(ops, {i: str(known[name]) for i, known in dimensions.items() if name in known}, rows)
        else:
            numbers = ops.spread(dimensions, lambda known, name=name: known.get(name))  # type: ignore[misc]
            values = pd.Series(numbers, index=work.index).where(rows).astype("Int64")
        work[name] = work[name].fillna(values)
    return work


def _ambiguous_notes(work: pd.DataFrame, rows: pd.Series, workload: Workload) -> Iterator[Note]:
    texts = work.loc[rows & work["m"].isna(), "shapes"]
    if len(texts):
        unknown = workload.batch_size is None and texts.str.contains("-1").any()
        hint = "; give the batch size: --batch, or batch_size in workload.yaml" if unknown else ""
        text = f"{len(texts)} matrix products have shapes that give no unique m, n, k ({texts.iloc[0]}){hint}"
        yield Note("ambiguous-product", text, subject=texts.iloc[0])


def _never_ran_notes(work: pd.DataFrame) -> Iterator[Note]:
    """Yield a note where forward products never ran: a fused kernel did their work under another op's name."""
    count = int(((work["phase"] == "forward") & (work["op_class"] == "gemm") & (work["calls"] == 0)).sum())
    if count:
        booked = "a fused kernel ran them, and the profiler booked it on another op, such as Relu"
        yield Note("product-booked-elsewhere", f"{count} forward matrix products have no time of their own: {booked}")


def uncounted_products(work: pd.DataFrame) -> Iterator[Note]:
    """Yield notes on convolutions and products that are not counted."""
    uncounted = work["flop"].isna() & (work["time_s"] > 0)
    rows = uncounted & (work["op_class"] == "convolution") & work["conv_n"].isna()
    if rows.any():
        first = work.loc[rows, "op"].iloc[0]
        hint = f"give conv_n, conv_c, … or flop and bytes, or {GRAPH}"
        text = f"{int(rows.sum())} convolutions state no dimensions ({first}): {hint}"
        yield Note("convolution-unknown", text, subject=first)
    bare = uncounted & work["op_class"].isin(("gemm", "attention")) & work["m"].isna() & work["shapes"].isna()
    if bare.any():
        first = work.loc[bare, "op"].iloc[0]
        hint = f"give m, n, k or shapes, or {GRAPH}"
        text = f"{int(bare.sum())} matrix products state no shapes ({first}): {hint}"
        yield Note("product-unknown", text, subject=first)
