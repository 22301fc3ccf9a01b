"""What ``estimator selftest`` prints."""

from __future__ import annotations

from typing import Any

from rich.table import Table

from estimator.cli import terminal
from estimator.core import units
from estimator.validation.selftest import Result

COLUMNS = ("workload", "from", "to", "source", "predicted", "interval", "measured", "error", "noise")


def judged(found: Result, as_json: bool) -> None:
    """Every prediction beside its truth, and the figures of all together."""
    document = found.document()
    if as_json:
        terminal.json(document)
        return
    terminal.show(_rows(document))
    terminal.show(_summary(document))


def _rows(document: dict[str, Any]) -> Table:
    table = terminal.table("Step times, predicted and run", *COLUMNS, right=COLUMNS[3:])
    for row in document["rows"]:
        source, predicted, low, high, measured = (
            units.show(row[f"{name}_s"], "s", 3) for name in ("source", "predicted", "low", "high", "measured")
        )
        interval = f"{low} – {high}"
        shares = (f"{100 * row['error']:+.1f} %", f"{100 * row['noise']:+.1f} %")
        table.add_row(
            *(str(row[n]) for n in ("workload", "source", "target")), source, predicted, interval, measured, *shares
        )
    return table


def _summary(document: dict[str, Any]) -> Table:
    figures = {name: f"{100 * value:.1f} %" for name, value in document["summary"].items() if name != "reached"}
    lines = {
        "median error": f"{figures['median_error']}; to be at most {figures['median_reach']}",
        "worst error": f"{figures['worst_error']}; to be at most {figures['worst_reach']}",
        "noise floor, median": figures["noise_floor"],
        "intervals that hold the truth": figures["interval_coverage"],
        "median error if nothing changed": figures["median_error_if_unchanged"],
        "median error by the ratio of peaks": figures["median_error_by_peaks"],
    }
    verdict = "reached" if document["summary"]["reached"] else "missed"
    table = terminal.table(f"All together: {verdict}", "figure", "value")
    for name, value in lines.items():
        table.add_row(name, value)
    return table
