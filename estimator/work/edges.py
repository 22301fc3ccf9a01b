"""Which earlier rows wrote what each row reads: as a profile states it, else by program order and equal shapes."""

from __future__ import annotations

import math
from collections.abc import Iterator

import pandas as pd

from estimator.core.schema import LATER_RESULTS, complete
from estimator.work import shapes
from estimator.work.weights import form

FORMATS = ["from_precision", "to_precision"]  # columns of an op that casts
RENAMES = "host"  # class of ops that hand on the buffer of their first input
LEAST_KNOWN = 0.5  # share of the rows whose inputs are known, for a flow


def has_flow(work: pd.DataFrame) -> bool:
    """Whether enough rows name the ops whose results they take."""
    return len(work) > 0 and float(work["inputs"].notna().mean()) >= LEAST_KNOWN


def listed(text: object) -> list[str]:
    """The names in a cell of ``inputs``; none where it is empty."""
    return text.split(";") if isinstance(text, str) else []


def producers(work: pd.DataFrame) -> list[list[int]]:
    """For each row, the earlier rows whose results it takes, in the order of its operands.

    A cast that another precision has removed hands on what it would take.
    """
    place = {op: row for row, op in enumerate(work["op"].tolist())}
    removed = (complete(work, FORMATS) & work["calls"].eq(0.0)).fillna(False).to_numpy(dtype=bool)
    earlier: list[list[int]] = []
    for row, names in enumerate(map(listed, work["inputs"].tolist())):
        rows = (place[name] for name in names if place.get(name, row) < row)
        earlier.append([each for one in rows for each in (earlier[one] if removed[one] else [one])])
    return earlier


def operand_writers(work: pd.DataFrame, parsed: shapes.ParsedOps) -> list[list[tuple[int, int]]]:
    """For each row, the operands that earlier rows wrote: the row that wrote it, and its elements (0 where unknown).

    By ``inputs``, else the last row before that wrote a tensor of the operand's sizes.
    """
    pairs = list(_by_name(work, parsed) if has_flow(work) else _by_shape(work, parsed))
    renames = (work["op_class"] == RENAMES).to_numpy(dtype=bool)
    origin = list(range(len(work)))
    for row, operands in enumerate(pairs):
        if renames[row] and operands:
            origin[row] = origin[operands[0][0]]
    return [[(origin[writer], elements) for writer, elements in operands] for operands in pairs]


def _by_name(work: pd.DataFrame, parsed: shapes.ParsedOps) -> Iterator[list[tuple[int, int]]]:
    """Yield the operands of each row that its inputs name."""
    place = {op: row for row, op in enumerate(work["op"].tolist())}
    for row, names in enumerate(
        [name.removesuffix(LATER_RESULTS) for name in listed(text)] for text in work["inputs"].tolist()
    ):
        sizes = zip(names, parsed.of_row(row).operands, strict=False)
        earlier = [(place[name], shape) for name, shape in sizes if place.get(name, row) < row]
        yield [(writer, _elements(shape or _first_result(parsed, writer))) for writer, shape in earlier]


def _by_shape(work: pd.DataFrame, parsed: shapes.ParsedOps) -> Iterator[list[tuple[int, int]]]:
    """Yield the operands of each row whose sizes an earlier row of the same rank wrote."""
    last: dict[tuple[int, shapes.Shape], int] = {}
    for row, rank in enumerate(work["rank"].factorize()[0].tolist()):
        op = parsed.of_row(row)
        known = [(rank, form(shape)) for shape in op.operands if shape]
        yield [(last[key], _elements(key[1])) for key in known if key in last]
        written = op.outputs or (max((shape for shape in op.operands if shape), key=_elements, default=None),)
        last.update({(rank, form(shape)): row for shape in written if shape})


def _first_result(parsed: shapes.ParsedOps, row: int) -> shapes.Shape | None:
    return next(iter(parsed.of_row(row).outputs), None)


def _elements(shape: shapes.Shape | None) -> int:
    return math.prod(shape) if shape is not None else 0
