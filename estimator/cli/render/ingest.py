"""The printed output of ``estimator ingest``: the op types and the ops that make up most of a profile's time."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

from estimator.cli import terminal
from estimator.cli.terminal import Table, Text
from estimator.core import units
from estimator.reports.summaries import of_all_blocks
from estimator.reports.text import format_time, shorten

SPARE = ("class", "phase", "calls", "m", "n", "k", "FLOP", "bytes", "counted from")  # left out on a narrow terminal
OF_ONE_KIND, SUMMED = ("op_class", "phase", "m", "n", "k", "work_source"), ("calls", "flop", "bytes", "time_s")
SHOWN_PARTS = {"wall": "wall_step_s", "busy": "busy_step_s", "idle": "idle_s", "input": "input_s"}  # of a step


def render_shipped_profiles(document: Mapping[str, Any]) -> None:
    """The shipped profiles in one table."""
    table = terminal.new_table("Shipped profiles", "profile", "what it is", "default dump")
    for name, profile in document.items():
        table.add_row(name, profile["title"] or "", profile["default_profile"] or "")
    terminal.print_table(table)


def render_ingest(document: Mapping[str, Any], top: float) -> None:
    """A profile: its facts, its op types, and its ops up to the ``top`` share of the time."""
    console = terminal.console()
    console.print(Text(document["format"], "bold"), f", {_totals(document)}{_facts(document)}", sep="")
    if document["wall_step_s"] is not None:
        parts = (f"{name} {format_time(document[key] or 0)}" for name, key in SHOWN_PARTS.items())
        console.print("step:", ", ".join(parts))
    if document["top"]:
        terminal.print_table(_op_types(document["top"]))
    terminal.print_table(_ops(document["ops"], "time_s" if document["op_time_s"] else "flop", top))
    terminal.print_warnings(document["warnings"])


def _totals(document: Mapping[str, Any]) -> str:
    steps = f"{document['steps']} {units.plural('step', document['steps'])}"
    several, whole = document["ranks"] > 1, document["world_size"] or 1
    ranks = f" of {document['ranks']} ranks" if several else ""
    ranks = f"{ranks or ' of 1 rank'} of {whole}" if whole > document["ranks"] else ranks
    flop = units.show(document["matrix_flop"], "FLOP", 4)
    ran = f"{format_time(document['op_time_s'])} in ops per step over {steps}{ranks}"
    return f"{ran if document['op_time_s'] else 'nothing ran'}, {flop} in matrix products"


def _facts(document: Mapping[str, Any]) -> str:
    """What else is known of the run, each fact behind a comma."""
    mode = document["mode"] if document["mode"] != "training" else None
    coverage = units.percent(document["coverage"], 3) if document["coverage"] is not None else None
    facts = {"mode": mode, "batch": document["batch_size"], "device": document["device"], "coverage": coverage}
    return "".join(f", {name} {value}" for name, value in facts.items() if value is not None)


def _op_types(rows: Sequence[Sequence[Any]]) -> Table:
    numbers = ("time", "share", "cumulative")
    table = terminal.new_table("Top op types", "op type", *numbers, right=numbers)
    for op_type, seconds, share, cumulative in rows:
        table.add_row(op_type, format_time(seconds), f"{100 * share:.2f} %", f"{100 * cumulative:.2f} %")
    return table


def _ops(ops: Sequence[Mapping[str, Any]], by: str, top: float) -> Table:
    """The largest ops up to a share of the time, or of the FLOP where nothing ran; how many other ops there are.

    Ops of the repeated blocks of a model are one row.
    """
    ops = of_all_blocks([op if op["block"] is None else {**op, "calls": 1} for op in ops], OF_ONE_KIND, SUMMED)
    largest = sorted(ops, key=lambda op: -(op[by] or 0.0))
    cumulative = [*itertools.accumulate(op[by] or 0.0 for op in largest)]
    shown = largest[: 1 + sum(amount < top * cumulative[-1] for amount in cumulative)]
    rest, what = len(ops) - len(shown), "time" if by == "time_s" else "FLOP"
    title = f"Ops up to {units.percent(top)} of the {what}; {rest} more: --top 1, --csv or --json" if rest else "Ops"
    numbers = ("calls", "m", "n", "k", "FLOP", "bytes", "time")
    table = terminal.new_table(title, "op", "class", "phase", *numbers, "counted from", right=numbers, spare=SPARE)
    for op in shown:
        table.add_row(*_op_cells(op))
    return table


def _op_cells(op: Mapping[str, Any]) -> list[str]:
    calls = f"{op['calls']:g}" if op["calls"] is not None else ""
    sizes = [str(op[name]) if op[name] is not None else "" for name in ("m", "n", "k")]
    work = [units.show(op[n], u, 4) if op[n] is not None else "" for n, u in (("flop", "FLOP"), ("bytes", "B"))]
    numbers = (calls, *sizes, *work, format_time(op["time_s"] or None))
    return [shorten(op["op"]), op["op_class"], op["phase"] or "", *numbers, op["work_source"] or ""]
