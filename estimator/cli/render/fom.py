"""The printed output of ``estimator fom``."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from estimator.cli import terminal
from estimator.cli.render.presets import describe
from estimator.cli.render.text import assumption_notes
from estimator.cli.terminal import Text
from estimator.reports import summaries
from estimator.reports.text import format_interval, format_time

OTHER_FIGURES = {  # of a target, in addition to its figure of merit
    "fom_with_algorithm": "with the algorithmic factors declared, which are no hardware",
    "fom_committed": "by the committed times",
}


def render_fom(document: Mapping[str, Any], title: str) -> None:
    """The figures of merit of the study of this title, and the units of work that they are made of."""
    definition = f"\n{document['definition']}, over {document['baseline']}, {document['level']} level"
    terminal.console().print(Text(title, "bold"), definition, sep="")
    if document["preset"]:
        terminal.console().print(describe(document["preset"]))
    terminal.print_summary(summaries.merit_table(document))
    whole = summaries.units_table(document)
    for table in [whole] if terminal.has_room(whole) else summaries.units_apart(document):
        terminal.print_summary(table)
    if expenses := summaries.expenses_table(document):
        terminal.print_summary(expenses)
    for sentence in other_figures(document["targets"]):
        terminal.console().print(sentence)
    if document.get("campaigns"):
        terminal.print_summary(summaries.campaigns_table(document["campaigns"]))
    terminal.print_warnings(summaries.refusals(document))
    terminal.print_warnings(with_places(document["warnings"], document["warned_on"]))
    notes = assumption_notes(document["assumptions"], "report", document["left_open"])
    terminal.print_notes(with_places(notes, document["left_open_on"]))


def with_places(sentences: Iterable[str], places: Mapping[str, Sequence[str]]) -> list[str]:
    """Sentences, each with the machines and units on which it holds, where these are known."""
    return [f"{text} ({', '.join(places[text])})" if text in places else text for text in sentences]


def other_figures(targets: Mapping[str, Any]) -> Iterator[str]:
    """What is printed below the figures: the machines' own means, classes, commitments, algorithmic factors."""
    means = {name: mean for target in targets.values() for name, mean in target["means"].items()}
    unit = next((target["means_unit"] for target in targets.values() if target["means"]), None)
    if means:
        shown = ", ".join(f"{name} {show_mean(mean, unit)}" for name, mean in means.items())
        yield f"each machine's mean: {shown}"
    for name, target in targets.items():
        for key, what in OTHER_FIGURES.items():
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
