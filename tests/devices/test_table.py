import csv
import io
import itertools
import operator
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from estimator.core import physics
from estimator.core.errors import EstimatorError
from estimator.core.types import ITEMSIZE, DeviceSpec, Sourced, SystemSpec
from estimator.devices import catalogue, table
from estimator.devices.cells import UNSUPPORTED, Machine, in_all, peak
from estimator.devices.columns import DEVICES, SYSTEMS, Column, Layout
from tests.conftest import make_device

RATES = st.integers(1, 3000).map(lambda rate: f"{rate} GB/s")
PEAKS = st.one_of(st.none(), st.just("unsupported"), st.integers(1, 900).map(lambda rate: f"{rate} TFLOP/s"))
NEGATION = {">=": "<", ">": "<=", "=": "!=", "==": "!=", "~": "!~"}


@st.composite
def devices(draw: st.DrawFn) -> list[DeviceSpec]:
    found = []
    for number in range(draw(st.integers(1, 6))):
        bf16 = draw(PEAKS)
        fields: dict[str, object] = {"peak": {"fp32": "10 TFLOP/s", **({"bf16": bf16} if bf16 else {})}}
        fields["vendor"] = draw(st.sampled_from([None, "A", "B inc", "b"]))
        fields["year"] = draw(st.one_of(st.none(), st.integers(2012, 2026)))
        status = draw(st.sampled_from([None, "read", "recall"]))
        fields["memory_bandwidth"] = {"value": draw(RATES), "status": status, "source": "x"}
        found.append(make_device(name=f"d{number}", **fields))
    return found


def names(rows: list[DeviceSpec], condition: str) -> set[str]:
    holds = table.condition(DEVICES, condition)
    return {row.name for row in rows if holds(row)}


@given(
    devices(),
    st.sampled_from(
        ["memory_bandwidth {} 1.5 TB/s", "bf16 {} 450 TFLOP/s", "year{}2019", "vendor {} B", "ridge_point_bf16 {} 200"]
    ),
    st.sampled_from(list(NEGATION)),
)
def test_a_condition_and_its_negation_part_the_devices_that_know_the_column(
    rows: list[DeviceSpec], condition: str, sign: str
) -> None:
    column = DEVICES.columns[re.split(r"\W", condition)[0]]
    if sign not in (table.OF_TEXTS if column.kind == "text" else table.OF_NUMBERS):
        return
    held, negated = names(rows, condition.format(sign)), names(rows, condition.format(NEGATION[sign]))
    assert not held & negated
    assert held | negated == {row.name for row in rows if table.value(column.get(row)) is not None}
    assert held | negated == names(rows, column.name)


@given(devices())
def test_words_tell_unsupported_from_unknown(rows: list[DeviceSpec]) -> None:
    has, none, unknown = (names(rows, words) for words in ("bf16", "bf16 = unsupported", "bf16=Unknown"))
    assert len(has) + len(none) + len(unknown) == len(rows)
    assert has | none | unknown == {row.name for row in rows}
    assert none == names(rows, "bf16 == none") == {row.name for row in rows if not row.peak_of("bf16").supported}
    assert has == names(rows, "bf16 != unsupported")
    assert has | none == names(rows, "bf16 != unknown")


@given(devices(), st.sampled_from(["bf16", "vendor", "year", "memory_bandwidth"]), st.booleans())
def test_sorting_is_stable_and_puts_what_is_missing_last(rows: list[DeviceSpec], name: str, descending: bool) -> None:
    column = DEVICES.columns[name]
    found = table.arrange(rows, column, descending=descending)
    keys = [table.value(column.get(row)) for row in found]
    known = [key for key in keys if key is not None]
    assert keys == known + [None] * (len(keys) - len(known))
    assert known == sorted(known, reverse=descending)
    for first, second in itertools.pairwise(found):
        if table.value(column.get(first)) == table.value(column.get(second)):
            assert first.name < second.name
    assert sorted(row.name for row in found) == [row.name for row in rows]


