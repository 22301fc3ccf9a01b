import csv
import io
import itertools
import operator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from estimator.core.types import DeviceSpec, Sourced
from estimator.devices.specs.table import rows as rows_of
from estimator.devices.specs.table.cells import value
from estimator.devices.specs.table.columns import DEVICES
from estimator.devices.specs.table.layout import Column
from tests.conftest import make_device
from tests.devices.specs.table.strategies import devices


@given(devices(), st.sampled_from(["bf16", "vendor", "year", "memory_bandwidth"]), st.booleans())
def test_sorting_is_stable_with_missing_values_last(rows: list[DeviceSpec], name: str, descending: bool) -> None:
    column = DEVICES.columns[name]
    ordered = rows_of.arrange(rows, column, descending=descending)
    keys = [value(column.get(row)) for row in ordered]
    known = [key for key in keys if key is not None]
    assert keys == known + [None] * (len(keys) - len(known))
    assert known == sorted(known, reverse=descending)
    for first, second in itertools.pairwise(ordered):
        if value(column.get(first)) == value(column.get(second)):
            assert first.name < second.name
    assert sorted(row.name for row in ordered) == [row.name for row in rows]


def cells_of(rows: list[DeviceSpec], columns: list[Column]) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(rows_of.to_csv(rows, columns))))


@pytest.mark.slow
@given(devices())
def test_csv_reads_back_to_the_same_si_values(rows: list[DeviceSpec]) -> None:
    read = cells_of(rows, list(DEVICES.columns.values()))
    for row, csv_row in zip(rows, read, strict=True):
        for column in DEVICES.columns.values():
            cell = column.get(row)
            unit = "" if column.unit == "1" else f" [{column.si}]"
            if isinstance(cell, Sourced):
                assert float(csv_row[f"{column.name}{unit}"]) == cell.value
                assert csv_row[f"{column.name} status"] == (cell.status or "unstated")
            elif column.kind == "number":
                assert (csv_row[f"{column.name}{unit}"], csv_row[f"{column.name} status"]) == ("", cell or "")
            else:
                assert csv_row[column.name] == ("" if cell is None else str(cell))


@pytest.mark.slow
@given(devices())
def test_ratios_are_inverse_and_only_of_numbers(rows: list[DeviceSpec]) -> None:
    columns = list(DEVICES.columns.values())
    first, last = rows[0], make_device(name="last", memory_bandwidth="1 TB/s", peak={"bf16": "3 TFLOP/s"})
    forth = rows_of.ratios_to_first({"a": first, "b": last}, columns)
    back = rows_of.ratios_to_first({"b": last, "a": first}, columns)
    assert forth.keys() == back.keys()
    assert "year" not in forth
    assert forth["memory_bandwidth"]["b"] == operator.truediv(1e12, first.memory_bandwidth.value)  # type: ignore[union-attr]
    for name, over in forth.items():
        assert over["b"] * back[name]["a"] == pytest.approx(1, rel=1e-12)  # type: ignore[operator]


def test_tally_counts_unverified_numbers_and_waivers() -> None:
    read = {"value": "900 GB/s", "status": "read", "source": "x", "waiver": "plausible: so it is"}
    row = make_device(memory_bandwidth=read, peak={"fp32": {"value": "1 TFLOP/s", "status": "recall", "source": "y"}})
    columns = DEVICES.choose(["fp32", "memory_bandwidth", "bf16", "year"])
    assert rows_of.tally([row], columns) == (2, 1, 1)
    assert [DEVICES.columns[name].get(row) for name in ("numbers", "unverified", "waivers")] == [2, 1, 1]


def test_rows_named_lists_each_file_once(tmp_path: Path) -> None:
    assert list(rows_of.rows_named(DEVICES, ["V100", "v100-sxm2-16gb"])) == ["v100-sxm2-16gb"]
    user_file = tmp_path / "k20x.yaml"
    user_file.write_text("name: k20x\npeak: {fp32: 1 TFLOP/s}\nmemory_bandwidth: 1 GB/s\n")
    assert list(rows_of.rows_named(DEVICES, ["k20x", str(user_file)])) == ["k20x", str(user_file)]


@pytest.mark.slow
@given(devices())
def test_ratios_in_csv_equal_those_of_the_document(rows: list[DeviceSpec]) -> None:
    columns = list(DEVICES.columns.values())
    ratios = rows_of.ratios_to_first({row.name: row for row in rows}, columns)
    first, *read = csv.DictReader(io.StringIO(rows_of.to_csv(rows, columns, compared=True)))
    for name in (column.name for column in columns if column.kind == "number"):
        assert first[f"{name} ratio"] == ("1.0" if value(DEVICES.columns[name].get(rows[0])) else "")
        for csv_row in read:
            ratio = ratios.get(name, {}).get(csv_row["name"])
            assert csv_row[f"{name} ratio"] == ("" if ratio is None else repr(ratio))
