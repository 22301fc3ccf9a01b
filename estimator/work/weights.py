"""Rows and shapes of weights: variables, their updates, and factors of products and convolutions."""

from __future__ import annotations

import re
from functools import lru_cache

import numpy as np
import pandas as pd

from estimator.core.recurrent_shape import RecurrentShape
from estimator.core.schema import MATRIX, numbers
from estimator.core.types import Floats
from estimator.work.operators import is_temporary, is_update, is_variable
from estimator.work.shapes import Shape

KERNEL = ["conv_t", "conv_r", "conv_s", "conv_c", "groups", "conv_k"]
WEIGHTS_GRADIENT = "labels=f"  # XLA's gradient of weights: the batch takes the place of the channels
KNOWN = re.compile(r"-?\d{1,15}(x-?\d{1,15})*")


def updates(work: pd.DataFrame) -> pd.Series:
    """Rows that update weights."""
    return (work["phase"].eq("optimizer").fillna(False) | is_update(work)) & ~is_temporary(work)


def is_forward(work: pd.DataFrame) -> pd.Series:
    """Matrix products and convolutions of the forward pass."""
    return work["op_class"].isin(MATRIX) & work["phase"].eq("forward").fillna(False)


def takes_weights(work: pd.DataFrame) -> pd.Series:
    """Forward products of activations with weights; such products have no batch dimension."""
    return is_forward(work) & ~(work["batch"] > 1).fillna(False)


def weights_taken(work: pd.DataFrame) -> Floats:
    """Elements of the weights that each op of the forward pass takes."""
    convolution = work["op_class"].eq("convolution").fillna(False) & work["phase"].eq("forward").fillna(False)
    return np.where(takes_weights(work) | convolution, weights_of(work), 0.0)


def weights_of(work: pd.DataFrame) -> Floats:
    """Elements of the weights, or of their gradients, of all calls of each op; 0 where unknown."""
    return np.asarray(np.nan_to_num(weights_per_call(work)) * numbers(work, "calls"))


def weights_per_call(work: pd.DataFrame) -> Floats:
    """Elements of the weights, or of their gradients, of each product, convolution and recurrent layer; NaN where
    unknown.
    """
    kernel = np.prod([numbers(work, name) for name in KERNEL if name != "groups"], axis=0) / numbers(work, "groups")
    forward = takes_weights(work).to_numpy(dtype=bool)
    product = np.where(forward, numbers(work, "k"), numbers(work, "m")) * numbers(work, "n")
    of_class = {"convolution": kernel, "recurrent": RecurrentShape.from_table(work).weights()}
    is_class = [work["op_class"].eq(name).fillna(False) for name in of_class]
    return np.asarray(np.select(is_class, list(of_class.values()), product))


def weight_forms(work: pd.DataFrame) -> frozenset[Shape]:
    """The forms of weights: of variables, their updates, and of forward products, convolutions and recurrent layers."""
    rows = work[updates(work) | is_variable(work)]
    texts = pd.concat([rows["shapes"], rows["output_shapes"]]).dropna().unique()
    items = {item for text in texts for item in text.split(";")}
    weights_gradient = work["attributes"].fillna("").str.contains(WEIGHTS_GRADIENT, regex=False)
    convolutions = (work["op_class"] == "convolution") & work["conv_n"].notna()
    kernels = work.loc[convolutions & ~weights_gradient, KERNEL].fillna(1).astype("int64").drop_duplicates()
    convolved = {form((t, r, s, c // groups, k)) for t, r, s, c, groups, k in kernels.itertuples(index=False)}
    of_variables = {form(shape) for item in items if (shape := read(item))}
    return frozenset(of_variables | convolved | _recurrent_forms(work) | _sides(work, ("k", "n")))


def _recurrent_forms(work: pd.DataFrame) -> set[Shape]:
    """The forms of the weights of recurrent layers: for state and input apart, and together."""
    rows = work[work["op_class"].eq("recurrent").fillna(False).to_numpy(dtype=bool) & work["hidden"].notna()]
    shape = RecurrentShape.from_table(rows)
    sizes = np.array([shape.gates * shape.hidden, shape.hidden, shape.input_width]).astype(int)
    return {form((gates, width)) for gates, state, fed in sizes.T.tolist() for width in (state, fed, state + fed)}


def activation_forms(work: pd.DataFrame) -> frozenset[Shape]:
    """The forms of the inputs and results of forward products."""
    return _sides(work, ("m", "k")) | _sides(work, ("m", "n"))


def holds_any(work: pd.DataFrame, forms: frozenset[Shape]) -> pd.Series:
    """Whether an operand or a result of each row has one of these forms."""
    texts = work["shapes"].fillna("") + ";" + work["output_shapes"].fillna("")
    held = {text: _holds(text, forms) for text in texts.unique()}
    return texts.map(held).astype(bool)


def _holds(text: str, forms: frozenset[Shape]) -> bool:
    return any(form(shape) in forms for item in text.split(";") if (shape := read(item)))


def _sides(work: pd.DataFrame, sides: tuple[str, str]) -> frozenset[Shape]:
    """The forms of forward products' operands with these dimensions, such as (k, n) for the weights."""
    rows = work.loc[takes_weights(work), [*sides]].dropna().astype("int64").drop_duplicates()
    return frozenset(form(pair) for pair in rows.itertuples(index=False, name=None))


def form(shape: Shape) -> Shape:
    """A shape regardless of layout: its sizes sorted, without sizes of 1."""
    return tuple(sorted(size for size in shape if size != 1))


@lru_cache(maxsize=2**16)
def read(item: str) -> Shape | None:
    """The shape of ``100x50``, -1 where a dimension is unknown; None where the text is no shape."""
    return tuple(map(int, item.split("x"))) if KNOWN.fullmatch(item) else None
