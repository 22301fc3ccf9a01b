"""Two operands → the dimensions of their matrix product; exact where the dump states how they multiply.

Some dumps do not mark transposes. Three readings of operands [p, q] and [r, s] occur in training: the forward product
(q = r), the weights' gradient (first operand transposed, p = r) and the input's gradient (second transposed, q = s).
The shape of the result tells which one it is, where the dump has it. Where several fit, only those that use a weight
matrix of the same run are kept. Ambiguous products stay NA; nothing is guessed.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Hashable, Iterable
from dataclasses import dataclass, replace

import numpy as np

from estimator.core.errors import EstimatorError
from estimator.work.shapes import Op, Shape

Labels = tuple[Hashable, ...]  # one per dimension, as in einsum; equal labels of both operands are one dimension
Pair = tuple[Shape, Shape]
Unstated = tuple[Pair, Shape | None]  # factors, and the result where its shape is known
AXES = ("contract_a", "contract_b", "batch_a", "batch_b")
FORMS = {"equation", "trans_a", "trans_b", *AXES}
PHASES = {("n", "n"): "forward", ("t", "n"): "backward", ("n", "t"): "backward", ("t", "t"): "unknown"}
WITH_SUMMAND = 3  # operands of a product with a summand


@dataclass(frozen=True)
class Product:
    """One reading of a matrix product's operands."""

    batch: int
    m: int
    n: int
    k: int
    trans_a: str | None
    trans_b: str | None
    phase: str | None = None
    weight: Shape = ()

    @property
    def dims(self) -> tuple[int, int, int, int]:
        """batch, m, n, k."""
        return self.batch, self.m, self.n, self.k


def factors(op: Op) -> Pair | None:
    """The shapes of the two factors; None where one is unknown or empty, or the kernel does only a part of the op."""
    if op.is_partial_kernel:
        return None
    skip = 1 if op.type_rule.operands[:1] == ("summand",) and len(op.operands) >= WITH_SUMMAND else 0
    pair = op.operands[skip : skip + 2]
    if len(pair) < 2 or pair[0] is None or pair[1] is None or 0 in (*pair[0], *pair[1]):
        return None
    return pair[0], pair[1]


def stated_product(op: Op) -> Product | None:
    """The product whose form the op states by attributes or by its name; None where it states no form.

    Raises EstimatorError where attributes and shapes contradict each other.
    """
    pair = factors(op)
    if pair is None:
        return None
    product = _stated(op, pair)
    if product is None and _states_form(op):
        shapes = ";".join("x".join(map(str, shape)) for shape in pair)
        form = ";".join(f"{key}={value}" for key, value in op.attributes.items())
        raise EstimatorError(f"its shapes '{shapes}' do not multiply as '{form}' says; mend one of them")
    # PyTorch's transposes do not depend on the phase
    return replace(product, phase=None) if product and op.type_rule.channels_first else product


def _states_form(op: Op) -> bool:
    """Whether attributes state one product of two operands."""
    return bool(op.attributes.keys() & FORMS) and op.attributes.get("equation", ",").count(",") == 1


def _stated(op: Op, pair: Pair) -> Product | None:
    attributes = op.attributes
    if "equation" in attributes:
        return _einsum(pair, attributes["equation"]) if _states_form(op) else None
    if attributes.keys() & set(AXES):
        return _dot_general(pair, *(op.whole_numbers(name) or () for name in AXES))
    if attributes.keys() & FORMS:
        return multiply(pair, attributes.get("trans_a", "n"), attributes.get("trans_b", "n"))
    return multiply(pair, *op.type_rule.multiply) if op.type_rule.multiply else None


def multiply(pair: Pair, trans_a: str, trans_b: str) -> Product | None:
    """The product over the last two dimensions, the others being a broadcast batch; None where sizes do not fit."""
    a, b = pair
    left = (*range(len(a) - 2, 0, -1), *("km" if trans_a == "t" and len(a) > 1 else "mk")[-len(a) :])
    right = (*range(len(b) - 2, 0, -1), *("nk" if trans_b == "t" and len(b) > 1 else "kn")[: len(b)])
    product = _contract(pair, left, right, {*left, *right} - {"k"})
    if product is None:
        return None
    phase = PHASES.get((trans_a, trans_b)) if len(a) == len(b) == 2 else None
    weight = (product.m, product.n) if (trans_a, trans_b) == ("t", "n") else b[-2:]
    return replace(product, trans_a=trans_a, trans_b=trans_b, phase=phase, weight=weight)


