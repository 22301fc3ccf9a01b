"""The printed output of ``estimator scale``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from estimator.cli import terminal
from estimator.cli.render.text import format_interval, format_time

NUMBERS = ("devices", "nodes", "batch", "efficiency", "messages", "exposed")
HEADINGS = ("devices", "nodes", "batch", "step time", "samples/s", "efficiency", "messages", "exposed")
LEGEND = (
    "Messages: the time of all of them. Exposed: by how much they, and the wait for the slowest device, lengthen the "
    "step. Intervals hold 90 %."
)


def render_scale(document: Mapping[str, Any]) -> None:
    """A table with a row for each number of devices."""
    run = f"{document['workload']} on {document['system']} ({document['device']}), {document['precision']}"
    title = f"{run}, {document['parallel']}, {document['scaling']} scaling, host: {document['host']}"
    table = terminal.new_table(title, *HEADINGS, right=NUMBERS)
    for row in document["rows"]:
        table.add_row(*_cells(row))
    terminal.print_table(table)
    terminal.console().print(LEGEND)
    terminal.print_notes(document["notes"], "cyan")
    terminal.print_notes(document["warnings"])


def _cells(row: Mapping[str, Any]) -> list[str]:
    rate, batch = row["samples_per_s"], row["global_batch"]
    return [
        str(row["devices"]),
        str(row["nodes"]),
        "–" if batch is None else str(batch),
        format_interval(row["step_s"]),
        "–" if rate is None else format_interval(rate, "1"),
        f"{100 * row['efficiency']['mid']:.0f} %",
        format_time(row["communication_s"]["mid"]),
        format_time(row["communication_exposed_s"]["mid"]),
    ]
