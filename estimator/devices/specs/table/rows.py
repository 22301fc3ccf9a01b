"""The rows of the catalogue's tables: chosen by name or condition, sorted, compared, written as CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from estimator.core.types import Sourced
from estimator.devices.specs.table.cells import Cell, Machine, value
from estimator.devices.specs.table.layout import Column, Layout
from estimator.devices.specs.table.where import condition

Row = TypeVar("Row")


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
    column = layout.column(key.removeprefix("-")) if key else None
    rows = [row for row in layout.load_all() if all(test(row) for test in tests)]
    found = arrange(rows, column, descending=str(key).startswith("-")) if column else rows
    return {row.name: row for row in found}


def check(layout: Layout, names: Sequence[str]) -> tuple[int, list[str]]:
    """How many files were checked, and every fault of each: those named, or all of the library."""
    found = [layout.check(name) for name in (names or (None,))]
    return sum(count for count, _ in found), [fault for _, faults in found for fault in faults]


def arrange(rows: Sequence[Row], column: Column, *, descending: bool = False) -> list[Row]:
    """The rows by a column; equal ones keep their order, and those without a value come last."""
    values = [value(column.get(row)) for row in rows]
    known = [position for position, found in enumerate(values) if found is not None]
    missing = [position for position, found in enumerate(values) if found is None]
    known.sort(key=lambda position: values[position], reverse=descending)  # type: ignore[arg-type,return-value]
    return [rows[position] for position in (*known, *missing)]


def to_csv(rows: Sequence[object], columns: Sequence[Column], *, compared: bool = False) -> str:
    """The table as CSV: numbers in the SI unit that the heading names, each followed by its status, and where rows are
    compared by its ratio to the first row's.
    """
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow([title for column in columns for title in _titles(column, compared)])
    bases = [column.get(rows[0]) if compared else None for column in columns]
    for row in rows:
        cells = zip(columns, bases, strict=True)
        writer.writerow([text for column, base in cells for text in _texts(column, column.get(row), base, compared)])
    return out.getvalue()


def _titles(column: Column, compared: bool) -> list[str]:
    if column.kind != "number":
        return [column.name]
    unit = "" if column.unit == "1" else f" [{column.si}]"
    return [f"{column.name}{unit}", f"{column.name} status", *([f"{column.name} ratio"] if compared else [])]


def _texts(column: Column, cell: Cell, base: Cell, compared: bool) -> list[str]:
    if column.kind != "number":
        return ["" if cell is None else str(cell)]
    found = [repr(cell.value), cell.status or "unstated"] if isinstance(cell, Sourced) else ["", str(cell or "")]
    over = _ratio(cell, base)
    return [*found, *(["" if over is None else repr(over)] if compared else [])]


def ratios_to_first(rows: Mapping[str, object], columns: Sequence[Column]) -> dict[str, dict[str, float | None]]:
    """By column and row: its number over the first row's; None where either is unknown."""
    _, *others = rows
    found = {}
    for column in columns:
        base, *rest = (column.get(row) for row in rows.values())
        over = dict(zip(others, (_ratio(cell, base) for cell in rest), strict=True))
        if any(ratio is not None for ratio in over.values()):
            found[column.name] = over
    return found


def _ratio(cell: Cell, base: Cell) -> float | None:
    return cell.value / base.value if isinstance(cell, Sourced) and isinstance(base, Sourced) else None


def unread(rows: Sequence[object]) -> list[str]:
    """Why the devices of systems cannot be read, a sentence each."""
    return [fault for row in rows if isinstance(row, Machine) for fault in row.faults]


def tally(rows: Sequence[object], columns: Sequence[Column]) -> tuple[int, int, int]:
    """How many numbers with an origin a table shows, how many are unverified, and how many waive a lint."""
    cells = [cell for row in rows for column in columns if isinstance(cell := column.get(row), Sourced)]
    return len(cells), sum(cell.unverified for cell in cells), sum(bool(cell.waiver) for cell in cells)
