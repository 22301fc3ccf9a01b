"""The printed output of ``estimator validate``."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pandas as pd

from estimator.cli import terminal
from estimator.cli.folding import text_width
from estimator.cli.terminal import Table
from estimator.core import units
from estimator.validation.tables import KEYS

Row = Mapping[str, Any]
FIGURES = ("median", "mean", "p90", "max", "bias")  # of the first method
LEGEND = (
    "Absolute percentage errors. Each device is predicted without any row of its family. A figure is the unweighted "
    "mean over groups, data sets on devices; max is the worst row, bias the median signed error: negative is too fast."
)


def render_validate(document: Mapping[str, Any]) -> None:
    """The held-out errors: an overview, every problem by slice, and the rows with the largest errors."""
    console, held_out = terminal.console(), pd.DataFrame(document["held_out"])
    methods, titles, data = list(held_out["method"].unique()), document["problems"], document["data"]
    console.print(f"Judged on {data}" if data else "The table that the shipped fit carries; --data judges anew")
    console.print(LEGEND)
    terminal.print_table(_overview(held_out, titles, methods))
    for problem, rows in held_out.groupby("problem", sort=False):
        terminal.print_table(_slices(titles[problem], rows, methods))
        if problem in document["worst"]:
            terminal.print_table(_worst(f"Worst misses of {methods[0]}", document["worst"][problem]))
    terminal.print_notes(document["notes"])


def _overview(held_out: pd.DataFrame, titles: Mapping[str, str], methods: Sequence[str]) -> Table:
    """One row for each problem: the median / mean error of each method."""
    lines = []
    for problem, rows in held_out[(held_out[KEYS] == "").all(axis=1)].groupby("problem", sort=False):
        errors = _by_method(rows)
        first = next(iter(errors.values()))
        sizes = str(first["groups"]), str(first["n"])
        lines.append([titles[str(problem)], *sizes, *_medians_and_means(errors, methods)])
    return _fitting_table("Median / mean error [%]", ["problem", "groups", "rows"], methods, lines)


def _slices(title: str, rows: pd.DataFrame, methods: Sequence[str]) -> Table:
    """One row for each slice: the first method in full, and the median / mean error of the others."""
    title = f"{title}: {methods[0]} [%]; others: median / mean"
    headings, lines = ["slice", "groups", "rows", *FIGURES], [[*cells] for cells in _slice_cells(rows, methods)]
    return _fitting_table(title, headings, methods[1:], lines)


def _slice_cells(rows: pd.DataFrame, methods: Sequence[str]) -> Iterator[Iterator[str]]:
    """The cells of each slice: its name, its size, the first method's figures, the others' median / mean."""
    for keys, slice_rows in rows.groupby(KEYS, sort=False):
        errors = _by_method(slice_rows)
        first = errors.get(methods[0], {})
        sizes = (str(slice_rows[name].iloc[0]) for name in ("groups", "n"))
        figures = (f"{first[name]:.1f}" if first else "" for name in FIGURES)
        name = _slice_name(dict(zip(KEYS, keys, strict=True)))
        yield itertools.chain([name], sizes, figures, _medians_and_means(errors, methods[1:]))


def _by_method(rows: pd.DataFrame) -> dict[str, Row]:
    return {row["method"]: row for row in rows.to_dict("records")}


def _medians_and_means(errors: Mapping[str, Row], methods: Sequence[str]) -> list[str]:
    rows = (errors.get(method) for method in methods)
    return [f"{row['median']:5.1f} / {row['mean']:5.1f}" if row else "" for row in rows]


def _slice_name(keys: Mapping[str, str]) -> str:
    """A slice in words: ``path tensor``; of a group its data set and device."""
    if keys["device"]:
        return f"{keys['data_set']} on {keys['device']}"
    return ", ".join(f"{key.replace('_', ' ')} {value}" for key, value in keys.items() if value) or "all"


def _fitting_table(
    title: str, headings: Sequence[str], methods: Sequence[str], lines: Sequence[Sequence[str]]
) -> Table:
    """A table of as many of the methods, which stand last, as the terminal has room for."""
    headings, count = [*headings, *(method.replace(" ", "\n") for method in methods)], len(headings)
    first, *others = (text_width(column) for column in zip(headings, *lines, strict=True))
    widths, room = [min(first, terminal.LONGEST_TEXT), *others], terminal.console().width  # the first column folds
    fitting = [n for n in range(count + 1, len(headings) + 1) if terminal.table_width(widths[:n]) <= room]
    shown = max(fitting, default=count)
    hidden = len(headings) - shown
    hint = f"; {hidden} more methods in a wider terminal, or by --json" if hidden else ""
    table = terminal.new_table(f"\n{title}{hint}", *headings[:shown], right=headings[1:], folds=True)
    for line in lines:
        table.add_row(*line[:shown])
    return table


def _worst(title: str, rows: Sequence[Row]) -> Table:
    numbers = ("measured", "predicted", "ratio")
    table = terminal.new_table(title, "data set", "device", "precision", "shape", *numbers, right=numbers)
    for row in rows:
        names = (row[name] for name in ("data_set", "device", "precision", "shape"))
        end, unit = ("s", "s") if "measured_s" in row else ("bytes", "B")
        measured, predicted = (row[f"{name}_{end}"] for name in numbers[:2])
        shown = (units.show(value, unit, 4) for value in (measured, predicted))
        table.add_row(*names, *shown, f"{predicted / measured:.2g}")
    return table
