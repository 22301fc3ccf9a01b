"""The catalogue as one table to choose from, as wide as the terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from estimator.cli import terminal
from estimator.cli.folding import text_width
from estimator.cli.render.catalogue.cells import cell_text, mark, print_legend, title
from estimator.cli.terminal import Table
from estimator.core import units
from estimator.devices.specs.table.cells import Subject
from estimator.devices.specs.table.layout import Column, Layout
from estimator.devices.specs.table.rows import tally


def render_table(layout: Layout, subjects: Sequence[Subject], chosen: Sequence[Column] | None) -> None:
    """A row for each subject: its chosen columns, or as many of the default ones as the terminal has room for."""
    if not subjects:
        terminal.console().print(f"no {layout.what} fit; a comparison holds only where the value is known")
        return
    texts = {column: _texts(column, subjects) for column in chosen or map(layout.column, layout.default)}
    filled = {column: cells for column, cells in texts.items() if chosen or any(map(str.strip, cells))}
    fitting = filled if chosen else _fitting(filled, terminal.console().width)
    shown = [column for column in chosen or layout.columns.values() if column in fitting]
    terminal.console().print(f"{len(subjects)} {layout.what}: {layout.about}")
    terminal.print_table(_table({column: filled[column] for column in shown}))
    print_legend(*tally(subjects, shown))
    _print_hint(layout, len(filled) - len(shown))


def _table(texts: Mapping[Column, Sequence[str]]) -> Table:
    columns = [
        terminal.Column(_heading(column), right=column.kind != "text", no_wrap=not _wraps(column)) for column in texts
    ]
    table = Table("", columns)
    for cells in zip(*texts.values(), strict=True):
        table.add_row(*cells)
    return table


def _texts(column: Column, subjects: Sequence[Subject]) -> list[str]:
    """A column's texts; cells without a mark are padded, so that digits are aligned."""
    if column.name == "name":
        return [title(subject.name, subject) for subject in subjects]
    cells = [column.get(subject) for subject in subjects]
    marks = [mark(cell) for cell in cells]
    room = max(map(len, marks), default=0)
    return [f"{cell_text(column, cell)}{cell_mark.ljust(room)}" for cell, cell_mark in zip(cells, marks, strict=True)]


def _heading(column: Column) -> str:
    return f"{column.heading or column.name}\n{column.shown}".rstrip()


def _wraps(column: Column) -> bool:
    return column.kind == "text" and column.name != "name"


def _fitting(texts: Mapping[Column, Sequence[str]], width: int) -> list[Column]:
    """The first columns, in order of importance, that a terminal has room for; long texts wrap."""
    full = [text_width((_heading(column), *cells)) for column, cells in texts.items()]
    least = [min(w, terminal.LONGEST_TEXT) if _wraps(c) else w for c, w in zip(texts, full, strict=True)]
    return [column for count, column in enumerate(texts, start=1) if terminal.table_width(least[:count]) <= width]


def _print_hint(layout: Layout, hidden: int) -> None:
    command = f"'estimator {layout.what}"
    wider = f"{hidden} more {units.plural('column', hidden)} in a wider terminal; " if hidden else ""
    terminal.console().print(f"{wider}{command} --columns help' names all columns, {command} NAME' shows one in full")
