"""What the commands print: rich tables for people on a terminal, one JSON document for programs."""

from __future__ import annotations

import itertools
import math
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.table import Table
from rich.text import Text

from estimator.cli import terminal
from estimator.core import units
from estimator.core.shape_words import words
from estimator.core.types import Workload
from estimator.reports import documents

if TYPE_CHECKING:
    import pandas as pd

LONGEST_NAME = 44  # of an op on the terminal


def time(seconds: float | None) -> str:
    """A time to four digits, or a dash."""
    return "–" if seconds is None else units.show(seconds, "s", 4)


def interval(found: Mapping[str, Any], unit: str = "s") -> str:
    """``mid (low – high)``, the bracket only where something was uncertain."""
    return units.show_interval(found["low"], found["mid"], found["high"], unit)


def profiles(shipped: Mapping[str, Workload], as_json: bool) -> None:
    """The shipped profiles."""
    if as_json:
        terminal.json({name: {"title": w.title, "default_profile": w.default_profile} for name, w in shipped.items()})
        return
    table = terminal.table("Shipped profiles", "profile", "what it is", "default dump")
    for name, workload in shipped.items():
        table.add_row(name, workload.title or "", workload.default_profile or "")
    terminal.show(table)


def captured(document: Mapping[str, Any], as_json: bool) -> None:
    """A capture: where it lies, and the step's time with and without the profiler."""
    if as_json:
        terminal.json(document)
        return
    console = terminal.console()
    timed = f"{interval(document['wall_step_s'])} over {document['repeats']} steps after {document['warmup']} warm-up"
    cost = f"{time(document['profiled_step_s'])} in {document['steps']} profiled ones ({document['overhead']:+.1%})"
    console.print(f"step {timed}, {cost}; batch {document['batch_size']}")
    console.print(Text(str(document["folder"]), "bold"), ": see estimator ingest", sep="")
    terminal.notes(document["warnings"])


def ingest(document: Mapping[str, Any], top: float, as_json: bool) -> None:
    """A profile: the op types and the ops that make up the ``top`` share of the time."""
    if as_json:
        terminal.json(document)
        return
    console = terminal.console()
    covered = f"{document['coverage']:.1%}" if document["coverage"] is not None else None
    mode = document["mode"] if document["mode"] != "training" else None
    known = {"mode": mode, "batch": document["batch_size"], "device": document["device"], "coverage": covered}
    facts = "".join(f", {name} {value}" for name, value in known.items() if value is not None)
    flop = units.show(document["matrix_flop"], "FLOP", 4)
    over = f"{document['steps']} step{'s' * (document['steps'] > 1)}"
    over += f" of {document['ranks']} ranks" if document["ranks"] > 1 else ""
    ops = f"{time(document['op_time_s'])} in ops per step over {over}, {flop} in matrix products"
    console.print(Text(document["format"], "bold"), f", {ops}{facts}", sep="")
    parts = {"wall": "wall_step_s", "busy": "busy_step_s", "idle": "idle_s", "input": "input_s"}
    if document["wall_step_s"] is not None:
        console.print("step:", ", ".join(f"{name} {time(document[key] or 0)}" for name, key in parts.items()))
    table = terminal.table(
        "Top op types", "op type", "time", "share", "cumulative", right=("time", "share", "cumulative")
    )
    for op_type, seconds, share, cumulative in document["top"]:
        table.add_row(op_type, time(seconds), f"{100 * share:.2f} %", f"{100 * cumulative:.2f} %")
    terminal.show(table)
    terminal.show(_op_table(document["ops"], document["op_time_s"], top))
    terminal.notes(document["warnings"])


def _op_table(ops: Sequence[Mapping[str, Any]], total_s: float, top: float) -> Table:
    """The longest ops up to a share of the time, and how many there are beside them."""
    right = ("calls", "m", "n", "k", "FLOP", "bytes", "time")
    names = ("op", "class", "phase", *right, "counted from")
    longest = sorted(ops, key=lambda op: -op["time_s"])
    reached = list(itertools.accumulate(op["time_s"] for op in longest))
    shown = longest[: 1 + sum(time_s < top * total_s for time_s in reached)]
    rest = len(ops) - len(shown)
    title = f"Ops up to {top:.0%} of the time; {rest} more: --top 1, --csv or --json" if rest else "Ops"
    table = terminal.table(title, *names, right=right)
    for op in shown:
        dims = [str(op[name]) if op[name] is not None else "" for name in ("m", "n", "k")]
        calls = f"{op['calls']:g}" if op["calls"] is not None else ""
        counts = [units.show(op[n], u, 4) if op[n] is not None else "" for n, u in (("flop", "FLOP"), ("bytes", "B"))]
        phase, source = op["phase"] or "", op["work_source"] or ""
        table.add_row(_short(op["op"]), op["op_class"], phase, calls, *dims, *counts, time(op["time_s"]), source)
    return table


def _short(name: str) -> str:
    """A name that leaves room for the other columns: its end tells more than its beginning."""
    return name if len(name) <= LONGEST_NAME else f"…{name[1 - LONGEST_NAME :]}"


