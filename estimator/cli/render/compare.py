"""The printed output of ``estimator compare``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from estimator.cli import terminal
from estimator.cli.render.text import assumption_notes
from estimator.core.units import percent
from estimator.reports import summaries


def render_compare(document: Mapping[str, Any]) -> None:
    """Estimates side by side, one row each."""
    estimates = document["estimates"]
    terminal.print_summary(summaries.comparison_table(estimates))
    for sentence in _faster(document["p_faster"]):
        terminal.console().print(sentence)
    terminal.print_warnings([f"{e['workload']} on {e['target']}: {e['refused']}" for e in estimates if e["refused"]])
    assumptions, left_open, warnings = (_of_all(estimates, key) for key in ("assumptions", "left_open", "warnings"))
    terminal.print_warnings(warnings)
    terminal.print_notes(assumption_notes(assumptions, "estimate", left_open))


def _faster(chances: Mapping[str, Mapping[str, float | None]]) -> Iterator[str]:
    """A sentence for each estimate that is faster than another one in most draws."""
    for name, others in chances.items():
        shares = [f"{other} in {percent(share)}" for other, share in others.items() if share and share > 1 / 2]
        if shares:
            yield f"{name} is faster than {', '.join(shares)} of draws"


def _of_all(estimates: Sequence[Mapping[str, Any]], key: str) -> list[str]:
    """The sentences of all estimates, each once."""
    return list(dict.fromkeys(sentence for estimate in estimates for sentence in estimate[key]))
