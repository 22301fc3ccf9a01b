"""Matrix products that tfprof's op view books on the op that follows them, because one kernel computed both.

The view shows a forward product that never ran, and a Relu or BiasAdd of the product's result that did. Where only one
such op fits only one such product, its time is taken for that of a kernel ``_FusedMatMul`` with the product's operands.
"""

from __future__ import annotations

from collections.abc import Sequence

from estimator.profiles.fusion import EPILOGUE, MATRIX_PRODUCT

Row = dict[str, object]  # of OPS, and ``defined``, how many nodes of the graph it stands for
Shape = tuple[int, ...]


def claim(rows: Sequence[Row]) -> tuple[list[Row], tuple[str, ...]]:
    """The rows with each fused kernel under its name in place of the product that never ran, and a warning."""
    pairs = _pairs(rows)
    gone = set(pairs.values())
    out = [row | _fused(rows[pairs[i]]) if i in pairs else row for i, row in enumerate(rows) if i not in gone]
    if not pairs:
        return out, ()
    first = rows[min(pairs)]["op"]
    text = f"{len(pairs)} forward products never ran: the times of what follows them, such as '{first}', are taken for "
    return out, (f"{text}kernels that fuse both",)


def _fused(product: Row) -> Row:
    return {"kernel": f"_Fused{product['op_type']}", "shapes": product["shapes"]}


def _pairs(rows: Sequence[Row]) -> dict[int, int]:
    """Rows that ran → the product each must have computed; none where either side fits another as well."""
    idle = {i: result for i, row in enumerate(rows) if (result := _idle_result(row))}
    ran = {i: operand for i, row in enumerate(rows) if (operand := _ran_operand(row))}
    fits = [
        (i, product)
        for product, result in idle.items()
        for i, operand in ran.items()
        if _same(operand, result) and rows[i]["calls"] == rows[product]["defined"]
    ]
    once = [[pair[side] for pair in fits] for side in (0, 1)]
    return {i: product for i, product in fits if once[0].count(i) == 1 and once[1].count(product) == 1}


def _idle_result(row: Row) -> Shape | None:
    """The result of a product that never ran, read as a forward product."""
    operands = _operands(row)
    if row.get("calls") != 0 or not MATRIX_PRODUCT.fullmatch(str(row["op_type"])) or len(operands) < 2:
        return None
    a, b = operands[:2]
    if len(a) < 2 or len(a) != len(b) or a[:-2] != b[:-2] or a[-1] != b[-2]:
        return None
    return (*a[:-1], b[-1])


def _ran_operand(row: Row) -> Shape | None:
    """The first operand of an op that ran and that kernels of products can contain."""
    operands = _operands(row)
    ran = row.get("calls") and EPILOGUE.fullmatch(str(row["op_type"]))
    return operands[0] if ran and operands else None


def _operands(row: Row) -> list[Shape]:
    texts = str(row.get("shapes") or "").split(";")
    return [tuple(map(int, text.split("x"))) for text in texts if text not in ("", "unknown")]


def _same(shape: Shape, other: Shape) -> bool:
    """Whether both may be one shape; an unknown dimension may be any."""
    return len(shape) == len(other) and all(a == b or -1 in (a, b) for a, b in zip(shape, other, strict=True))
