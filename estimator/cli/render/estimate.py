"""The printed output of ``estimator estimate``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from estimator.cli import terminal
from estimator.cli.render.text import format_evidence, format_interval, format_time, is_known, shorten
from estimator.cli.terminal import Table, Text

OPS_SHOWN = 12


def render_estimate(document: Mapping[str, Any]) -> None:
    """One profile on one device: the step with its parts, and the longest ops."""
    mode = "inference, " if document["mode"] == "inference" else ""
    batch = f"batch {document['batch_size']}, " if document["batch_size"] else ""
    run = f" on {document['target']}, {mode}{batch}{document['precision']}, per device"
    terminal.console().print(Text(document["workload"], "bold"), run, sep="")
    terminal.print_table(_step(document))
    terminal.print_table(_ops(document["ops"]))
    terminal.print_notes(document["assumptions"], "cyan")
    terminal.print_notes(document["warnings"])


def _step(document: Mapping[str, Any]) -> Table:
    table = terminal.new_table("", "figure", "value (90 % interval)")
    for figure, value in _figures(document):
        table.add_row(figure, value)
    return table


def _figures(document: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Each figure of a step and its value in words."""
    scenario = f"host: {document['host']}, input: {document['input']}"
    yield f"step time ({scenario})", format_interval(document["step_s"])
    yield "kernels alone", format_interval(document["kernels_s"])
    yield "matrix products alone", format_interval(document["matrix_only_step_s"])
    if is_known(document["source_step_s"]):
        yield f"step time on {document['source'] or 'the source'}", format_time(document["source_step_s"])
        yield "speedup", format_interval(document["speedup"], "1")
    floor, ceiling = (format_time(document["bound_s"][name]) for name in ("floor", "ceiling"))
    yield "physical floor – ceiling", f"{floor} – {ceiling}"
    yield "parts", ", ".join(f"{name} {format_time(s)}" for name, s in document["components_s"].items() if s)
    if document["power_w"]:
        power, energy = format_interval(document["power_w"], "W"), format_interval(document["energy_j_per_step"], "J")
        yield "mean power of the device, energy of a step", f"{power}, {energy}"
    yield "evidence, shares of the critical path", format_evidence(document["evidence"])
    numbers = document["specifications"]
    yield "numbers of the catalogue behind it", f"{numbers['used']}, {numbers['unverified']} of them unverified"
    if is_known(document["coverage"]):
        yield "share of the source's step that is modelled", f"{100 * document['coverage']:.1f} %"


def _ops(ops: Sequence[Mapping[str, Any]]) -> Table:
    times = ("on source", "on target")
    headings = ("op", "class", *times, "bound", "method")
    table = terminal.new_table("Ops by time on the target", *headings, right=times, folds=True)
    for op in sorted(ops, key=lambda op: -(op["target_time_s"] or 0))[:OPS_SHOWN]:
        seconds = format_time(op["time_s"] or None), format_time(op["target_time_s"])
        table.add_row(shorten(op["op"]), op["op_class"], *seconds, op["bound"] or "", op["method"] or "")
    return table
