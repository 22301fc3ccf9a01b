"""The printed output of ``estimator estimate``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from estimator.cli import terminal
from estimator.cli.terminal import Text
from estimator.reports import summaries


def render_estimate(document: Mapping[str, Any]) -> None:
    """One profile on one device: the step with its parts, and the longest ops."""
    terminal.console().print(Text(document["workload"], "bold"), summaries.run_of(document))
    terminal.print_summary(summaries.step_table(document))
    terminal.print_summary(summaries.ops_table(document["ops"]))
    terminal.print_warnings(document["warnings"])
    terminal.print_notes(document["assumptions"])
