"""The cells of the catalogue's tables as text, the marks behind their numbers, and the legend of these marks."""

from __future__ import annotations

from estimator.cli import terminal
from estimator.core.types import Sourced
from estimator.devices.specs.table.cells import UNSUPPORTED, Cell, Subject, announced
from estimator.devices.specs.table.layout import Column

UNVERIFIED, WAIVED, NONE = "?", "*", "none"
WHY_UNVERIFIED = "recalled, assumed, or without a source"


def column_title(column: Column) -> str:
    """A column's name with the unit of its cells."""
    return f"{column.name} [{column.shown}]" if column.shown else column.name


def title(name: str, subject: Subject) -> str:
    """The name of a device or system as tables show it, with a word where it is announced only."""
    return f"{name} (announced)" if announced(subject) else name


def mark(cell: Cell) -> str:
    """The signs behind a number: unverified, waived."""
    if not isinstance(cell, Sourced):
        return ""
    return f"{UNVERIFIED if cell.unverified else ''}{WAIVED if cell.waiver else ''}"


def cell_text(column: Column, cell: Cell) -> str:
    """A cell in the unit of its column; a size in its own unit."""
    if not isinstance(cell, Sourced):
        return "" if cell is None else NONE if cell == UNSUPPORTED else str(cell)
    if column.unit == "B":
        return str(cell)
    number, digits = cell.value / column.scale, 4 if column.derived else 6
    return f"{number:.{digits}g}" if abs(number) < 10**digits else f"{number:.0f}"


def marked_text(column: Column, cell: Cell) -> str:
    """A cell with its marks."""
    return f"{cell_text(column, cell)}{mark(cell)}"


def print_legend(numbers: int, unverified: int, waived: int) -> None:
    """Print how many numbers were shown and what their marks mean; nothing where there are none."""
    if not numbers:
        return
    counts = [f"{unverified:,} of {numbers:,} numbers shown are unverified ({UNVERIFIED}: {WHY_UNVERIFIED})"]
    counts += [f"{waived:,} waive a lint ({WAIVED})"] if waived else []
    terminal.console().print("; ".join([*counts, f"{NONE}: no such hardware path; blank: unknown"]))
