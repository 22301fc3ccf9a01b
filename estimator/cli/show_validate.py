"""What ``estimator validate`` prints."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.table import Table

from estimator.cli import terminal
from estimator.core import units
from estimator.validation import scores
from estimator.validation.tables import KEYS
from estimator.validation.validate import TITLES, Validation

if TYPE_CHECKING:
    import pandas as pd

Row = dict[str, Any]
IN_FULL = ("median", "mean", "p90", "max", "bias")  # of the first method
LEGEND = (
    "Absolute percentage errors. Each device is predicted without any row of its family. A figure is the unweighted "
    "mean over groups, data sets on devices; max is the worst row, bias the median signed error: negative is too fast."
)


def validated(found: Validation, data: Path | None, as_json: bool) -> None:
    """The held-out errors: an overview, every problem by slice, and the rows missed most."""
    methods = list(dict.fromkeys(found.held_out["method"]))
    missed = {problem: scores.worst(rows, methods[0]) for problem, rows in found.judged.items()}
    if as_json:
        terminal.json(_document(found, data, missed))
        return
    console = terminal.console()
    console.print(f"Judged on {data}" if data else "The table that the shipped fit carries; --data judges anew")
    console.print(LEGEND)
    terminal.show(_overview(found.held_out, methods))
    for problem, rows in found.held_out.groupby("problem", sort=False):
        terminal.show(_by_slice(TITLES[str(problem)], rows, methods))
        if problem in missed:
            terminal.show(_missed(f"Worst misses of {methods[0]}", missed[str(problem)]))
    terminal.notes(found.notes)


def _document(found: Validation, data: Path | None, missed: dict[str, list[Row]]) -> Row:
    figures = found.held_out.to_dict("records")
    titles = {name: TITLES[name] for name in dict.fromkeys(found.held_out["problem"])}
    source = "data" if data else "shipped fit"
    return {"source": source, "data": str(data) if data else None, "problems": titles, "held_out": figures,
            "worst": missed, "notes": list(found.notes)}  # fmt: skip


def _overview(held_out: pd.DataFrame, methods: Sequence[str]) -> Table:
    """One row per problem: median / mean error of each method."""
    lines = []
    for problem, rows in held_out[(held_out[KEYS] == "").all(axis=1)].groupby("problem", sort=False):
        of = {str(row["method"]): row for row in rows.to_dict("records")}
        first = next(iter(of.values()))
        cells = (_both(of[method]) if method in of else "" for method in methods)
        lines.append([TITLES[str(problem)], str(first["groups"]), str(first["n"]), *cells])
    return _fitted("Median / mean error [%]", ["problem", "groups", "rows"], methods, lines)


def _fitted(title: str, headings: Sequence[str], methods: Sequence[str], lines: Sequence[Sequence[str]]) -> Table:
    """A table of as many of the methods, which stand last, as the terminal has room for."""
    named = [*headings, *(method.replace(" ", "\n") for method in methods)]
    first, *others = (terminal.room(column) for column in zip(named, *lines, strict=True))
    rooms = [min(first, terminal.LONGEST_TEXT), *others]  # the first one folds
    fitting = [
        n for n in range(len(headings), len(named)) if terminal.breadth(rooms[: n + 1]) <= terminal.console().width
    ]
    many = 1 + max(fitting, default=len(headings) - 1)
    hidden = f"; {len(named) - many} more methods in a wider terminal, or by --json" if many < len(named) else ""
    table = terminal.table(f"\n{title}{hidden}", *named[:many], right=named[1:], folds=True)
    for line in lines:
        table.add_row(*line[:many])
    return table


def _both(row: Row) -> str:
    return f"{row['median']:5.1f} / {row['mean']:5.1f}"


def _by_slice(title: str, rows: pd.DataFrame, methods: Sequence[str]) -> Table:
    """Every slice: the first method in full, and the median / mean of the others."""
    headings, lines = ["slice", "groups", "rows", *IN_FULL], [[*line] for line in _lines(rows, methods)]
    return _fitted(f"{title}: {methods[0]} [%]; others: median / mean", headings, methods[1:], lines)


def _lines(rows: pd.DataFrame, methods: Sequence[str]) -> Iterator[Iterator[str]]:
    """The cells of each slice: its name, its size, the first method's figures, the others' median / mean."""
    for keys, of_slice in rows.groupby(KEYS, sort=False):
        of = {row["method"]: row for row in of_slice.to_dict("records")}
        first = of.get(methods[0], {})
        sizes = (str(of_slice[name].iloc[0]) for name in ("groups", "n"))
        figures = (f"{first[name]:.1f}" if first else "" for name in IN_FULL)
        others = (_both(of[method]) if method in of else "" for method in methods[1:])
        yield itertools.chain([_named(dict(zip(KEYS, keys, strict=True)))], sizes, figures, others)


def _named(keys: dict[str, str]) -> str:
    """A slice in words: ``path tensor``; of a group its data set and device."""
    if keys["device"]:
        return f"{keys['data_set']} on {keys['device']}"
    return ", ".join(f"{key.replace('_', ' ')} {value}" for key, value in keys.items() if value) or "all"


def _missed(title: str, missed: Sequence[Row]) -> Table:
    right = ("measured", "predicted", "ratio")
    table = terminal.table(title, "data set", "device", "precision", "shape", *right, right=right)
    for row in missed:
        times = (units.show(row[name], "s", 4) for name in ("measured_s", "predicted_s"))
        ratio = f"{row['predicted_s'] / row['measured_s']:.2g}"
        table.add_row(row["data_set"], row["device"], row["precision"], row["shape"], *times, ratio)
    return table
