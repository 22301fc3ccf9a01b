"""Matrix products whose time tfprof's op view books on the following op, because one kernel computed both.

The view shows a forward product that never ran, and a Relu or BiasAdd of its result that did. Where exactly one such op
fits exactly one such product, its time counts as a kernel ``_FusedMatMul`` with the product's operands.
"""

from __future__ import annotations

from collections.abc import Sequence

from estimator.profiles.fusion import EPILOGUE, MATRIX_PRODUCT

Row = dict[str, object]  # of OPS, and ``defined``: its number of nodes in the graph
Shape = tuple[int, ...]


def name_fused_kernels(rows: Sequence[Row]) -> tuple[list[Row], tuple[str, ...]]:
    """The rows with fused kernels named and their products that never ran removed, and a warning."""
    pairs = _pairs(rows)
    removed = set(pairs.values())
    kept = [row | _fused(rows[pairs[i]]) if i in pairs else row for i, row in enumerate(rows) if i not in removed]
    if not pairs:
        return kept, ()
    first = rows[min(pairs)]["op"]
    text = f"{len(pairs)} forward products never ran: the times of the ops after them, such as '{first}', count as "
    return kept, (f"{text}kernels that fuse both",)


def _fused(product: Row) -> Row:
    return {"kernel": f"_Fused{product['op_type']}", "shapes": product["shapes"]}


def _pairs(rows: Sequence[Row]) -> dict[int, int]:
    """Rows that ran → the row of the product that each must have computed; ambiguous pairs are left out."""
    idle = {i: result for i, row in enumerate(rows) if (result := _idle_result(row))}
    ran = {i: operand for i, row in enumerate(rows) if (operand := _ran_operand(row))}
    fits = [
        (i, product)
        for product, result in idle.items()
        for i, operand in ran.items()
        if _may_be_equal(operand, result) and rows[i]["calls"] == rows[product]["defined"]
    ]
    sides = [[pair[side] for pair in fits] for side in (0, 1)]
    return {i: product for i, product in fits if sides[0].count(i) == 1 and sides[1].count(product) == 1}


def _idle_result(row: Row) -> Shape | None:
    """The shape of a forward product's result; None for a row that ran or is no such product."""
    operands = _operands(row)
    if row.get("calls") != 0 or not MATRIX_PRODUCT.fullmatch(str(row["op_type"])) or len(operands) < 2:
        return None
    a, b = operands[:2]
    if len(a) < 2 or len(a) != len(b) or a[:-2] != b[:-2] or a[-1] != b[-2]:
        return None
    return (*a[:-1], b[-1])


def _ran_operand(row: Row) -> Shape | None:
    """The first operand of an op that ran and that a product's kernel can contain; None otherwise."""
    operands = _operands(row)
    ran = row.get("calls") and EPILOGUE.fullmatch(str(row["op_type"]))
    return operands[0] if ran and operands else None


def _operands(row: Row) -> list[Shape]:
    texts = str(row.get("shapes") or "").split(";")
    return [tuple(map(int, text.split("x"))) for text in texts if text not in ("", "unknown")]


def _may_be_equal(shape: Shape, other: Shape) -> bool:
    """Whether two shapes can be equal; an unknown dimension (-1) fits any."""
    return len(shape) == len(other) and all(a == b or -1 in (a, b) for a, b in zip(shape, other, strict=True))
