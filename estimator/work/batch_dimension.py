"""Which dimension is the batch: of a matrix product by its role, of a shape by its place; a weight's shape has none."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from estimator.core.schema import MATRIX
from estimator.work.shapes import Shape
from estimator.work.weights import form, read

WEIGHT_BESIDE = {"m": ("k", "n"), "k": ("m", "n"), "n": ("m", "k")}  # where it is the batch, these two are a weight's


@dataclass(frozen=True)
class Batch:
    """The batch as profiled and as asked for, and the forms of weights."""

    before: int
    after: int
    weights: frozenset[Shape] = frozenset()

    def of(self, size: int) -> int:
        """A dimension that holds the profiled batch, once or several times, or is unknown, as asked for."""
        return self.after if size < 0 else size // self.before * self.after


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
