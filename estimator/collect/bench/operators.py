"""The operators that are timed, from the project's one table of operators."""

from __future__ import annotations

import csv
from pathlib import Path

from estimator.collect.bench.types import Kernel, Row

TABLE = Path(__file__).parents[2] / "core" / "operators.csv"  # measure.py holds its rows


def _rows() -> list[Row]:
    """The rows of the table that a benchmark times, or has something that stands in for them."""
    with TABLE.open(encoding="utf-8", newline="") as file:
        return [row for row in csv.DictReader(file) if row["benchmark_kernel"]]


def _kernel(row: Row) -> Kernel:
    """What one call reads, writes and computes, by a row."""
    reads, writes, flop = (int(row[name]) for name in ("reads", "writes", "flop_per_element"))
    return Kernel(row["op_class"], reads, writes, flop, row["along"])


def _stand_ins(rows: list[Row]) -> dict[str, str]:
    """What is timed for a class, and for the operators of it that have a stand-in of their own."""
    classes = {row["op_class"]: row["benchmark_kernel"] for row in rows if row["operator"] == row["op_class"]}
    usual = {row["operator"]: (row["operator"], classes[row["op_class"]]) for row in rows}
    timed = {row["operator"]: row["benchmark_kernel"] for row in rows}
    return {**classes, **{name: kernel for name, kernel in timed.items() if kernel not in usual[name]}}


ROWS = _rows()
STREAMS = [row for row in ROWS if row["reads"]]
KERNELS = {row["operator"]: _kernel(row) for row in STREAMS if row["benchmark_kernel"] == row["operator"]}
STAND_INS = _stand_ins(STREAMS)
DIRECTIONS = {row["operator"]: row["direction"] for row in ROWS if row["op_class"] in ("convolution", "pooling")}
