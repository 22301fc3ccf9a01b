"""The printed output of ``estimator measurements import`` and ``measurements show``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from estimator.cli import terminal
from estimator.cli.terminal import Table
from estimator.core.units import percent
from estimator.devices.measurements.conditions import CONDITION_COLUMNS, KIND_COLUMNS

COUNTS = ("rows", "left_out", "beats_bound", "above_peak")


def render_import(document: Mapping[str, Any]) -> None:
    """What an import read, what it left out and flagged, and where it wrote."""
    console, devices = terminal.console(), document["devices"]
    console.print("; ".join(document["formats"]), f" of {', '.join(devices)}" if devices else "", sep="")
    _print_rows(document)
    terminal.print_notes(document["notes"])
    console.print(f"wrote {document['written']}", soft_wrap=True)


def render_show(document: Mapping[str, Any]) -> None:
    """What the measured table of a device holds."""
    if document["rows"]:
        _print_rows(document)
    else:
        terminal.console().print(f"nothing is measured of {document['device']}")
    terminal.print_notes(document["notes"])


def _print_rows(document: Mapping[str, Any]) -> None:
    terminal.print_table(_kinds(document["kinds"]))
    terminal.print_table(_conditions(document["conditions"]))


def _kinds(kinds: Sequence[Mapping[str, Any]]) -> Table:
    """The rows of each kind, without counts that are 0 for all of them."""
    counted = [name for name in COUNTS if any(kind[name] for kind in kinds)]
    numbers = (*(name.replace("_", " ") for name in counted), "best TFLOP/s", "of peak")
    table = terminal.new_table("Rows by op class and precision", "op class", "precision", *numbers, right=numbers)
    for kind in kinds:
        counts = (str(kind[name] or "") for name in counted)
        rate, share = kind["best_flop_per_s"], kind["best_share"]
        best = f"{rate / 1e12:.4g}" if rate else "", percent(share, 3) if share else ""
        table.add_row(kind["op_class"], kind["precision"], *counts, *best)
    return table


def _conditions(rows: Sequence[Mapping[str, str | None]]) -> Table:
    """The conditions of each kind of row, without columns that are empty."""
    filled = [name for name in (*KIND_COLUMNS, *CONDITION_COLUMNS) if any(row[name] for row in rows)]
    table = terminal.new_table("Conditions", *(name.replace("_", " ") for name in filled))
    for row in rows:
        table.add_row(*(row[name] or "" for name in filled))
    return table
