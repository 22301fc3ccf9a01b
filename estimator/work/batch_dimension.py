"""Which dimension is the batch: of a matrix product by its role, of a shape by its place; a weight's shape has none."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

import pandas as pd

from estimator.core.schema import MATRIX
from estimator.work.casts import weight_shapes
from estimator.work.precision import UPDATES
from estimator.work.shapes import Shape

WEIGHT_BESIDE = {"m": ("k", "n"), "k": ("m", "n"), "n": ("m", "k")}  # where it is the batch, these two are a weight's
VARIABLE = r"ReadVariableOp|Variable(V2)?"
TEMPORARY = "/tmp_var"  # in the names of variables in which TensorFlow sums gradients of activations as well
KERNEL = ["conv_t", "conv_r", "conv_s", "conv_c", "groups", "conv_k"]
TURNED = "labels=f"  # XLA's gradient of weights: the batch stands in the place of channels
KNOWN = re.compile(r"-?\d{1,15}(x-?\d{1,15})*")


@dataclass(frozen=True)
class Batch:
    """The batch as profiled and as asked for, and the shapes of weights, as :func:`form` has them."""

    before: int
    after: int
    weights: frozenset[Shape] = frozenset()

    def of(self, size: int) -> int:
        """A dimension that holds the profiled batch, once or several times, or is unknown, as asked for."""
        return self.after if size < 0 else size // self.before * self.after


def updates(work: pd.DataFrame) -> pd.Series:
    """Rows that update weights."""
    named = work["op_type"].fillna("").str.fullmatch(UPDATES)
    return (work["phase"].eq("optimizer").fillna(False) | named) & ~work["op"].str.contains(TEMPORARY, regex=False)


def weights(work: pd.DataFrame) -> frozenset[Shape]:
    """The forms of weights: of variables and their updates, and of what forward products and convolutions take."""
    rows = work[updates(work) | work["op_type"].fillna("").str.fullmatch(VARIABLE)]
    texts = pd.concat([rows["shapes"], rows["output_shapes"]]).dropna().unique()
    items = {*weight_shapes(work), *(item for text in texts for item in text.split(";"))}
    turned = work["attributes"].fillna("").str.contains(TURNED, regex=False)
    convolutions = (work["op_class"] == "convolution") & work["conv_n"].notna()
    kernels = work.loc[convolutions & ~turned, KERNEL].fillna(1).astype("int64").drop_duplicates()
    convolved = {form((t, r, s, c // groups, k)) for t, r, s, c, groups, k in kernels.itertuples(index=False)}
    return frozenset({form(shape) for item in items if (shape := read(item))} | convolved)


def form(shape: Shape) -> Shape:
    """A shape whatever its layout, without dimensions of 1."""
    return tuple(sorted(size for size in shape if size != 1))


@lru_cache(maxsize=2**16)
def read(item: str) -> Shape | None:
    """The shape of ``100x50``, -1 where a dimension is unknown; None where the text is none."""
    return tuple(map(int, item.split("x"))) if KNOWN.fullmatch(item) else None


@lru_cache(maxsize=2**16)
def role(count: int, m: int, n: int, k: int, trans_a: str, batch: Batch) -> tuple[str, bool]:
    """The batch among the dimensions of ``count`` products, nothing where it is none; and whether that is in doubt.

    It is one that the profiled batch divides: best one that stands beside a weight's two, and that equals it. Where
    several are, A tells, which the weights' gradient takes transposed; else rows are taken, which have the same FLOP.
    """
    size = {"m": m, "k": k, "n": n}
    if count > 1 and count % batch.before == 0:
        return "batch", False
    possible = [name for name in size if size[name] % batch.before == 0]
    beside = [n for n in possible if form(tuple(size[side] for side in WEIGHT_BESIDE[n])) in batch.weights]
    likely = [n for n in beside or possible if size[n] == batch.before] or beside or possible
    stored = "k" if trans_a == "t" else "m"
    return (stored if stored in likely else (*likely, "")[0]), len(likely) > 1 and not trans_a


def place(shape: Shape, batch: Batch, op_class: str = "") -> int | None:
    """Where the batch stands in a shape: where a size is unknown, or first. A weight has none, so that an operand of a
    matrix op that could be one has none. It may also come first several times over (flattened), or behind (steps of
    time).
    """
    if -1 in shape:
        return shape.index(-1) if shape.count(-1) == 1 else None
    leads = len(shape) > 1 and shape[0] % batch.before == 0
    weight = form(shape) in batch.weights
    if leads and (not weight or (shape[0] == batch.before and op_class not in MATRIX)):
        return 0
    return shape.index(batch.before) if batch.before in shape and not weight else None


def like_a_weight(shape: Shape, batch: Batch) -> bool:
    """Whether a shape that has a batch could be a weight as well."""
    return len(shape) > 1 and shape[0] == batch.before and form(shape) in batch.weights


@lru_cache(maxsize=2**16)
def resized(text: str, op_class: str, batch: Batch) -> str:
    """The shapes of an op's operands or results, ``100x50;50``, at the batch asked for."""
    return ";".join(_resized(item, op_class, batch) for item in text.split(";"))


def _resized(item: str, op_class: str, batch: Batch) -> str:
    shape = read(item)
    at = place(shape, batch, op_class) if shape else None
    if shape is None or at is None:
        return item
    return "x".join(map(str, (*shape[:at], batch.of(shape[at]), *shape[at + 1 :])))
