"""Several devices or systems side by side, with their ratios to the first."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from textwrap import fill

from estimator.cli import terminal
from estimator.cli.folding import text_width
from estimator.cli.render.catalogue.cells import column_title, marked_text, print_legend, title
from estimator.devices.specs.table.cells import Subject, value
from estimator.devices.specs.table.layout import Column, Layout
from estimator.devices.specs.table.rows import tally

SHORT_TEXT = 12  # longest unwrapped text where a comparison is too wide
Texts = list[str]  # of one column, its heading first
Ratios = Mapping[str, Mapping[str, float | None]]  # by column and subject


def render_comparison(
    layout: Layout, subjects: Mapping[str, Subject], chosen: Sequence[Column] | None, ratios: Ratios
) -> None:
    """Subjects as columns, one line for each field, each subject after the first with its ratios to the first.

    A comparison too wide for the terminal becomes several tables, each with the fields and the first subject.
    """
    first, *others = subjects
    terminal.console().print(f"{layout.about}{f'; ratios are over {first}' if others else ''}")
    fields = [column for column in chosen or _known_columns(layout.compared, subjects) if column.name != "name"]
    for columns in _fitting_tables(subjects, fields, ratios):
        terminal.console().print()
        _print_columns(columns)
    print_legend(*tally(list(subjects.values()), fields))


def _known_columns(columns: Sequence[Column], subjects: Mapping[str, Subject]) -> list[Column]:
    """The columns that are known of any subject."""
    return [
        column for column in columns if any(value(column.get(subject)) is not None for subject in subjects.values())
    ]


def _print_columns(columns: Sequence[Texts]) -> None:
    headings = [heading for heading, *_ in columns]
    table = terminal.new_table("", *headings, right=headings[1:])
    for line in zip(*(cells for _, *cells in columns), strict=True):
        table.add_row(*line)
    terminal.print_table(table)


def _fitting_tables(subjects: Mapping[str, Subject], fields: Sequence[Column], ratios: Ratios) -> list[list[Texts]]:
    """The columns of each table: one table where it fits, else as few as fit."""
    width, labels = terminal.console().width, ["field", *map(column_title, fields)]
    for longest in (terminal.LONGEST_TEXT, SHORT_TEXT):
        pairs = [_cells_and_ratios(name, row, fields, ratios, longest) for name, row in subjects.items()]
        (first, _), *others = pairs
        tables = list(_split([labels, first], others, width))
        if len(tables) == 1:
            break
    return tables


def _cells_and_ratios(
    name: str, subject: Subject, fields: Sequence[Column], ratios: Ratios, longest: int
) -> list[Texts]:
    """A subject's cells and its ratios to the first subject, as two columns."""
    texts = [marked_text(column, column.get(subject)) for column in fields]
    cells = [fill(text, longest) if column.kind == "text" else text for column, text in zip(fields, texts, strict=True)]
    over_first = [ratios.get(column.name, {}).get(name) for column in fields]
    return [
        [fill(title(name, subject), terminal.LONGEST_TEXT), *cells],
        ["ratio", *(f"{ratio:.3f}" if ratio is not None else "" for ratio in over_first)],
    ]


def _split(front: list[Texts], pairs: Sequence[list[Texts]], width: int) -> Iterator[list[Texts]]:
    """Split columns into tables no wider than ``width``, each with the front columns."""
    columns = front
    for pair in pairs:
        if columns != front and terminal.table_width(map(text_width, columns + pair)) > width:
            yield columns
            columns = front
        columns = columns + pair
    yield columns
