"""The printed output of ``estimator compare``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from estimator.cli import terminal
from estimator.cli.render.text import assumptions_note
from estimator.reports import summaries


def render_compare(document: Mapping[str, Any]) -> None:
    """Estimates side by side, one row each."""
    estimates = document["estimates"]
    terminal.print_summary(summaries.comparison_table(estimates))
    terminal.print_notes([f"{e['workload']} on {e['target']}: {e['refused']}" for e in estimates if e["refused"]])
    assumptions = [assumption for estimate in estimates for assumption in estimate["assumptions"]]
    terminal.print_notes([assumptions_note(assumptions, "estimate")], "cyan")
    terminal.print_notes(list(dict.fromkeys(w for estimate in estimates for w in estimate["warnings"])))
