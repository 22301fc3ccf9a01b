"""Reader of tfprof's text views that are trees of ops: the scope view and the graph view.

A line is ``name (self/total, self/total, …)`` in the columns of the header line; an op's own time is its self part.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import pandas as pd

from estimator.core.errors import EstimatorError
from estimator.core.types import Profile, Workload
from estimator.profiles import canonical, phases
from estimator.profiles.dump import Dump, decode_head
from estimator.profiles.modes import UNLISTED
from estimator.profiles.tfprof import names
from estimator.profiles.tfprof.names import BYTES, COUNT, ROOT, SECONDS

FORMAT = "tfprof text (scope view, graph view)"
VIEWS = False

HEADER = "node name |"
ADVICE = re.compile(r"\s*checkers \{")
CODE = re.compile(r"\.py:\d+:|^code: ")
NODE = re.compile(r"^\s*(?P<op>\S.*?) \((?P<values>[^()]*)\)\s*$")
AMOUNT = re.compile(r"(\d+(?:\.\d+)?)([A-Za-z]*)")
COLUMNS = {
    "total execution time": ("time_s", SECONDS),
    "requested bytes": ("reported_bytes", BYTES),
    "# float_ops": ("reported_flop", COUNT),
}
NO_SHAPES = "this view has no shapes: matrix products stay unknown unless graph.csv beside it has them"
LISTED = 0.99  # least share of the root's time for which the lines count as complete


def recognises(head: bytes) -> bool:
    """Whether the content is a tree of tfprof, or its advice."""
    text = decode_head(head) or ""
    return ADVICE.match(text) is not None or any(line.startswith(f"{ROOT} (") for line in text.splitlines()[:200])


def read(dumps: list[Dump], workload: Workload) -> Profile:
    """Read one view. Raises EstimatorError that names the line at fault, or the view to make instead."""
    where = str(dumps[0])
    lines = dumps[0].text().splitlines()
    _refuse_other_views(lines, where)
    total, rows = _nodes(lines, where)
    listed = sum(float(str(row["time_s"])) for row in rows)
    if listed < LISTED * total:
        rows.append({"op": UNLISTED, "time_s": total - listed})
    table = pd.DataFrame(rows, columns=["op", *dict(COLUMNS.values())]).astype({"op": "string[python]"})
    table["op_type"] = names.op_types(table["op"])
    ops = phases.fill(canonical.to_ops(table, where))
    warnings = (NO_SHAPES, names.TYPES_FROM_NAMES, *names.warn_missing_updates(ops))
    return Profile(
        ops=ops, workload=names.as_profiled(workload, ops), device=None, format="tfprof tree", warnings=warnings
    )


def _refuse_other_views(lines: Sequence[str], where: str) -> None:
    make = "make the op view with input_shapes: tfprof> op -select micros,bytes,occurrence,input_shapes"
    if lines and ADVICE.match(lines[0]):
        raise EstimatorError(f"{where}: this is tfprof's advice, which lists the largest ops only; {make}")
    if any(CODE.search(line) for line in lines):
        raise EstimatorError(f"{where}: this is tfprof's code view, whose lines are of Python, not ops; {make}")


def _nodes(lines: Sequence[str], where: str) -> tuple[float, list[dict[str, object]]]:
    """The root's total time [s], and a row for each node with self time."""
    start, columns = _header(lines, where)
    total, rows = 0.0, {}
    for number, line in enumerate(lines[start:], start=start + 1):
        if line.strip():
            op, cells = _cells(line, columns, f"{where}:{number}")
            if op == ROOT:
                total = _amount(cells["total execution time"][1], "total execution time", f"{where}:{number}") or 0.0
            else:  # a graph view may repeat a node below each node that takes its result
                rows[op] = {"op": op, **_row(cells, f"{where}:{number}")}
    return total, [row for row in rows.values() if row["time_s"]]


def _header(lines: Sequence[str], where: str) -> tuple[int, list[str]]:
    """The line at which the nodes start, and the columns' names."""
    at = next((i for i, line in enumerate(lines) if line.startswith(HEADER)), None)
    columns = [] if at is None else [name.strip() for name in lines[at].split("|")][1:]
    if at is None or "total execution time" not in columns:
        listed = ", ".join(columns) or "no header line"
        raise EstimatorError(
            f"{where}: expected a column 'total execution time', found {listed}; select micros in tfprof"
        )
    return at + 1, columns


def _cells(line: str, columns: Sequence[str], where: str) -> tuple[str, dict[str, tuple[str, str]]]:
    """A node's name, and its self and total amounts by column."""
    match = NODE.match(line)
    values = [value.split("/") for value in match["values"].split(", ")] if match else []
    if not match or len(values) != len(columns) or any(len(value) != 2 for value in values):
        raise EstimatorError(f"{where}: expected 'name (self/total, …)' in {len(columns)} columns, found another line")
    return match["op"], {name: (own, total) for name, (own, total) in zip(columns, values, strict=True)}


def _row(cells: dict[str, tuple[str, str]], where: str) -> dict[str, object]:
    return {COLUMNS[name][0]: _amount(cells[name][0], name, where) for name in cells if name in COLUMNS}


def _amount(text: str, column: str, where: str) -> float | None:
    """A printed amount in SI units; None for 0, which tfprof prints for unknown amounts as well."""
    match = AMOUNT.fullmatch(text.removesuffix(" flops"))
    units = COLUMNS[column][1]
    if not match or match[2] not in units:
        raise EstimatorError(
            f"{where}: {column} is '{text}'; expected a number with one of the units {', '.join(units)}"
        )
    return float(match[1]) * units[match[2]] or None
