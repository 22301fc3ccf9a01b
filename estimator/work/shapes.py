"""Operand shapes → the dimensions of matrix products. Nothing is guessed: what stays ambiguous stays NA.

A dump's shape lines do not mark transposes. Three readings of operands [p, q] and [r, s] occur in training: the
forward product (q = r), the weights' gradient (first operand transposed, p = r) and the input's gradient (second
transposed, q = s). Where several fit, only those that use a weight matrix of the same run are kept.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache

Shape = tuple[int, ...]
LARGEST = 2**53  # beyond it a float no longer counts by ones


@dataclass(frozen=True)
class Product:
    """One reading of a matrix product's operands."""

    batch: int
    m: int
    n: int
    k: int
    trans_a: str | None
    trans_b: str | None
    phase: str
    weight: tuple[int, int]

    @property
    def dims(self) -> tuple[int, int, int, int]:
        """batch, m, n, k."""
        return self.batch, self.m, self.n, self.k


@cache
def operands(shapes: str, batch: int | None) -> tuple[Shape, ...]:
    """The operand shapes of ``"-1x50;50x1"`` with -1 resolved to the batch size; () where any stays unknown."""
    out: list[Shape] = []
    for text in filter(None, shapes.split(";")):
        try:
            dims = [int(d) for d in text.split("x")]
        except ValueError:
            return ()
        unknown = sum(d < 0 for d in dims)
        impossible = any(d < -1 or d == 0 or d > LARGEST for d in dims)
        if impossible or unknown > 1 or (unknown and batch is None):
            return ()
        out.append(tuple(batch if d < 0 and batch else d for d in dims))
    return tuple(out)


def elements(shape: Shape) -> int:
    """Number of elements of one operand."""
    return math.prod(shape)


def resolve_products(all_operands: Iterable[tuple[Shape, ...]]) -> dict[tuple[Shape, ...], Product | None]:
    """The one consistent reading of each pair of operands of a run; None where there is none, or several."""
    possible = {pair: readings(pair) for pair in set(all_operands)}
    weights = {r.weight for found in possible.values() for r in found if r.phase == "forward"}
    return {pair: _consistent(found, weights) for pair, found in possible.items()}


def readings(pair: tuple[Shape, ...]) -> list[Product]:
    """Every reading of the first two operands as a product, leading dimensions being the batch."""
    if len(pair) < 2 or min(len(pair[0]), len(pair[1])) < 2 or pair[0][:-2] != pair[1][:-2]:
        return []
    batch = math.prod(pair[0][:-2])
    (p, q), (r, s) = pair[0][-2:], pair[1][-2:]
    found = []
    if q == r:
        found.append(Product(batch, p, s, q, "n", "n", "forward", (r, s)))
    if p == r:
        found.append(Product(batch, q, s, p, "t", "n", "backward", (q, s)))
    if q == s:
        found.append(Product(batch, p, r, q, "n", "t", "backward", (r, s)))
    if not found and p == s:
        found.append(Product(batch, q, r, p, "t", "t", "unknown", (q, r)))
    return found


def _consistent(found: list[Product], weights: set[tuple[int, int]]) -> Product | None:
    if len({f.dims for f in found}) > 1:
        found = [f for f in found if f.weight in weights]
    if len({f.dims for f in found}) != 1:
        return None
    if len(found) == 1:
        return found[0]
    return Product(*found[0].dims, None, None, "unknown", found[0].weight)