def shapes(rows: pd.DataFrame, device: str, assumptions: Sequence[str], as_json: bool) -> None:
    """The predicted time of each shape."""
    if as_json:
        found = documents.rows(rows, list(rows.columns))
        terminal.json({"target": device, "rows": found, "assumptions": list(assumptions)})
        return
    table = terminal.table(
        f"One call on {device}, with 90 % intervals", "op class", "precision", "shape", "time", "bound", "method"
    )
    for row in documents.rows(rows, list(rows.columns)):
        ends = {"low": row["low_s"], "mid": row["time_s"], "high": row["high_s"]}
        times = "–" if row["time_s"] is None else interval(ends)
        table.add_row(
            row["op_class"], row["precision"], words(row), times, row["bound"] or "", row["method"] or "nothing known"
        )
    terminal.show(table)
    terminal.notes(assumptions, "cyan")


def estimate(document: Mapping[str, Any], as_json: bool) -> None:
    """One profile on one device."""
    if as_json:
        terminal.json(document)
        return
    console = terminal.console()
    name = Text(document["workload"], "bold")
    mode = "inference, " if document["mode"] == "inference" else ""
    ran = f"{mode}batch {document['batch_size']}, " if document["batch_size"] else mode
    console.print(name, f" on {document['target']}, {ran}{document['precision']}, per device", sep="")
    table = terminal.table("", "figure", "value")
    table.add_row("step time (90 % interval of inputs and models)", interval(document["step_s"]))
    table.add_row("matrix products alone", interval(document["matrix_only_step_s"]))
    if not math.isnan(document["source_step_s"]):
        table.add_row(f"step time on {document['source'] or 'the source'}", time(document["source_step_s"]))
        table.add_row("speedup", interval(document["speedup"], "1"))
    bound = document["bound_s"]
    table.add_row("physical floor – ceiling", f"{time(bound['floor'])} – {time(bound['ceiling'])}")
    table.add_row("parts", ", ".join(f"{n} {time(v)}" for n, v in document["components_s"].items() if v))
    table.add_row("evidence", ", ".join(f"{m} {100 * s:.0f} %" for m, s in document["evidence"].items()))
    behind = document["specifications"]
    table.add_row("numbers of the catalogue behind it", f"{behind['used']}, {behind['unverified']} of them unverified")
    table.add_row("share of the source's step that is modelled", f"{100 * document['coverage']:.1f} %")
    terminal.show(table)
    headings, right = ("op", "class", "on source", "on target", "bound", "method"), ("on source", "on target")
    ops = terminal.table("Ops by time on the target", *headings, right=right, folds=True)
    for op in sorted(document["ops"], key=lambda op: -(op["target_time_s"] or 0))[:12]:
        times = time(op["time_s"]), time(op["target_time_s"])
        ops.add_row(_short(op["op"]), op["op_class"], *times, op["bound"] or "", op["method"] or "")
    terminal.show(ops)
    terminal.notes(document["assumptions"], "cyan")
    terminal.notes(document["warnings"])


def compare(found: Sequence[Mapping[str, Any]], as_json: bool) -> None:
    """Estimates side by side, one row each."""
    if as_json:
        terminal.json({"estimates": list(found)})
        return
    table = terminal.table(
        "Per device", "workload", "batch", "target", "step time", "speedup", "matrix products alone", "evidence"
    )
    for document in found:
        shares = ", ".join(f"{m} {100 * s:.0f} %" for m, s in document["evidence"].items())
        faster = "–" if math.isnan(document["source_step_s"]) else interval(document["speedup"], "1")
        times = (interval(document["step_s"]), faster, interval(document["matrix_only_step_s"]))
        workload = document["workload"] + ", inference" * (document["mode"] == "inference")
        table.add_row(workload, str(document["batch_size"] or "–"), document["target"], *times, shares)
    terminal.show(table)
    terminal.notes([_doubts([a for document in found for a in document["assumptions"]], "estimate")], "cyan")
    terminal.notes(list(dict.fromkeys(w for document in found for w in document["warnings"])))


def _doubts(assumptions: Sequence[str], command: str) -> str:
    return f"{len(set(assumptions))} assumptions lie behind these figures; 'estimator {command}' lists them"


def figures_of_merit(document: Mapping[str, Any], title: str, as_json: bool) -> None:
    """The figures of merit of a study and the units they are made of."""
    if as_json:
        terminal.json(document)
        return
    console = terminal.console()
    console.print(Text(title, "bold"), f"\n{document['definition']}, over {document['baseline']}, system level", sep="")
    table = terminal.table("", "target", "figure of merit", "threshold", "dominant unit")
    units_table = terminal.table("", "target", "unit", "time per unit", "units per day", "ratio")
    for name, target in document["targets"].items():
        met = {True: "met", False: "not met", None: "none"}[target["meets_threshold"]]
        chance = target["p_threshold"]
        met += f", {100 * chance:.0f} % of draws" if chance is not None else ""
        table.add_row(name, interval(target["fom"], "1"), met, target["dominant_unit"])
        for unit, found in target["units"].items():
            per_unit = f"{interval(found['time_per_unit_s'])} per {found['time_level']}"
            rate = interval(found["units_per_day"], "1")
            units_table.add_row(name, unit, per_unit, rate, interval(found["ratio"], "1"))
    terminal.show(table)
    terminal.show(units_table)
    if document["assumptions"]:
        terminal.notes([_doubts(document["assumptions"], "report")], "cyan")
    terminal.notes(document["warnings"])


def written(paths: Sequence[Path], as_json: bool) -> None:
    """Where files were written."""
    if as_json:
        terminal.json({"written": [str(path) for path in paths]})
        return
    for path in paths:
        sys.stdout.write(f"wrote {path}\n")
