"""The printed output of ``estimator measure``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from estimator.cli import terminal
from estimator.cli.terminal import Table
from estimator.core import units


def render_measure(document: Mapping[str, Any]) -> None:
    """The best rates, their conditions, and where the files lie."""
    console = terminal.console()
    threads = f"{document['threads']} {units.plural('thread', document['threads'])}"
    conditions = f"{document['library']}, {threads}, {document['clock'] or 'clock unknown'}"
    console.print(f"{document['device']['name']}: {conditions}")
    terminal.print_table(_best_rates(document["best"]))
    console.print("rows:", ", ".join(f"{name} {count}" for name, count in document["rows"].items()))
    terminal.print_warnings(document["warnings"])
    for path in document["files"].values():
        console.print(f"wrote {path}", soft_wrap=True)


def _best_rates(best: Mapping[str, Any]) -> Table:
    table = terminal.new_table("Best rates", "what", "measured", right=("measured",))
    for precision, rate in best["peak_flop_per_s"].items():
        table.add_row(f"matrix products, {precision}", units.show(rate, "FLOP/s", 4))
    for key, what, unit in (
        ("memory_bandwidth_b_per_s", "bandwidth, cold cache", "B/s"),
        ("launch_latency_s", "launch of one element", "s"),
    ):
        if best[key] is not None:
            table.add_row(what, units.show(best[key], unit, 4))
    return table
