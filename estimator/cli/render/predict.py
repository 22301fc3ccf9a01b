"""The printed output of ``estimator predict``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from estimator.cli import terminal
from estimator.core import format_shape
from estimator.reports.text import format_interval

HEADINGS = ("op class", "precision", "shape", "time", "bound", "method")


def render_predict(document: Mapping[str, Any]) -> None:
    """The predicted time of each shape."""
    table = terminal.new_table(f"One call on {document['target']}, with 90 % intervals", *HEADINGS)
    for row in document["rows"]:
        known = row["bound"] or "", row["method"] or "nothing known"
        table.add_row(row["op_class"], row["precision"], format_shape.format_shape(row), _time(row), *known)
    terminal.print_table(table)
    terminal.print_notes(document["assumptions"])


def _time(row: Mapping[str, Any]) -> str:
    interval = {"low": row["low_s"], "mid": row["time_s"], "high": row["high_s"]}
    return "–" if row["time_s"] is None else format_interval(interval)
