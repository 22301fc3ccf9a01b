"""Columns, and the layout of a table."""

from typing import Any

import pytest

from estimator.core.errors import EstimatorError
from estimator.devices.specs.table.columns import DEVICES, SYSTEMS
from estimator.devices.specs.table.layout import PEAK, Column, Layout


@pytest.mark.parametrize("layout", [DEVICES, SYSTEMS], ids=lambda layout: str(layout.what))
def test_arithmetic_of_integers_is_in_operations(layout: Layout) -> None:
    for column in layout.columns.values():
        if "FLOP" in column.unit:
            integers = column.precision in ("int8", "int4")
            assert ("FLOP" in column.shown, "FLOP" in column.si) == (not integers, not integers)
            assert column.scale == layout.families()[column.family or column.name].scale
    assert layout.columns["int8"].shown in ("TOP/s", "POP/s")
    assert layout.families()["PRECISION"].shown in ("TFLOP/s", "PFLOP/s")


def column(name: str, **fields: Any) -> Column:
    return Column(name, "a meaning", lambda row: None, **fields)


COLUMNS = (
    column("name", unit="", kind="text"), column("aliases", unit="", kind="text"), column("size", unit="B"),
    column("fp32", unit="FLOP/s", family=PEAK, precision="fp32"),
    column("int8", unit="FLOP/s", family=PEAK, precision="int8"),
    column("fp32.vector", unit="FLOP/s", family="PRECISION.vector", precision="fp32"),
)  # fmt: skip
LAYOUT = Layout(
    "devices", "a remark", str, list, lambda name: (0, []), {each.name: each for each in COLUMNS}, ("name", "size")
)


@pytest.mark.parametrize(
    ("unit", "more", "shown", "scale", "si"),
    [
        ("FLOP/s", {}, "TFLOP/s", 1e12, "FLOP/s"), ("FLOP/s", {"precision": "int8"}, "TOP/s", 1e12, "OP/s"),
        ("FLOP/s", {"in_unit": "PFLOP/s"}, "PFLOP/s", 1e15, "FLOP/s"), ("s", {}, "µs", 1e-6, "s"),
        ("B", {}, "", 1.0, "B"), ("1", {}, "", 1.0, "1"), ("W", {"in_unit": "MW"}, "MW", 1e6, "W"),
    ],
)  # fmt: skip
def test_a_column_is_shown_in_the_usual_unit_of_its_si_unit(
    unit: str, more: dict[str, str], shown: str, scale: float, si: str
) -> None:
    """A size has no common unit: each cell keeps its own."""
    each = column("x", unit=unit, **more)
    assert (each.shown, each.scale, each.si) == (shown, scale, si)


def test_columns_that_exist_once_per_precision_are_one_family() -> None:
    assert list(LAYOUT.families()) == ["name", "aliases", "size", "PRECISION", "PRECISION.vector"]


def test_chosen_columns_stand_behind_the_name_once_each() -> None:
    assert [each.name for each in LAYOUT.choose(["size", " int8 ", "name", "size"])] == ["name", "size", "int8"]
    with pytest.raises(EstimatorError, match=r"Unknown column 'sice'\. Did you mean size\?"):
        LAYOUT.choose(["sice"])


def test_devices_are_compared_by_the_peaks_of_each_path() -> None:
    assert [each.name for each in LAYOUT.compared] == ["size", "fp32.vector"]
