"""Tables of the catalogue as data: choose columns, filter and sort rows, write CSV, compare."""

from __future__ import annotations

import csv
import io
import operator
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from estimator.core import library, units
from estimator.core.errors import EstimatorError
from estimator.core.types import Sourced
from estimator.devices.cells import UNSUPPORTED, Cell
from estimator.devices.columns import Column, Layout

Row = TypeVar("Row")
Condition = Callable[[Any], bool]
CONDITION = re.compile(r"^\s*([^\s<>=!~]+)\s*(?:(>=|<=|==|!=|!~|=|>|<|~)\s*([^\s<>=!~](?:.*\S)?)\s*)?$")
EXAMPLES = "'memory_bandwidth >= 2 TB/s', 'vendor = NVIDIA', 'name ~ h100' or 'bf16'"
EQUALITIES: dict[str, Callable[[Any, Any], bool]] = {"=": operator.eq, "==": operator.eq, "!=": operator.ne}
OF_NUMBERS = {**EQUALITIES, ">=": operator.ge, "<=": operator.le, ">": operator.gt, "<": operator.lt}
OF_TEXTS = {**EQUALITIES, "~": operator.contains, "!~": lambda text, part: part not in text}
STATES = {UNSUPPORTED: UNSUPPORTED, "none": UNSUPPORTED, "unknown": None}  # words that a condition has for no number


def value(cell: Cell) -> float | str | None:
    """What a cell is compared by: an SI number or a text in lower case; None where it holds neither."""
    if isinstance(cell, Sourced):
        return cell.value
    return None if cell == UNSUPPORTED else cell.casefold() if isinstance(cell, str) else cell


def named(layout: Layout, names: Sequence[str]) -> dict[str, Any]:
    """The rows of these names, each once; a second file that bears a name already taken goes by its path."""
    rows: dict[str, Any] = {}
    for name in names:
        row = layout.load(name)
        rows[row.name if rows.get(row.name, row) == row else name] = row
    return rows


def selected(layout: Layout, conditions: Sequence[str], key: str | None = None) -> dict[str, Any]:
    """The rows of the whole catalogue of which all conditions hold, in the order of a column."""
    tests = [condition(layout, text) for text in conditions]
    column = _column(layout, key.removeprefix("-")) if key else None
    rows = [row for row in layout.load_all() if all(test(row) for test in tests)]
    found = arrange(rows, column, descending=str(key).startswith("-")) if column else rows
    return {row.name: row for row in found}


def check(layout: Layout, names: Sequence[str]) -> tuple[int, list[str]]:
    """How many files were checked, and every fault of each: those named, or all of the library."""
    found = [layout.check(name) for name in (names or (None,))]
    return sum(count for count, _ in found), [fault for _, faults in found for fault in faults]


def choose(layout: Layout, names: Sequence[str]) -> list[Column]:
    """The columns of these names, the rows' own name in front. Raises EstimatorError with near names."""
    return [_column(layout, name) for name in dict.fromkeys(("name", *(name.strip() for name in names)))]


def _column(layout: Layout, name: str) -> Column:
    if name not in layout.columns:
        raise library.unknown("column", name, layout.columns, f"{layout.what} --columns help")
    return layout.columns[name]


def condition(layout: Layout, text: str) -> Condition:
    """The test that ``"memory_bandwidth >= 2 TB/s"`` or a column's bare name makes of a row.

    A comparison holds only where the column's value is known, so that it and its negation part those rows.
    Raises EstimatorError for what is no condition, for unknown columns and for operands of another kind.
    """
    match = CONDITION.match(text)
    if not match:
        raise EstimatorError(f"'{text}' is no condition; write one such as {EXAMPLES}")
    name, sign, operand = match.groups()
    column = _column(layout, name)
    if sign is None:
        return lambda row: value(column.get(row)) is not None
    signs = OF_TEXTS if column.kind == "text" else OF_NUMBERS
    if sign not in signs:
        kind = "text" if column.kind == "text" else "a number"
        raise EstimatorError(f"'{text}': {name} is {kind}; compare it with one of {' '.join(signs)}")
    if operand.lower() in STATES and sign in EQUALITIES:
        return _state(column, sign, STATES[operand.lower()])
    try:
        return _comparison(column, signs[sign], _operand(column, operand))
    except ValueError as error:
        raise EstimatorError(f"'{text}': {name} {error}") from None


def _state(column: Column, sign: str, state: str | None) -> Condition:
    """Whether a cell is unknown or unsupported; of the latter only where it is known."""

    def holds(row: object) -> bool:
        cell = column.get(row)
        return (cell == state) == (sign != "!=") and (state is None or cell is not None)

    return holds


def _comparison(column: Column, compare: Callable[[Any, Any], bool], operand: float | str) -> Condition:
    def holds(row: object) -> bool:
        found = value(column.get(row))
        return found is not None and compare(found, operand)

    return holds


def _operand(column: Column, text: str) -> float | str:
    """The SI value of a condition's right side, or its text in lower case. Raises ValueError for another kind."""
    if column.kind == "text":
        return text.casefold()
    if column.unit in units.KINDS:
        return units.parse(text, column.unit)
    try:
        return units.parse(text.removesuffix(column.shown), "1") * column.scale
    except ValueError:
        raise ValueError(f"is '{text}'; write a number of {column.shown}") from None


def arrange(rows: Sequence[Row], column: Column, *, descending: bool = False) -> list[Row]:
    """The rows by a column; equal ones keep their order, and those without a value come last."""
    values = [value(column.get(row)) for row in rows]
    known = [position for position, found in enumerate(values) if found is not None]
    missing = [position for position, found in enumerate(values) if found is None]
    known.sort(key=lambda position: values[position], reverse=descending)  # type: ignore[arg-type,return-value]
    return [rows[position] for position in (*known, *missing)]


def to_csv(rows: Sequence[object], columns: Sequence[Column]) -> str:
    """The table as CSV, numbers in the SI unit that the heading names, each followed by the column of its status."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow([title for column in columns for title in _titles(column)])
    writer.writerows([text for column in columns for text in _texts(column, column.get(row))] for row in rows)
    return out.getvalue()


def _titles(column: Column) -> list[str]:
    if column.kind != "number":
        return [column.name]
    unit = "" if column.unit == "1" else f" [{column.unit}]"
    return [f"{column.name}{unit}", f"{column.name} status"]


def _texts(column: Column, cell: Cell) -> list[str]:
    if column.kind != "number":
        return ["" if cell is None else str(cell)]
    if isinstance(cell, Sourced):
        return [repr(cell.value), cell.status or "unstated"]
    return ["", str(cell or "")]


def ratios(rows: Mapping[str, object], columns: Sequence[Column]) -> dict[str, dict[str, float | None]]:
    """By column and row: its number over the first row's; None where either is unknown."""
    others = list(rows)[1:]
    found = {}
    for column in columns:
        base, *rest = (column.get(row) for row in rows.values())
        if isinstance(base, Sourced) and any(isinstance(cell, Sourced) for cell in rest):
            over = [cell.value / base.value if isinstance(cell, Sourced) else None for cell in rest]
            found[column.name] = dict(zip(others, over, strict=True))
    return found


def tally(rows: Sequence[object], columns: Sequence[Column]) -> tuple[int, int, int]:
    """How many numbers with an origin a table shows, how many are unverified, and how many waive a lint."""
    cells = [cell for row in rows for column in columns if isinstance(cell := column.get(row), Sourced)]
    return len(cells), sum(cell.unverified for cell in cells), sum(bool(cell.waiver) for cell in cells)
