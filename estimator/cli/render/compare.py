"""The printed output of ``estimator compare``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from estimator.cli import terminal
from estimator.cli.render.text import assumption_notes
from estimator.reports import summaries


def render_compare(document: Mapping[str, Any]) -> None:
    """Estimates side by side, one row each."""
    estimates = document["estimates"]
    terminal.print_summary(summaries.comparison_table(estimates))
    terminal.print_warnings([f"{e['workload']} on {e['target']}: {e['refused']}" for e in estimates if e["refused"]])
    assumptions, left_open, warnings = (_of_all(estimates, key) for key in ("assumptions", "left_open", "warnings"))
    terminal.print_warnings(warnings)
    terminal.print_notes(assumption_notes(assumptions, "estimate", left_open))


def _of_all(estimates: Sequence[Mapping[str, Any]], key: str) -> list[str]:
    """The sentences of all estimates, each once."""
    return list(dict.fromkeys(sentence for estimate in estimates for sentence in estimate[key]))
