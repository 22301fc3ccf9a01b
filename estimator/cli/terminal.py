"""The terminal of all commands: console, tables, notes, progress bar.

Texts are laid out here, as importing rich takes long; rich draws only the progress bar.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from itertools import zip_longest
from typing import TYPE_CHECKING, NamedTuple, TextIO

from estimator.cli.folding import cell_width, cut, fold, printable, text_width
from estimator.reports.text import split_interval

if TYPE_CHECKING:
    from estimator.reports.summaries import TextTable

DEFAULT_WIDTH = 160  # columns where output is no terminal and COLUMNS is not set
GAP = 2  # blanks between the columns of a table
SHORTEST_NAME = 32  # to which a name in a first column may be cut
LONGEST_TEXT = 24  # longest unwrapped text in a table too wide for its terminal
CODES = {"bold": "1", "italic": "3", "yellow": "33", "cyan": "36"}  # of ANSI terminals
LONGEST_WORD = 72  # of a note to people: names of kernels can have hundreds of letters, which JSON and pipes keep
LONG_WORD = re.compile(rf"(?<![^\s('])(?![./~])[^\s();']{{{LONGEST_WORD + 1},}}")  # no path


class Text(NamedTuple):
    """A text and its style, one of CODES."""

    text: str
    style: str


class Console:
    """A stream that takes every text literally, folded between words where it is a terminal's."""

    def __init__(self, stream: TextIO) -> None:
        self.stream = stream
        self.width = _width_of(stream)
        self.is_terminal = stream.isatty()

    def print(self, *parts: str | Text, sep: str = " ", soft_wrap: bool = False) -> None:
        """Print texts as one, folded to the width unless it may wrap by itself; the first one may have a style."""
        texts = [part if isinstance(part, str) else part.text for part in parts]
        first = parts[0] if parts and isinstance(parts[0], Text) else Text("", "")
        text, left = printable(sep.join(texts)), len(printable(first.text))
        for line in text.split("\n") if soft_wrap else fold(text, self.width):
            self.stream.write(f"{self.styled(line[:left], first.style)}{line[left:]}\n")
            left = max(0, left - len(line))

    def styled(self, text: str, style: str) -> str:
        """The text in a style, where the stream shows any."""
        shown = self.is_terminal and takes_escapes()
        return f"\x1b[{CODES[style]}m{text}\x1b[0m" if text and shown and style else text


def takes_escapes() -> bool:
    """Whether a terminal may get escape sequences: it knows them, and NO_COLOR does not forbid them."""
    return os.environ.get("TERM") not in ("dumb", "unknown") and not os.environ.get("NO_COLOR")


def _width_of(stream: TextIO) -> int:
    """The width of a terminal: COLUMNS, else its own."""
    columns = shutil.get_terminal_size((0, 0)).columns
    with suppress(OSError, ValueError):
        columns = columns or os.get_terminal_size(stream.fileno()).columns
    return columns or DEFAULT_WIDTH


@dataclass
class Column:
    """A column of a table: its heading, its cells, and how they stand."""

    heading: str
    right: bool
    no_wrap: bool
    spare: bool = False  # left out where the table is too wide
    cells: list[str] = field(default_factory=list)


@dataclass
class Table:
    """A table without lines below its title."""

    title: str
    columns: list[Column]

    def add_row(self, *cells: str | None) -> None:
        """Add a cell to each column."""
        for column, cell in zip(self.columns, cells, strict=True):
            column.cells.append(printable(cell or ""))

    @property
    def row_count(self) -> int:
        """How many rows it has."""
        return len(self.columns[0].cells) if self.columns else 0


def console() -> Console:
    """The console of stdout."""
    return Console(sys.stdout)


def print_notes(sentences: Sequence[str]) -> None:
    """Print sentences on stderr, each as a note."""
    _print_labelled(sentences, Text("note: ", "cyan"))


def print_warnings(sentences: Sequence[str]) -> None:
    """Print sentences on stderr, each as a warning: what may make a result wrong."""
    _print_labelled(sentences, Text("warning: ", "yellow"))


def _print_labelled(sentences: Sequence[str], label: Text) -> None:
    errors = Console(sys.stderr)
    for sentence in sentences:
        shown = LONG_WORD.sub(lambda word: cut(word[0], LONGEST_WORD), sentence) if errors.is_terminal else sentence
        errors.print(label, shown, sep="", soft_wrap=not errors.is_terminal)


def print_summary(summary: TextTable) -> None:
    """Print a table of a result; where intervals have no room on one line, they stand below their numbers."""
    table = _table_of(summary)
    if summary.stacks and not _holds(table, console().width):
        table = _stacked(table, summary)
    print_table(table)


def _table_of(summary: TextTable) -> Table:
    """A table of a result, whose intervals do not fold."""
    table = new_table(summary.title, *summary.headings, right=summary.right, folds=summary.folds, spare=summary.spare)
    for row in summary.rows:
        table.add_row(*row)
    for column in table.columns:
        column.no_wrap |= column.heading in (*summary.stacks, *summary.drops)
    return table


def _holds(table: Table, width: int) -> bool:
    """Whether there is room for all columns of a table, perhaps folded."""
    columns, _, widths = _fitted(table, width)
    return len(columns) == len(table.columns) and table_width(widths) <= width


