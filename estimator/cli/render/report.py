"""The printed output of ``estimator report``: the files, and the steps of published tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from estimator.cli import terminal
from estimator.cli.render.written import render_written
from estimator.cli.terminal import Table
from estimator.reports.text import format_time

NUMBERS = ("printed", "step of it", "predicted", "low", "high", "off")


def render_report(document: Mapping[str, Any]) -> None:
    """The path of each file; a table of the steps that printed times imply, where there are any."""
    render_written(document)
    if document["steps"]:
        terminal.print_table(_steps(document["steps"]))


def _steps(steps: Sequence[Mapping[str, Any]]) -> Table:
    """Each implied step, the predicted step, and whether its interval holds the implied one."""
    held = sum(bool(step["step_holds"]) for step in steps)
    title = f"Steps of printed times, and as predicted; {held} of {len(steps)} intervals hold them"
    table = terminal.new_table(title, "row", "on", *NUMBERS, "inside", right=NUMBERS)
    for step in steps:
        ours, implied_s = step["predicted_step_s"], step["implied_step_s"]
        times = (format_time(value) for value in (implied_s, ours["mid"], ours["low"], ours["high"]))
        inside = {True: "yes", False: "no", None: "–"}[step["step_holds"]]
        off = f"{100 * (ours['mid'] / implied_s - 1):+.0f} %"
        table.add_row(step["unit"], step["on"], step["as_printed"], *times, off, inside)
    return table
