"""The terminal that every command prints to: its console, its tables, its notes, its one JSON document."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

WIDE_ENOUGH = 160  # columns assumed where output is no terminal


def console() -> Console:
    """A console that takes every text literally, whatever brackets a name holds."""
    return Console(width=None if sys.stdout.isatty() else WIDE_ENOUGH, markup=False, emoji=False, highlight=False)


def notes(sentences: Sequence[str], style: str = "yellow") -> None:
    """Print sentences on stderr, each as a note."""
    console = Console(stderr=True, markup=False, emoji=False, highlight=False)
    for sentence in sentences:
        console.print(Text("note: ", style), Text(sentence), sep="", soft_wrap=not console.is_terminal)


def table(title: str, *columns: str, right: Sequence[str] = ()) -> Table:
    """A table without lines whose first column never wraps; ``right`` names the columns that align right."""
    table = Table(title=title, title_justify="left", header_style="bold", box=None, pad_edge=False)
    for position, column in enumerate(columns):
        table.add_column(
            column,
            justify="right" if column in right else "left",
            no_wrap=position == 0,
            overflow="fold",  # a long path is not cut short
        )
    return table


def json(document: object) -> None:
    """Print one JSON document."""
    from estimator.reports.documents import to_json

    sys.stdout.write(to_json(document))
