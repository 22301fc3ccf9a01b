"""Several devices or systems side by side, with their ratios to the first."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from textwrap import fill

from estimator.cli import terminal
from estimator.cli.show_catalogue import document, legend, marked, titled
from estimator.devices.specs.table.cells import Subject, value
from estimator.devices.specs.table.layout import Column, Layout
from estimator.devices.specs.table.rows import ratios_to_first, tally

SHORT_TEXT = 12  # that stays on one line of a comparison too wide for its terminal
Texts = list[str]  # of one column, its heading first
Ratios = Mapping[str, Mapping[str, float | None]]  # by column and row


def side_by_side(layout: Layout, rows: Mapping[str, Subject], chosen: Sequence[Column] | None, as_json: bool) -> None:
    """Rows as columns, one line per field, each row after the first with its ratios to the first.

    What is too wide for the terminal becomes several tables, each with the fields and the first row.
    """
    columns = chosen or layout.compared
    ratios = ratios_to_first(rows, columns)
    if as_json:
        terminal.json({layout.what: {name: document(layout, row) for name, row in rows.items()}, "ratios": ratios})
        return
    known = [column for column in columns if any(value(column.get(row)) is not None for row in rows.values())]
    fields = [column for column in chosen or known if column.name != "name"]
    ratio = f"; ratios are over {next(iter(rows))}" if len(rows) > 1 else ""
    terminal.console().print(f"{layout.about}{ratio}")
    for texts in _fitted(rows, fields, ratios):
        headings = [heading for heading, *_ in texts]
        shown = terminal.table("", *headings, right=headings[1:])
        for line in zip(*(cells for _, *cells in texts), strict=True):
            shown.add_row(*line)
        terminal.console().print()
        terminal.show(shown)
    legend(*tally(list(rows.values()), fields))


def _fitted(rows: Mapping[str, Subject], fields: Sequence[Column], ratios: Ratios) -> list[list[Texts]]:
    """The columns of each table: of one alone where long texts can stay on one line, else of as few as fit."""
    width, labels = terminal.console().width, ["field", *map(titled, fields)]
    for longest in (terminal.LONGEST_TEXT, SHORT_TEXT):
        (first, _), *others = [_compared(name, row, fields, ratios, longest) for name, row in rows.items()]
        tables = list(_split([labels, first], others, width))
        if len(tables) == 1:
            break
    return tables


def _compared(name: str, row: Subject, fields: Sequence[Column], ratios: Ratios, longest: int) -> list[Texts]:
    """A row's cells and its ratios to the first row, as two columns."""
    texts = [marked(column, column.get(row)) for column in fields]
    cells = [fill(text, longest) if column.kind == "text" else text for column, text in zip(fields, texts, strict=True)]
    over = [ratios.get(column.name, {}).get(name) for column in fields]
    return [
        [fill(name, terminal.LONGEST_TEXT), *cells],
        ["ratio", *(f"{r:.3f}" if r is not None else "" for r in over)],
    ]


def _split(front: list[Texts], others: Sequence[list[Texts]], width: int) -> Iterator[list[Texts]]:
    """The columns of tables no wider than a terminal: the front ones, and as many others as there is room for."""
    found = front
    for pair in others:
        if found != front and terminal.breadth(map(terminal.room, found + pair)) > width:
            yield found
            found = front
        found = found + pair
    yield found
