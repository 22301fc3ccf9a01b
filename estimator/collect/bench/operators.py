"""The operators that are timed, from the project's one table of operators."""

from __future__ import annotations

import csv
from pathlib import Path

from estimator.collect.bench.types import Kernel, Row

TABLE = Path(__file__).parents[2] / "core" / "operators.csv"  # measure.py holds its rows


def _rows() -> list[Row]:
    """The rows of the table that a benchmark times, or that stand for a class of them."""
    with TABLE.open(encoding="utf-8", newline="") as file:
        return [row for row in csv.DictReader(file) if row["benchmark_kernel"]]


def _kernel(row: Row) -> Kernel:
    """What one call reads, writes and computes, by a row."""
    reads, writes, flop = (int(row[name]) for name in ("reads", "writes", "flop_per_element"))
    return Kernel(row["op_class"], reads, writes, flop, row["along"])


ROWS = _rows()
KERNELS = {row["operator"]: _kernel(row) for row in ROWS if row["benchmark_kernel"] == row["operator"] and row["reads"]}
STAND_INS = {
    row["operator"]: row["benchmark_kernel"] for row in ROWS if row["operator"] == row["op_class"] and row["reads"]
}
ON_IMAGES = {
    row["operator"]: (row["benchmark_kernel"], row["direction"])
    for row in ROWS if row["op_class"] in ("convolution", "pooling")
}  # fmt: skip
