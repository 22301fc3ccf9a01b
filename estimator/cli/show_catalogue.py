"""What ``estimator devices`` and ``estimator systems`` print: a table to choose from, the columns, a check's faults."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from rich.table import Table
from typer import Exit

from estimator.cli import terminal
from estimator.core.types import ITEMSIZE, Sourced
from estimator.devices.specs.table.cells import UNSUPPORTED, Cell, Subject, spec_of
from estimator.devices.specs.table.layout import PEAK, Column, Layout
from estimator.devices.specs.table.rows import tally
from estimator.reports import documents

UNVERIFIED, WAIVED, NONE = "?", "*", "none"
WHY = "recalled, assumed, or without a source"
FAULT = re.compile(r"(?:(?P<file>\S.*?\.ya?ml)(?::(?P<line>\d+))?: )?(?P<sentence>.*)", re.DOTALL)


def document(layout: Layout, row: Subject) -> dict[str, Any]:
    """A device or system for programs: what its file says, and under ``derived`` what follows from that."""
    derived = {
        column.name: {"value": cell.value, "unit": cell.unit, "unverified": cell.unverified}
        for column in layout.columns.values()
        if column.derived and isinstance(cell := column.get(row), Sourced)
    }
    return {**documents.device(spec_of(row)), "derived": derived}


def listing(layout: Layout, rows: Sequence[Subject], chosen: Sequence[Column] | None, as_json: bool) -> None:
    """Rows in one table: of the columns chosen, or of as many of the default ones as the terminal has room for."""
    if as_json:
        terminal.json({row.name: document(layout, row) for row in rows})
        return
    if not rows:
        terminal.console().print(f"no {layout.what} fit; a comparison holds only where the value is known")
        return
    wanted = {column: _cells(column, rows) for column in chosen or map(layout.column, layout.default)}
    filled = {column: cells for column, cells in wanted.items() if chosen or any(map(str.strip, cells))}
    fitting = filled if chosen else _fitting(filled, terminal.console().width)
    shown = [column for column in chosen or layout.columns.values() if column in fitting]
    terminal.console().print(f"{len(rows)} {layout.what}: {layout.about}")
    terminal.show(_grid({column: filled[column] for column in shown}))
    legend(*tally(rows, shown))
    _more(layout, len(filled) - len(shown))


def _grid(cells: Mapping[Column, Sequence[str]]) -> Table:
    found = terminal.table("")
    for column in cells:
        side: Literal["left", "right"] = "left" if column.kind == "text" else "right"
        found.add_column(_heading(column), justify=side, no_wrap=not _wraps(column), overflow="fold")
    for texts in zip(*cells.values(), strict=True):
        found.add_row(*texts)
    return found


def _wraps(column: Column) -> bool:
    return column.kind == "text" and column.name != "name"


def _more(layout: Layout, hidden: int) -> None:
    words = f"'estimator {layout.what}"
    hint = f"{hidden} more column{'s' * (hidden > 1)} in a wider terminal; " if hidden else ""
    terminal.console().print(f"{hint}{words} --columns help' names all columns, {words} NAME' tells all of one")


def _fitting(cells: Mapping[Column, Sequence[str]], width: int) -> list[Column]:
    """The first columns, in order of importance, that a terminal has room for; long texts wrap."""
    rooms = [terminal.room((_heading(column), *texts)) for column, texts in cells.items()]
    least = [min(r, terminal.LONGEST_TEXT) if _wraps(c) else r for c, r in zip(cells, rooms, strict=True)]
    return [column for count, column in enumerate(cells, start=1) if terminal.breadth(least[:count]) <= width]


def titled(column: Column) -> str:
    """A column's name with the unit of its cells."""
    return f"{column.name} [{column.shown}]" if column.shown else column.name


def _heading(column: Column) -> str:
    return f"{column.heading or column.name}\n{column.shown}".rstrip()


def _cells(column: Column, rows: Sequence[Subject]) -> list[str]:
    """A column's texts; where some bear a mark, the others leave room for one, so that digits stand below digits."""
    found = [column.get(row) for row in rows]
    marks = [mark(cell) for cell in found]
    room = max(map(len, marks), default=0)
    return [f"{cell_text(column, cell)}{m.ljust(room)}" for cell, m in zip(found, marks, strict=True)]


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


def marked(column: Column, cell: Cell) -> str:
    """A cell with its marks."""
    return f"{cell_text(column, cell)}{mark(cell)}"


def legend(numbers: int, unverified: int, waived: int) -> None:
    """How many numbers were shown and what their marks mean."""
    said = [f"{unverified:,} of {numbers:,} numbers shown are unverified ({UNVERIFIED}: {WHY})"]
    said += [f"{waived:,} waive a lint ({WAIVED})"] if waived else []
    terminal.console().print("; ".join([*said, f"{NONE}: no such hardware path; blank: unknown"]))


def columns(layout: Layout, as_json: bool) -> None:
    """What columns there are; those that exist once per precision stand on one line."""
    known = layout.columns.values()
    if as_json:
        terminal.json({c.name: {"unit": c.unit or None, "kind": c.kind, "meaning": c.meaning} for c in known})
        return
    shown = terminal.table(f"Columns of 'estimator {layout.what}'", "column", "unit", "meaning")
    for name, column in layout.families().items():
        shown.add_row(name, "text" if column.kind == "text" else column.shown, column.meaning)
    terminal.show(shown)
    terminal.console().print(f"{PEAK} is one of {', '.join(ITEMSIZE)}; arithmetic of integers counts OP, not FLOP")


def checked(what: str, count: int, faults: Sequence[str], as_json: bool) -> None:
    """The faults of a catalogue; exit 1 where there are any."""
    if as_json:
        terminal.json({"checked": count, "faults": list(faults), "findings": [_finding(fault) for fault in faults]})
    else:
        for fault in faults:
            rule = getattr(fault, "rule", None)
            sys.stderr.write(f"{fault} [{rule}]\n" if rule else f"{fault}\n")
        devices = what if count != 1 else what.removesuffix("s")
        terminal.console().print(f"{count} {devices} checked, {len(faults)} fault{'s' * (len(faults) != 1)}")
    if faults:
        raise Exit(1)


def _finding(fault: str) -> dict[str, Any]:
    """A fault's sentence taken apart: file, line, rule."""
    match = FAULT.fullmatch(fault)
    assert match  # every part of the pattern is optional
    line = match["line"]
    return {**match.groupdict(), "line": int(line) if line else None, "rule": getattr(fault, "rule", None)}