def cells_of(rows: list[DeviceSpec], columns: list[Column]) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(table.to_csv(rows, columns))))


@given(devices())
def test_csv_reads_back_to_the_same_si_values(rows: list[DeviceSpec]) -> None:
    read = cells_of(rows, list(DEVICES.columns.values()))
    for row, found in zip(rows, read, strict=True):
        for column in DEVICES.columns.values():
            cell = column.get(row)
            unit = "" if column.unit == "1" else f" [{column.unit}]"
            if isinstance(cell, Sourced):
                assert float(found[f"{column.name}{unit}"]) == cell.value
                assert found[f"{column.name} status"] == (cell.status or "unstated")
            elif column.kind == "number":
                assert (found[f"{column.name}{unit}"], found[f"{column.name} status"]) == ("", cell or "")
            else:
                assert found[column.name] == ("" if cell is None else str(cell))


@given(devices())
def test_ratios_are_inverse_and_only_of_numbers(rows: list[DeviceSpec]) -> None:
    columns = list(DEVICES.columns.values())
    first, last = rows[0], make_device(name="last", memory_bandwidth="1 TB/s", peak={"bf16": "3 TFLOP/s"})
    forth = table.ratios({"a": first, "b": last}, columns)
    back = table.ratios({"b": last, "a": first}, columns)
    assert forth.keys() == back.keys()
    assert "year" not in forth
    assert forth["memory_bandwidth"]["b"] == operator.truediv(1e12, first.memory_bandwidth.value)  # type: ignore[union-attr]
    for name, over in forth.items():
        assert over["b"] * back[name]["a"] == pytest.approx(1, rel=1e-12)  # type: ignore[operator]


@given(devices())
def test_what_is_derived_is_as_doubtful_as_what_it_is_derived_from(rows: list[DeviceSpec]) -> None:
    ridge = DEVICES.columns["ridge_point_bf16"]
    for row in rows:
        cell, rate, bandwidth = ridge.get(row), row.peak_of("bf16").matrix, row.memory_bandwidth
        assert bandwidth is not None
        if rate is None:
            assert cell == (None if row.peak_of("bf16").supported else UNSUPPORTED)
            continue
        assert isinstance(cell, Sourced)
        assert cell.value == physics.ridge_point(rate.value, bandwidth.value)
        assert cell.unverified == (rate.unverified or bandwidth.unverified)


def test_a_tally_counts_what_is_unverified_and_what_is_waived() -> None:
    read = {"value": "900 GB/s", "status": "read", "source": "x", "waiver": "plausible: so it is"}
    row = make_device(memory_bandwidth=read, peak={"fp32": {"value": "1 TFLOP/s", "status": "recall", "source": "y"}})
    columns = table.choose(DEVICES, ["fp32", "memory_bandwidth", "bf16", "year"])
    assert table.tally([row], columns) == (2, 1, 1)
    assert [DEVICES.columns[name].get(row) for name in ("numbers", "unverified", "waivers")] == [2, 1, 1]


@pytest.mark.parametrize(
    ("condition", "sentence"),
    [
        ("bandwith >= 2 TB/s", "Unknown column 'bandwith'. Did you mean memory_bandwidth?"),
        ("memory_bandwidth >= 2 TB", "memory_bandwidth is '2 TB', which is a size; write a rate"),
        ("memory_bandwidth >= 2", "which is a plain number; write a rate"),
        ("ridge_point_bf16 >= 2 GB/s", "ridge_point_bf16 is '2 GB/s'; write a number of FLOP/B"),
        ("year >= soon", "year is 'soon', which is not a quantity"),
        ("vendor >= A", "vendor is text; compare it with one of"),
        ("bf16 ~ 3", "bf16 is a number; compare it with one of"),
        ("bf16 >=", "is no condition; write one such as"),
        ("", "is no condition; write one such as"),
        ("a b = c", "is no condition; write one such as"),
    ],
)
def test_what_is_wrong_with_a_condition_is_one_sentence(condition: str, sentence: str) -> None:
    with pytest.raises(EstimatorError) as caught:
        table.condition(DEVICES, condition)
    assert sentence in str(caught.value)
    assert len(caught.value.faults) == 1


