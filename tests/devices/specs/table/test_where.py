import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from estimator.core.errors import EstimatorError
from estimator.core.types import DeviceSpec
from estimator.devices.specs.table import where
from estimator.devices.specs.table.cells import value
from estimator.devices.specs.table.columns import DEVICES
from tests.conftest import make_device
from tests.devices.specs.table.strategies import devices

NEGATION = {">=": "<", ">": "<=", "=": "!=", "==": "!=", "~": "!~"}


def names(rows: list[DeviceSpec], condition: str) -> set[str]:
    holds = where.condition(DEVICES, condition)
    return {row.name for row in rows if holds(row)}


@given(
    devices(),
    st.sampled_from(
        ["memory_bandwidth {} 1.5 TB/s", "bf16 {} 450 TFLOP/s", "year{}2019", "vendor {} B", "ridge_point_bf16 {} 200"]
    ),
    st.sampled_from(list(NEGATION)),
)
def test_a_condition_and_its_negation_split_the_devices_with_a_value(
    rows: list[DeviceSpec], condition: str, sign: str
) -> None:
    column = DEVICES.columns[re.split(r"\W", condition)[0]]
    if sign not in (where.TEXT_SIGNS if column.kind == "text" else where.NUMBER_SIGNS):
        return
    held, negated = names(rows, condition.format(sign)), names(rows, condition.format(NEGATION[sign]))
    assert not held & negated
    assert held | negated == {row.name for row in rows if value(column.get(row)) is not None}
    assert held | negated == names(rows, column.name)


@given(devices())
def test_conditions_distinguish_unsupported_from_unknown(rows: list[DeviceSpec]) -> None:
    has, none, unknown = (names(rows, words) for words in ("bf16", "bf16 = unsupported", "bf16=Unknown"))
    assert len(has) + len(none) + len(unknown) == len(rows)
    assert has | none | unknown == {row.name for row in rows}
    assert none == names(rows, "bf16 == none") == {row.name for row in rows if not row.peak_of("bf16").supported}
    assert has == names(rows, "bf16 != unsupported")
    assert has | none == names(rows, "bf16 != unknown")


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
def test_faults_of_a_condition_are_one_sentence(condition: str, sentence: str) -> None:
    with pytest.raises(EstimatorError) as caught:
        where.condition(DEVICES, condition)
    assert sentence in str(caught.value)
    assert len(caught.value.faults) == 1


@pytest.mark.slow
@given(st.text(max_size=12) | st.tuples(st.sampled_from(list(DEVICES.columns)), st.text(max_size=8)).map("".join))
def test_any_text_is_a_condition_or_an_estimator_error(text: str) -> None:
    try:
        where.condition(DEVICES, text)(make_device())
    except EstimatorError as error:
        assert len(error.faults) == 1


def test_a_bare_rate_per_watt_is_in_the_unit_of_the_table() -> None:
    row = make_device(peak={"bf16": "900 TFLOP/s"}, power_limit="300 W")
    assert where.condition(DEVICES, "per_watt_bf16 >= 3000 GFLOP/s/W")(row)
    assert where.condition(DEVICES, "per_watt_bf16 = 3000")(row)
    assert not where.condition(DEVICES, "per_watt_bf16 > 3000")(row)


def test_a_text_column_may_contain_a_state_word() -> None:
    known = make_device(specifications="known")
    unknown = make_device(name="other", specifications="unknown")
    assert names([known, unknown], "specifications = unknown") == {"other"}
    assert names([known, unknown], "specifications != unknown") == {"toy"}
