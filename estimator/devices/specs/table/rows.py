"""Rows of the catalogue's tables: select, sort, compare, write as CSV."""

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


def rows_named(layout: Layout, names: Sequence[str]) -> dict[str, Any]:
    """The rows of these names, each once; a second file of the same name is listed by its path."""
    rows: dict[str, Any] = {}
    for name in names:
        row = layout.load(name)
        rows[row.name if rows.get(row.name, row) == row else name] = row
    return rows


def rows_where(layout: Layout, conditions: Sequence[str], sort_key: str | None = None) -> dict[str, Any]:
    """The rows of the catalogue that fulfil all conditions, sorted by a column (``-column``: descending)."""
    tests = [condition(layout, text) for text in conditions]
    column = layout.column(sort_key.removeprefix("-")) if sort_key else None
    rows = [row for row in layout.load_all() if all(test(row) for test in tests)]
    ordered = arrange(rows, column, descending=str(sort_key).startswith("-")) if column else rows
    return {row.name: row for row in ordered}


def check(layout: Layout, names: Sequence[str]) -> tuple[int, list[str]]:
    """Check the named files, or all of the library: their number and every fault."""
    results = [layout.check(name) for name in (names or (None,))]
    return sum(count for count, _ in results), [fault for _, faults in results for fault in faults]


def arrange(rows: Sequence[Row], column: Column, *, descending: bool = False) -> list[Row]:
    """Sort rows by a column; equal ones keep their order, those without value come last."""
    values = [value(column.get(row)) for row in rows]
    known = [position for position, key in enumerate(values) if key is not None]
    missing = [position for position, key in enumerate(values) if key is None]
    known.sort(key=lambda position: values[position], reverse=descending)  # type: ignore[arg-type,return-value]
    return [rows[position] for position in (*known, *missing)]


def to_csv(rows: Sequence[object], columns: Sequence[Column], *, compared: bool = False) -> str:
    """The table as CSV: numbers in the SI unit of the heading, each followed by its status.

    With ``compared`` also by its ratio to the first row's.
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
    texts = [repr(cell.value), cell.status or "unstated"] if isinstance(cell, Sourced) else ["", str(cell or "")]
    ratio = _ratio(cell, base)
    return [*texts, *(["" if ratio is None else repr(ratio)] if compared else [])]


def ratios_to_first(rows: Mapping[str, object], columns: Sequence[Column]) -> dict[str, dict[str, float | None]]:
    """Ratio of each number to the first row's, by column and row; None where either is unknown."""
    _, *other_names = rows
    ratios_by_column = {}
    for column in columns:
        base, *other_cells = (column.get(row) for row in rows.values())
        ratios = dict(zip(other_names, (_ratio(cell, base) for cell in other_cells), strict=True))
        if any(ratio is not None for ratio in ratios.values()):
            ratios_by_column[column.name] = ratios
    return ratios_by_column


def _ratio(cell: Cell, base: Cell) -> float | None:
    return cell.value / base.value if isinstance(cell, Sourced) and isinstance(base, Sourced) else None


def device_faults(rows: Sequence[object]) -> list[str]:
    """The faults of systems' devices that cannot be read."""
    return [fault for row in rows if isinstance(row, Machine) for fault in row.faults]


def tally(rows: Sequence[object], columns: Sequence[Column]) -> tuple[int, int, int]:
    """Count the numbers with a source in a table, those unverified, and those that waive a lint."""
    cells = [cell for row in rows for column in columns if isinstance(cell := column.get(row), Sourced)]
    return len(cells), sum(cell.unverified for cell in cells), sum(bool(cell.waiver) for cell in cells)