@given(st.text(max_size=12) | st.tuples(st.sampled_from(list(DEVICES.columns)), st.text(max_size=8)).map("".join))
def test_no_condition_does_worse_than_an_error(text: str) -> None:
    try:
        table.condition(DEVICES, text)(make_device())
    except EstimatorError as error:
        assert len(error.faults) == 1


def test_a_bare_rate_per_watt_is_in_the_unit_of_the_table() -> None:
    row = make_device(peak={"bf16": "900 TFLOP/s"}, power_limit="300 W")
    assert table.condition(DEVICES, "per_watt_bf16 >= 3000 GFLOP/s/W")(row)
    assert table.condition(DEVICES, "per_watt_bf16 = 3000")(row)
    assert not table.condition(DEVICES, "per_watt_bf16 > 3000")(row)


def test_a_machine_holds_nodes_times_devices_times_what_the_device_has() -> None:
    machine = Machine(catalogue.load_system("summit"))
    spec, device = machine.spec, machine.device
    devices_ = spec.nodes.value * spec.devices_per_node.value
    for name, own in (("memory_capacity", device.memory_capacity), ("fp64", device.peak_of("fp64").matrix)):
        cell = SYSTEMS.columns[name].get(machine)
        assert isinstance(cell, Sourced)
        assert own is not None
        assert cell.value == pytest.approx(devices_ * own.value)
    assert spec.rpeak is not None
    assert SYSTEMS.columns["rpeak"].get(machine) is spec.rpeak
    assert in_all("FLOP/s", "peak", peak("bf16"))(machine) == UNSUPPORTED


def test_a_system_of_an_unknown_device_says_which() -> None:
    system = SystemSpec.model_validate({"name": "mine", "nodes": 2, "devices_per_node": 1, "device": "v1O0"})
    with pytest.raises(EstimatorError, match=r"^mine: Unknown device 'v1O0'"):
        SYSTEMS.columns["fp64"].get(Machine(system))


def test_names_stand_for_one_row_each(tmp_path: Path) -> None:
    assert list(table.named(DEVICES, ["V100", "v100-sxm2-16gb"])) == ["v100-sxm2-16gb"]
    own = tmp_path / "k20x.yaml"
    own.write_text("name: k20x\npeak: {fp32: 1 TFLOP/s}\nmemory_bandwidth: 1 GB/s\n")
    assert list(table.named(DEVICES, ["k20x", str(own)])) == ["k20x", str(own)]


@pytest.mark.parametrize("layout", [DEVICES, SYSTEMS], ids=lambda layout: str(layout.what))
def test_every_column_is_declared_well(layout: Layout) -> None:
    assert set(layout.default) <= layout.columns.keys()
    assert layout.default[0] == "name"
    for name, column in layout.columns.items():
        assert name == column.name
        assert column.meaning
        assert column.scale > 0
        assert bool(column.unit) == (column.kind != "text")
    assert set(ITEMSIZE) <= layout.columns.keys()


@pytest.mark.parametrize("layout", [DEVICES, SYSTEMS], ids=lambda layout: str(layout.what))
def test_every_column_reads_every_shipped_row(layout: Layout) -> None:
    kinds = {"text": str, "plain": int, "number": Sourced}
    for row in layout.load_all():
        for column in layout.columns.values():
            cell = column.get(row)
            assert cell is None or cell == UNSUPPORTED or isinstance(cell, kinds[column.kind])
            if isinstance(cell, Sourced):
                assert cell.unit == column.unit, column.name
