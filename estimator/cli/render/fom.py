"""The printed output of ``estimator fom``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from estimator.cli import terminal
from estimator.cli.render.text import assumptions_note, format_interval
from estimator.cli.terminal import Table, Text

THRESHOLD = {True: "met", False: "not met", None: "none"}


def render_fom(document: Mapping[str, Any], title: str) -> None:
    """The figures of merit of the study of this title, and the units of work that they are made of."""
    definition = f"\n{document['definition']}, over {document['baseline']}, system level"
    terminal.console().print(Text(title, "bold"), definition, sep="")
    terminal.print_table(_targets(document["targets"]))
    terminal.print_table(_units(document["targets"]))
    if document["assumptions"]:
        terminal.print_notes([assumptions_note(document["assumptions"], "report")], "cyan")
    terminal.print_notes(document["warnings"])


def _targets(targets: Mapping[str, Any]) -> Table:
    table = terminal.new_table("", "target", "figure of merit", "threshold", "dominant unit")
    for name, target in targets.items():
        share = target["p_threshold"]
        draws = f", {100 * share:.0f} % of draws" if share is not None else ""
        threshold = f"{THRESHOLD[target['meets_threshold']]}{draws}"
        table.add_row(name, format_interval(target["fom"], "1"), threshold, target["dominant_unit"])
    return table


def _units(targets: Mapping[str, Any]) -> Table:
    table = terminal.new_table("", "target", "unit", "time per unit", "units per day", "ratio")
    for name, target in targets.items():
        for unit, numbers in target["units"].items():
            time = f"{format_interval(numbers['time_per_unit_s'])} per {numbers['time_level']}"
            rates = (format_interval(numbers[key], "1") for key in ("units_per_day", "ratio"))
            table.add_row(name, unit, time, *rates)
    return table
