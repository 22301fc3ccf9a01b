"""The batch dimension: of a matrix product by role, of a shape by place; a weight's shape has none."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache

from estimator.core.schema import MATRIX
from estimator.work.shapes import Shape
from estimator.work.weights import form, read

WEIGHT_SIDES = {"m": ("k", "n"), "k": ("m", "n"), "n": ("m", "k")}  # batch dimension → the weight's dimensions


@dataclass(frozen=True)
class Batch:
    """The profiled and the wanted batch size, and the forms of weights."""

    before: int
    after: int
    weights: frozenset[Shape] = frozenset()

    def resize(self, size: int) -> int:
        """A dimension at the wanted batch; it is a multiple of the profiled batch, or unknown (-1)."""
        return self.after if size < 0 else size // self.before * self.after

    def of_slices(self, slices: int) -> Batch:
        """One of so many slices of the batch, for the ops of a loop over them."""
        return self if slices == 1 else replace(self, before=self.before // slices, after=self.after // slices or 1)


@lru_cache(maxsize=2**16)
def role(count: int, m: int, n: int, k: int, trans_a: str, batch: Batch) -> tuple[str, bool]:
    """The name of the batch dimension of ``count`` products, empty where none is; and whether it is ambiguous.

    Candidates are multiples of the profiled batch. Preferred are those whose other two dimensions are a weight's, and
    those equal to the batch. Of several, the transpose of A decides: a weights' gradient takes A transposed, with the
    batch as k. Otherwise it is m, which gives the same FLOP.
    """
    size = {"m": m, "k": k, "n": n}
    if count > 1 and count % batch.before == 0:
        return "batch", False
    possible = [name for name in size if size[name] % batch.before == 0]
    with_weight = [name for name in possible if form(tuple(size[s] for s in WEIGHT_SIDES[name])) in batch.weights]
    equal = [name for name in with_weight or possible if size[name] == batch.before]
    likely = equal or with_weight or possible
    stored = "k" if trans_a == "t" else "m"
    return (stored if stored in likely else (*likely, "")[0]), len(likely) > 1 and not trans_a


def place(shape: Shape, batch: Batch, op_class: str = "") -> int | None:
    """The index of the batch in a shape; None where it has none.

    It is the unknown size, or the first size where that is a multiple of the batch (flattened), or any size equal to it
    (time steps come first). A shape that could be a weight's has no batch, except in ops other than matrix ops where
    its first size equals the batch.
    """
    if -1 in shape:
        return shape.index(-1) if shape.count(-1) == 1 else None
    leads = len(shape) > 1 and shape[0] % batch.before == 0
    weight = form(shape) in batch.weights
    if leads and (not weight or (shape[0] == batch.before and op_class not in MATRIX)):
        return 0
    return shape.index(batch.before) if batch.before in shape and not weight else None


def may_be_weight(shape: Shape, batch: Batch) -> bool:
    """Whether a shape that begins with the batch could be a weight's as well."""
    return len(shape) > 1 and shape[0] == batch.before and form(shape) in batch.weights


@lru_cache(maxsize=2**16)
def resize_shapes(text: str, op_class: str, batch: Batch, places: tuple[int | None, ...] = ()) -> str:
    """The shapes of an op's operands or results, ``100x50;50``, at the wanted batch.

    ``places`` states where the first of them hold the batch; None for one that does not hold it.
    """
    shapes = [(item, read(item)) for item in text.split(";")]
    inferred = [place(shape, batch, op_class) if shape else None for _, shape in shapes[len(places) :]]
    held = zip(shapes, [*places[: len(shapes)], *inferred], strict=True)
    return ";".join(_resize_shape(item, shape, at, batch) for (item, shape), at in held)


def _resize_shape(item: str, shape: Shape | None, at: int | None, batch: Batch) -> str:
    """A shape with another size at one place, unless that holds no multiple of the batch."""
    if shape is None or at is None or at >= len(shape) or (shape[at] > 0 and shape[at] % batch.before):
        return item
    return "x".join(map(str, (*shape[:at], batch.resize(shape[at]), *shape[at + 1 :])))
