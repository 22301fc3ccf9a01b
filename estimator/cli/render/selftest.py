"""The printed output of ``estimator selftest``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from estimator.cli import terminal
from estimator.cli.terminal import Table
from estimator.core import units

TIMES = ("source", "predicted", "low", "high", "measured")
COLUMNS = ("workload", "from", "to", "source", "predicted", "interval", "measured", "error", "noise")


def render_selftest(document: Mapping[str, Any]) -> None:
    """Every prediction beside its truth, and the figures of all together."""
    terminal.print_table(_predictions(document["rows"]))
    terminal.print_table(_summary(document["summary"]))


def _predictions(rows: Sequence[Mapping[str, Any]]) -> Table:
    table = terminal.new_table("Step times, predicted and run", *COLUMNS, right=COLUMNS[3:])
    for row in rows:
        names = (str(row[name]) for name in ("workload", "source", "target"))
        source, predicted, low, high, measured = (units.show(row[f"{name}_s"], "s", 3) for name in TIMES)
        shares = (f"{100 * row[name]:+.1f} %" for name in ("error", "noise"))
        table.add_row(*names, source, predicted, f"{low} – {high}", measured, *shares)
    return table


def _summary(summary: Mapping[str, Any]) -> Table:
    percent = {name: f"{100 * value:.1f} %" for name, value in summary.items() if name != "reached"}
    lines = {
        "median error": f"{percent['median_error']}; to be at most {percent['median_reach']}",
        "worst error": f"{percent['worst_error']}; to be at most {percent['worst_reach']}",
        "noise floor, median": percent["noise_floor"],
        "intervals that hold the truth": percent["interval_coverage"],
        "median error if nothing changed": percent["median_error_if_unchanged"],
        "median error by the ratio of peaks": percent["median_error_by_peaks"],
    }
    verdict = "reached" if summary["reached"] else "missed"
    table = terminal.new_table(f"All together: {verdict}", "figure", "value")
    for name, value in lines.items():
        table.add_row(name, value)
    return table