def _stacked(table: Table, summary: TextTable) -> Table:
    """The table with intervals below their numbers, or left out, and with headings no wider than these."""
    columns = []
    for column in table.columns:
        keeps, drops = column.heading in summary.stacks, column.heading in summary.drops
        if keeps or drops:
            cells = ["\n".join(split_interval(cell)[: 1 + keeps]).strip() for cell in column.cells]
            longest = max(text_width(cells), text_width(column.heading.split()))
            heading = "\n".join(fold(column.heading, longest))
            column = replace(column, heading=heading, right=True, cells=cells)
        columns.append(column)
    return replace(table, columns=columns)


def has_room(summary: TextTable) -> bool:
    """Whether a table of a result is no wider than the console, without a fold and with all of its columns."""
    columns = zip(summary.headings, *summary.rows, strict=True)
    return table_width(map(text_width, columns)) <= console().width


def new_table(
    title: str, *columns: str, right: Sequence[str] = (), folds: bool = False, spare: Sequence[str] = ()
) -> Table:
    """A table without lines.

    Args:
        title: stands above the table.
        columns: the headings.
        right: the headings of columns that align right; these never wrap.
        folds: whether the first column may wrap; else its names are cut in the middle where they must.
        spare: the headings of columns that are left out where the table is too wide, the last one first.
    """
    whole = {*right} if folds else {*right, *columns[:1]}
    return Table(title, [Column(name, name in right, name in whole, name in spare) for name in columns])


def print_table(table: Table) -> None:
    """Print a table, folded between words.

    Where it is too wide, spare columns are left out, and names of the first column are cut in the middle. If it still
    is, it goes beyond the terminal's edge: a number cut short reads as another one.
    """
    out = console()
    columns, texts, widths = _fitted(table, out.width)
    for line in fold(printable(table.title), max(out.width, table_width(widths))) if table.title else ():
        out.stream.write(f"{out.styled(line, 'italic')}\n")
    for number, cells in enumerate(zip(*texts, strict=True)):
        folded = [fold(cell, width) for cell, width in zip(cells, widths, strict=True)]
        if number == 0:  # headings stand right above their columns
            height = max(map(len, folded))
            folded = [[*[""] * (height - len(lines)), *lines] for lines in folded]
        for parts in zip_longest(*folded, fillvalue=""):
            aligned = [_aligned(*part) for part in zip(parts, widths, columns, strict=True)]
            line = (" " * GAP).join(aligned).rstrip()
            out.stream.write(f"{line if number else out.styled(line, 'bold')}\n")


def _fitted(table: Table, width: int) -> tuple[list[Column], list[list[str]], list[int]]:
    """The columns for which there is room, their texts with the heading first, and their widths."""
    columns = list(table.columns)
    while True:
        texts = [[printable(column.heading), *column.cells] for column in columns]
        widths = _column_widths(texts, [column.no_wrap for column in columns], width)
        spare = [place for place, column in enumerate(columns) if column.spare]
        if not spare or table_width(widths) <= width:
            break
        del columns[spare[-1]]
    if columns and columns[0].no_wrap and not columns[0].right:
        texts[0] = [cut(text, widths[0]) for text in texts[0]]
    return columns, texts, widths


def _aligned(text: str, width: int, column: Column) -> str:
    blanks = " " * (width - cell_width(text))
    return f"{blanks}{text}" if column.right else f"{text}{blanks}"


def _column_widths(columns: Sequence[Sequence[str]], no_wrap: Sequence[bool], width: int) -> list[int]:
    """The widths of columns: first what cannot be cut, a longest word where a column folds; then all that the narrowest
    of those that fold may still have. Names in the first column give way down to SHORTEST_NAME.
    """
    full = [text_width(texts) for texts in columns]
    widths = [
        wide if whole else min(text_width(" ".join(texts).split()), LONGEST_TEXT)
        for texts, wide, whole in zip(columns, full, no_wrap, strict=True)
    ]
    excess = table_width(widths) - width
    if excess > 0 and widths and widths[0] > SHORTEST_NAME:
        widths[0] = max(SHORTEST_NAME, widths[0] - excess)
    for _ in range(-excess):
        narrow = [place for place, wide in enumerate(full) if widths[place] < wide]
        if narrow:
            widths[min(narrow, key=widths.__getitem__)] += 1
    return widths


def table_width(columns: Iterable[int]) -> int:
    """The width of a table whose columns have these widths."""
    return sum(width + GAP for width in columns) - GAP


@contextmanager
def progress(what: str, as_json: bool) -> Iterator[Callable[[int, int], None]]:
    """A bar on stderr, for people on a terminal; the block calls what it gets with how many are done, of how many."""
    if as_json or not (sys.stderr.isatty() and takes_escapes()):
        yield lambda done, total: None
        return
    from rich.console import Console as RichConsole
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TimeElapsedColumn

    console = RichConsole(stderr=True, markup=False, highlight=False)
    columns = BarColumn(), MofNCompleteColumn(), TimeElapsedColumn()
    with Progress(what, *columns, console=console, transient=True, redirect_stdout=False, redirect_stderr=False) as bar:
        task = bar.add_task(what, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)