def _dot_general(pair: Pair, contract_a: Shape, contract_b: Shape, batch_a: Shape, batch_b: Shape) -> Product | None:
    """XLA's product: contracted axes are summed, batch axes are the batch, and the others make rows and columns."""
    sides = tuple(
        {**{axis: ("k", i) for i, axis in enumerate(contract)}, **{axis: ("batch", i) for i, axis in enumerate(batch)}}
        for contract, batch in ((contract_a, batch_a), (contract_b, batch_b))
    )
    if len(contract_a) != len(contract_b) or len(batch_a) != len(batch_b):
        return None
    if any(not 0 <= axis < len(shape) for side, shape in zip(sides, pair, strict=True) for axis in side):
        return None
    left, right = (tuple(side.get(i, (j, i)) for i in range(len(pair[j]))) for j, side in enumerate(sides))
    return _contract(pair, left, right, {label for label in (*left, *right) if label[0] != "k"})


def _einsum(pair: Pair, equation: str) -> Product | None:
    """The product of ``"abc,cd->abd"``; ``...`` and a missing ``->`` mean the same as in NumPy."""
    left_side, arrow, result = equation.replace(" ", "").partition("->")
    terms = left_side.split(",")
    left, right = (_labels(term, len(shape)) for term, shape in zip(terms, pair, strict=True))
    if not arrow:
        result = "..." + "".join(c for c in left_side if left_side.count(c) == 1)
    ellipsis = {label for label in (*left, *right) if isinstance(label, int)} if "..." in result else set()
    return _contract(pair, left, right, {*result.replace("...", ""), *ellipsis})


def _labels(term: str, rank: int) -> Labels:
    before, ellipsis, after = term.partition("...")
    between = range(rank - len(before) - len(after), 0, -1) if ellipsis else ()
    return (*before, *between, *after)


def _contract(pair: Pair, left: Labels, right: Labels, kept: Collection[Hashable]) -> Product | None:
    """The product that sums over the labels of both operands that are not ``kept``; None where sizes do not fit.

    A kept dimension of size 1 is broadcast: the other operand's then counts as rows or columns.
    """
    rows, columns = dict(zip(left, pair[0], strict=False)), dict(zip(right, pair[1], strict=False))
    has_one_each = len(left) == len(rows) == len(pair[0]) and len(right) == len(columns) == len(pair[1])
    if not has_one_each or not _drop_broadcast(rows, columns, kept):
        return None
    both = rows.keys() & columns.keys()
    summed = both - set(kept)
    return Product(
        batch=math.prod(rows[label] for label in both - summed),
        m=math.prod(size for label, size in rows.items() if label in kept and label not in both),
        n=math.prod(size for label, size in columns.items() if label in kept and label not in both),
        k=math.prod(rows[label] for label in summed),
        trans_a="t" if summed and left[-1] not in summed else "n",
        trans_b="t" if summed and right[-1] in summed and len(right) > 1 else "n",
    )


def _drop_broadcast(rows: dict[Hashable, int], columns: dict[Hashable, int], kept: Collection[Hashable]) -> bool:
    """Remove the broadcast dimensions of size 1 from operands; whether all others of one label are of one size."""
    for label in [label for label in rows.keys() & columns.keys() if rows[label] != columns[label]]:
        narrow = rows if rows[label] == 1 else columns
        if narrow.pop(label) != 1 or label not in kept:
            return False
    return True


def resolve_products(unstated: Iterable[Unstated], stated: Iterable[Product] = ()) -> dict[Unstated, Product | None]:
    """The one consistent reading of each product of a run; None where none or several are consistent."""
    possible = {each: readings(*each) for each in set(unstated)}
    all_readings = (*stated, *(reading for of_one in possible.values() for reading in of_one))
    weights = {reading.weight for reading in all_readings if reading.phase == "forward"}
    return {each: _consistent(of_one, weights) for each, of_one in possible.items()}


def readings(pair: Pair, result: Shape | None = None) -> list[Product]:
    """Every reading of two operands as a product, leading dimensions being the batch.

    A result that no reading has is that of a kernel which does more, so that it tells nothing.
    """
    if min(map(len, pair)) < 2:
        return []
    products = {flags: product for flags in PHASES if (product := multiply(pair, *flags))}
    with_result = {flags: product for flags, product in products.items() if _result(pair, *flags) == result}
    likely = {flags: product for flags, product in products.items() if flags != ("t", "t")}
    return [replace(product, phase=PHASES[flags]) for flags, product in (with_result or likely or products).items()]


def _result(pair: Pair, trans_a: str, trans_b: str) -> Shape:
    """The shape of the result of operands that multiply over their last two dimensions."""
    a, b = pair
    batch = np.broadcast_shapes(a[:-2], b[:-2])
    return (*batch, a[-1 if trans_a == "t" else -2], b[-2 if trans_b == "t" else -1])


def _consistent(possible: list[Product], weights: Collection[Shape]) -> Product | None:
    if len({product.dims for product in possible}) > 1:
        possible = [product for product in possible if product.weight in weights]
    if len({product.dims for product in possible}) != 1:
        return None
    if len(possible) == 1:
        return possible[0]
    return replace(possible[0], trans_a=None, trans_b=None, phase="unknown")
