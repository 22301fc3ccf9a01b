"""The printed output of ``estimator scale``."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from estimator.cli import terminal
from estimator.cli.render.text import format_interval, format_time
from estimator.core import units
from estimator.core.files import write_text

NUMBERS = ("devices", "nodes", "batch", "efficiency", "messages", "exposed", "memory", "power", "energy")
HEADINGS = (
    "devices", "nodes", "batch", "step time", "samples/s", "efficiency", "messages", "exposed", "memory", "power",
    "energy",
)  # fmt: skip
UNITS = {"power_w": "W", "energy_j_per_step": "J"}
LEGEND = (
    "Messages: the time of all of them. Exposed: by how much they, and the wait for the slowest device, lengthen the "
    "step. Memory is that of one device (! where it exceeds its capacity), energy that of one step of all devices and "
    "nodes. Intervals hold 90 %."
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


def write_picture(path: Path, document: Mapping[str, Any]) -> None:
    """Draw rates and efficiency as SVG. Raises EstimatorError where the file cannot be written."""
    from estimator.reports.figures import scaling
    from estimator.reports.html import to_svg

    write_text(path, str(to_svg(scaling(document), "scaling")))
    terminal.print_notes([f"{path} is written"], "cyan")


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
        _memory(row["memory_bytes"], row["fits"]),
        *("–" if row[name] is None else units.show(row[name]["mid"], unit, 3) for name, unit in UNITS.items()),
    ]


def _memory(parts: Mapping[str, Any] | None, fits: bool | None) -> str:
    if parts is None:
        return "–"
    return f"{units.show(parts['total'], 'B', 3)}{' !' if fits is False else ''}"
