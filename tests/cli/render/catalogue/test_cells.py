"""Cells in the units of their columns, and the marks behind their numbers."""

from pathlib import Path

import pytest

from estimator.cli.render.catalogue import cells
from estimator.core.types import Sourced
from estimator.devices.specs.table.columns import DEVICES
from tests.cli.command_line import printed, run
from tests.cli.render.catalogue.conftest import TOY

BANDWIDTH, CAPACITY, RIDGE = (DEVICES.columns[n] for n in ("memory_bandwidth", "memory_capacity", "ridge_point_fp16"))


def number(value: float, unit: str, **more: str) -> Sourced:
    return Sourced(value=value, unit=unit, **{"source": "x", "status": "read", **more})


def test_a_column_title_has_the_unit_of_its_cells() -> None:
    assert cells.column_title(BANDWIDTH) == "memory_bandwidth [GB/s]"
    assert cells.column_title(DEVICES.columns["name"]) == "name"


@pytest.mark.parametrize(
    ("status", "waiver", "marks"),
    [("read", "", ""), ("recall", "", "?"), ("read", "why", "*"), ("recall", "why", "?*")],
)
def test_marks_of_cells(status: str, waiver: str, marks: str) -> None:
    cell = number(5e11, "B/s", status=status, **({"waiver": waiver} if waiver else {}))
    assert cells.mark(cell) == marks
    assert cells.marked_text(BANDWIDTH, cell) == f"500{marks}"
    assert cells.mark("text") == cells.mark(None) == ""


def test_texts_of_cells() -> None:
    assert cells.cell_text(RIDGE, number(138.888, "FLOP/B")) == "138.9"
    assert cells.cell_text(BANDWIDTH, None) == ""
    assert cells.cell_text(BANDWIDTH, "unsupported") == "none"
    assert cells.cell_text(DEVICES.columns["year"], 2017) == "2017"


def test_the_legend_counts_what_is_marked() -> None:
    assert printed(lambda: cells.print_legend(1234, 5, 0)).stdout.startswith(
        "5 of 1,234 numbers shown are unverified (?"
    )
    assert "; 2 waive a lint (*); none: no" in printed(lambda: cells.print_legend(9, 5, 2)).stdout


def test_marks_of_cells_in_a_comparison(toy: Path) -> None:
    (toy / "toy.yaml").write_text(TOY.replace("status: read", 'status: read, waiver: "plausible: it is so"'))
    shown = run("devices", "toy.yaml", "--columns", "fp32,bf16,memory_bandwidth,vendor").stdout
    values = {line.split()[0]: line.split()[2] for line in shown.splitlines() if "[" in line}
    assert values == {"fp32": "10?", "bf16": "none", "memory_bandwidth": "500*"}
    assert "1 of 2 numbers shown are unverified" in shown
    assert "1 waive a lint (*)" in shown
