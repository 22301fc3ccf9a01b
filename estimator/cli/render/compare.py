"""The printed output of ``estimator compare``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from estimator.cli import terminal
from estimator.cli.render.text import assumptions_note, format_evidence, format_interval, is_known

HEADINGS = ("workload", "batch", "target", "step time", "speedup", "matrix products alone", "evidence, of the step")


def render_compare(document: Mapping[str, Any]) -> None:
    """Estimates side by side, one row each."""
    table, estimates = terminal.new_table("Per device", *HEADINGS), document["estimates"]
    for estimate in estimates:
        table.add_row(*_cells(estimate))
    terminal.print_table(table)
    assumptions = [assumption for estimate in estimates for assumption in estimate["assumptions"]]
    terminal.print_notes([assumptions_note(assumptions, "estimate")], "cyan")
    terminal.print_notes(list(dict.fromkeys(w for estimate in estimates for w in estimate["warnings"])))


def _cells(estimate: Mapping[str, Any]) -> list[str]:
    workload = estimate["workload"] + ", inference" * (estimate["mode"] == "inference")
    step, matrix_only = (format_interval(estimate[name]) for name in ("step_s", "matrix_only_step_s"))
    speedup = format_interval(estimate["speedup"], "1") if is_known(estimate["source_step_s"]) else "–"
    run = workload, str(estimate["batch_size"] or "–"), estimate["target"]
    return [*run, step, speedup, matrix_only, format_evidence(estimate["evidence"])]
