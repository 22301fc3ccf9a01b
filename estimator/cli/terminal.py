"""The terminal that every command prints to: its console, its tables, its notes, its bar of progress."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager

from rich.cells import cell_len
from rich.console import Console
from rich.table import Column, Table
from rich.text import Text

DEFAULT_SIZE = (160, 25)  # columns and lines where output is no terminal and COLUMNS is not set
GAP = 2  # blanks between the columns of a table
LONGEST_TEXT = 24  # that stays on one line in a table too wide for its terminal


def console() -> Console:
    """A console that takes every text literally, whatever brackets a name holds."""
    width, height = shutil.get_terminal_size(DEFAULT_SIZE)
    return Console(width=width, height=height, markup=False, emoji=False, highlight=False)


def print_notes(sentences: Sequence[str], style: str = "yellow") -> None:
    """Print sentences on stderr, each as a note."""
    console = Console(stderr=True, markup=False, emoji=False, highlight=False)
    for sentence in sentences:
        console.print(Text("note: ", style), Text(sentence), sep="", soft_wrap=not console.is_terminal)


def new_table(title: str, *columns: str, right: Sequence[str] = (), folds: bool = False) -> Table:
    """A table without lines.

    Args:
        title: stands above the table.
        columns: the headings.
        right: the headings of columns that align right; these never wrap.
        folds: whether the first column may wrap.
    """
    table = Table(title=title, title_justify="left", header_style="bold", box=None, pad_edge=False)
    for position, column in enumerate(columns):
        table.add_column(
            column,
            justify="right" if column in right else "left",
            no_wrap=(position == 0 and not folds) or column in right,
            overflow="fold",  # a long path is not cut short
        )
    return table


def print_table(table: Table) -> None:
    """Print a table, folded between words.

    A table that is too wide even so goes beyond the terminal's edge: a number cut short reads as another one.
    """
    out = console()
    widths = _column_widths([_texts(column) for column in table.columns], [c.no_wrap for c in table.columns], out.width)
    for column, width in zip(table.columns, widths, strict=True):
        column.width = width
    if table_width(widths) > out.width:
        out.width = table_width(widths) + GAP  # rich before 14 also counts the gaps at both edges
    out.print(table)


def _texts(column: Column) -> list[str]:
    return [str(column.header), *map(str, column.cells)]


def _column_widths(columns: Sequence[Sequence[str]], no_wrap: Sequence[bool], width: int) -> list[int]:
    """The widths of columns: first what cannot be cut, a longest word where a column folds; then all that the narrowest
    of those that fold may still have.
    """
    full = [text_width(texts) for texts in columns]
    widths = [
        wide if whole else min(text_width(" ".join(texts).split()), LONGEST_TEXT)
        for texts, wide, whole in zip(columns, full, no_wrap, strict=True)
    ]
    for _ in range(width - table_width(widths)):
        narrow = [place for place, wide in enumerate(full) if widths[place] < wide]
        if narrow:
            widths[min(narrow, key=widths.__getitem__)] += 1
    return widths


def text_width(texts: Iterable[str]) -> int:
    """The width of the longest line."""
    return max((cell_len(line) for text in texts for line in text.split("\n")), default=0)


def table_width(columns: Iterable[int]) -> int:
    """The width of a table whose columns have these widths."""
    return sum(width + GAP for width in columns) - GAP


@contextmanager
def progress(what: str, as_json: bool) -> Iterator[Callable[[int, int], None]]:
    """A bar on stderr, for people on a terminal; the block calls what it gets with how many are done, of how many."""
    console = Console(stderr=True, markup=False, highlight=False)
    if as_json or not console.is_terminal:
        yield lambda done, total: None
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TimeElapsedColumn

    columns = BarColumn(), MofNCompleteColumn(), TimeElapsedColumn()
    with Progress(what, *columns, console=console, transient=True, redirect_stdout=False, redirect_stderr=False) as bar:
        task = bar.add_task(what, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)
