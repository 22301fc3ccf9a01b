"""What ``estimator measure`` prints."""

from __future__ import annotations

from typing import TYPE_CHECKING

from estimator.cli import terminal
from estimator.core import units

if TYPE_CHECKING:
    from estimator.collect.measure import Measured


def measured(found: Measured, as_json: bool) -> None:
    """The best rates, under which conditions, and where the files lie."""
    document = found.document()
    if as_json:
        terminal.json(document)
        return
    console, best = terminal.console(), document["best"]
    threads = f"{document['threads']} thread{'s' * (document['threads'] > 1)}"
    conditions = f"{threads}, {document['clock'] or 'clock not told'}"
    console.print(f"{document['device']['name']}: {document['library']}, {conditions}")
    table = terminal.table("Best rates", "what", "measured", right=("measured",))
    for precision, rate in best["peak_flop_per_s"].items():
        table.add_row(f"matrix products, {precision}", units.show(rate, "FLOP/s", 4))
    for key, what, unit in (
        ("memory_bandwidth_b_per_s", "bandwidth, cold cache", "B/s"),
        ("launch_latency_s", "launch of one element", "s"),
    ):
        if best[key] is not None:
            table.add_row(what, units.show(best[key], unit, 4))
    terminal.show(table)
    console.print("rows:", ", ".join(f"{name} {count}" for name, count in document["rows"].items()))
    terminal.notes(document["warnings"])
    for path in document["files"].values():
        console.print(f"wrote {path}", soft_wrap=True)
