"""The printed output of ``estimator fom``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from estimator.cli import terminal
from estimator.cli.render.presets import describe
from estimator.cli.render.text import assumptions_note, format_interval, format_time
from estimator.cli.terminal import Table, Text

APART = {
    "fom_with_algorithm": "with the algorithmic factors declared, which are no hardware",
    "fom_committed": "by the committed times",
}
RATIOS = {"ratio_per_worker": "ratio, worker", "ratio_per_node": "ratio, node", "ratio": "ratio, system"}
THRESHOLD = {True: "met", False: "not met", None: "none"}
RATES = "units_per_day", *RATIOS


def render_fom(document: Mapping[str, Any], title: str) -> None:
    """The figures of merit of the study of this title, and the units of work that they are made of."""
    definition = f"\n{document['definition']}, over {document['baseline']}, {document['level']} level"
    terminal.console().print(Text(title, "bold"), definition, sep="")
    if document["preset"]:
        terminal.console().print(describe(document["preset"]))
    terminal.print_table(_targets(document["targets"]))
    terminal.print_table(_units(document["targets"]))
    for sentence in apart(document["targets"]):
        terminal.console().print(sentence)
    if document.get("campaigns"):
        terminal.print_table(_campaigns(document["campaigns"]))
    if document["assumptions"]:
        terminal.print_notes([assumptions_note(document["assumptions"], "report")], "cyan")
    terminal.print_notes(_refusals(document))
    terminal.print_notes(document["warnings"])


def apart(targets: Mapping[str, Any]) -> Iterator[str]:
    """What is printed below the figures: the machines' own means, classes, commitments, algorithmic factors."""
    means = {name: mean for target in targets.values() for name, mean in target["means"].items()}
    unit = next((target["means_unit"] for target in targets.values() if target["means"]), None)
    if means:
        shown = ", ".join(f"{name} {show_mean(mean, unit)}" for name, mean in means.items())
        yield f"own means: {shown}"
    for name, target in targets.items():
        for key, what in APART.items():
            if target[key] is not None:
                yield f"{name}, {what}: {format_interval(target[key], '1')}"
        for group, figure in target["groups"].items():
            yield f"{name}, {group} alone: {figure:.6g}"
        for of, numbers in target["units"].items():
            if numbers["committed_s"] is not None and numbers["projected_over_committed"] is not None:
                time, over = format_time(numbers["committed_s"]), numbers["projected_over_committed"]
                yield f"{name}, {of}: committed {time}, projected / committed rate {over:.4g}"


def show_mean(mean: Mapping[str, Any], unit: str | None) -> str:
    """A machine's own mean with its unit."""
    return format_interval(mean) if unit == "s" else f"{format_interval(mean, '1')} {unit}"


def _targets(targets: Mapping[str, Any]) -> Table:
    table = terminal.new_table("", "target", "figure of merit", "threshold", "dominant unit")
    for name, target in targets.items():
        if target["fom"] is None:
            table.add_row(name, "none: a unit cannot run", "–", "–")
            continue
        share = target["p_threshold"]
        draws = f", {100 * share:.0f} % of draws" if share is not None else ""
        threshold = f"{THRESHOLD[target['meets_threshold']]}{draws}"
        table.add_row(name, format_interval(target["fom"], "1"), threshold, target["dominant_unit"])
    return table


def _units(targets: Mapping[str, Any]) -> Table:
    table = terminal.new_table("", "target", "unit", "time per unit", "units per day", *RATIOS.values())
    for name, target in targets.items():
        for unit, numbers in target["units"].items():
            table.add_row(name, unit, *_cells(numbers))
    return table


def _campaigns(campaigns: Mapping[str, Any]) -> Table:
    """The campaign of all counted units on each machine, the baseline among them."""
    table = terminal.new_table("", "machine", "campaign", "campaigns per day", "ratio")
    for name, found in campaigns.items():
        if found is None:
            table.add_row(name, "cannot run all of its units", "–", "–")
            continue
        ratio = "–" if found["ratio"] is None else format_interval(found["ratio"], "1")
        table.add_row(name, format_interval(found["time_s"]), format_interval(found["campaigns_per_day"], "1"), ratio)
    return table


def _cells(numbers: Mapping[str, Any]) -> list[str]:
    """The cells of one unit on one machine; what is refused says why in a note."""
    if numbers["refused"]:
        return ["does not fit" if numbers["fits"] is False else "cannot run", *("–" for _ in RATES)]
    time = f"{format_interval(numbers['time_per_unit_s'])} per {numbers['time_level']}"
    return [time, *("–" if numbers[key] is None else format_interval(numbers[key], "1") for key in RATES)]


def _refusals(document: Mapping[str, Any]) -> list[str]:
    """Why units cannot run on machines, the baseline among them."""
    of_machines = {document["baseline"]: document.get("baseline_units", {})}
    of_machines |= {name: target["units"] for name, target in document["targets"].items()}
    cells = ((name, unit, cell["refused"]) for name, units in of_machines.items() for unit, cell in units.items())
    return [f"{unit} on {name}: {why}" for name, unit, why in cells if why]
