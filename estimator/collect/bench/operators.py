"""The timed operators, from the project's table of operators."""

from __future__ import annotations

import csv
from pathlib import Path

from estimator.collect.bench.types import Kernel, Row

TABLE = Path(__file__).parents[2] / "core" / "operators.csv"  # measure.py contains its rows


def _rows() -> list[Row]:
    """The rows of the table with a benchmark kernel."""
    with TABLE.open(encoding="utf-8", newline="") as file:
        return [row for row in csv.DictReader(file) if row["benchmark_kernel"]]


def _kernel(row: Row) -> Kernel:
    """The kernel of a row: tensors read and written, and FLOP of one call."""
    reads, writes, flop = (int(row[name]) for name in ("reads", "writes", "flop_per_element"))
    return Kernel(row["op_class"], reads, writes, flop, row["along"])


def _stand_ins(rows: list[Row]) -> dict[str, str]:
    """The kernel timed for a class, and for operators with their own stand-in."""
    classes = {row["op_class"]: row["benchmark_kernel"] for row in rows if row["operator"] == row["op_class"]}
    defaults = {row["operator"]: (row["operator"], classes[row["op_class"]]) for row in rows}
    benchmark_kernels = {row["operator"]: row["benchmark_kernel"] for row in rows}
    return {**classes, **{name: kernel for name, kernel in benchmark_kernels.items() if kernel not in defaults[name]}}


ROWS = _rows()
STREAMS = [row for row in ROWS if row["reads"]]
KERNELS = {row["operator"]: _kernel(row) for row in STREAMS if row["benchmark_kernel"] == row["operator"]}
STAND_INS = _stand_ins(STREAMS)
DIRECTIONS = {row["operator"]: row["direction"] for row in ROWS if row["op_class"] in ("convolution", "pooling")}
