"""Keys of shapes: one number per operator, precision and sizes.

C = A·B and its transpose are the same work in another storage order, so (m, n, trans_a, trans_b) and
(n, m, trans_b, trans_a) have the same key.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from estimator.core.conv_shape import ConvShape
from estimator.core.operators import cast_formats
from estimator.core.schema import SHAPED_BY, complete, numbers
from estimator.core.types import Flags, Floats, Names
from estimator.model.kernels.kernel_model import amounts_per_call

OTHER_SIZES = ("row_length", "hidden", "input_width", "sequences", "timesteps", "ranks")
MISSING = -1.0  # no size is negative
SPARE_BITS = 2  # as pandas sums differences of an index's labels


def shape_keys(rows: pd.DataFrame, *, transposes: bool = True, amount: bool = True) -> pd.Series:
    """One number per operator, precision and sizes, constant within a process; equal for a product and its transpose.

    For ops without matrix dimensions, ``amount``: whether their bytes count as a size.
    """
    step_pass = _text(rows, "pass")
    texts = _text(rows, "operator"), np.where(step_pass == "", "forward", step_pass), _text(rows, "cell")
    columns = [
        *texts, _format(rows), *(_storage(rows) if transposes else ()), *_product_sizes(rows), *_conv_sizes(rows),
        *_other_sizes(rows, amount),
    ]  # fmt: skip
    shapes = zip(*(column.tolist() for column in columns), strict=True)
    return pd.Series([hash(shape) >> SPARE_BITS for shape in shapes], index=rows.index, dtype="int64")


def storage_unknown(work: pd.DataFrame) -> Flags:
    """Which ops are products of unknown storage order."""
    return np.asarray((work["op_class"] == "gemm") & ~complete(work, ("trans_a", "trans_b")), dtype=bool)


def _format(rows: pd.DataFrame) -> Names:
    """The precision of each row; for casts the narrow format."""
    return np.asarray(cast_formats(rows).fillna(rows["precision"]).to_numpy(dtype=object, na_value=""))


def _storage(rows: pd.DataFrame) -> tuple[Names, Names]:
    """Storage of a product's operands; for n > m that of the transpose."""
    m, n = _number(rows, "m"), _number(rows, "n")
    trans_a, trans_b = _text(rows, "trans_a"), _text(rows, "trans_b")
    first, second = np.where(n > m, trans_b, trans_a), np.where(n > m, trans_a, trans_b)
    is_transposed = (m == n) & (first == "t") & (second == "n")  # the transpose of a square C has the same shape
    return np.where(is_transposed, "n", first), np.where(is_transposed, "t", second)


def _product_sizes(rows: pd.DataFrame) -> tuple[Floats, ...]:
    m, n = _number(rows, "m"), _number(rows, "n")
    return np.maximum(m, n), np.minimum(m, n), _number(rows, "k"), numbers(rows, "batch")


def _conv_sizes(rows: pd.DataFrame) -> Floats:
    """Sizes of convolutions and pools (sizes × rows); 1 where unknown."""
    shape = ConvShape.from_table(rows)
    sizes_by_axis = (shape.image, shape.window, shape.output, shape.stride, shape.pad, shape.dilation)
    return np.nan_to_num(np.vstack([shape.n, shape.c, shape.k, shape.groups, *sizes_by_axis]), nan=1.0)


def _other_sizes(rows: pd.DataFrame, amount: bool) -> list[Floats]:
    """The sizes of ops without matrix dimensions, and their bytes; attention is known by its FLOP too."""
    shaped, (flop, bytes_moved) = rows["op_class"].isin(SHAPED_BY.keys()).to_numpy(dtype=bool), amounts_per_call(rows)
    sizes = [_number(rows, name) for name in OTHER_SIZES]
    attention = (rows["op_class"] == "attention").to_numpy(dtype=bool)
    flop_known, bytes_known = attention & ~np.isnan(flop), ~(shaped | np.isnan(bytes_moved) | (not amount))
    return [*sizes, np.where(flop_known, flop.round(), MISSING), np.where(bytes_known, bytes_moved.round(), MISSING)]


def _text(rows: pd.DataFrame, name: str) -> Names:
    """A column's texts, "" where missing."""
    return rows[name].to_numpy(dtype=object, na_value="") if name in rows else np.full(len(rows), "", dtype=object)


def _number(rows: pd.DataFrame, name: str) -> Floats:
    """A column's numbers, MISSING where unknown."""
    return np.nan_to_num(numbers(rows, name), nan=MISSING)
