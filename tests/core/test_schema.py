import pandas as pd
import pytest

from estimator.core.errors import EstimatorError
from estimator.core.schema import (
    CONV_COLUMNS,
    DEFAULTS,
    GEMM_COLUMNS,
    MEASUREMENTS,
    OPS,
    PREDICTION,
    SHAPES,
    TIMED_STEPS,
    WORK,
    complete,
    numbers,
)


def test_tables_are_extended_never_rewritten() -> None:
    assert WORK.names()[: len(OPS.names())] == OPS.names()
    assert PREDICTION.names()[: len(WORK.names())] == WORK.names()
    for table in (OPS, WORK, MEASUREMENTS, SHAPES, PREDICTION):
        assert len(set(table.names())) == len(table.names())
        assert all(column.meaning for column in table.columns)
        assert table.document().count("\n") == len(table.columns) + 1


@pytest.mark.parametrize("step_s", ["1e-10", "1e10", "0", "inf"])
def test_a_timed_step_is_a_time_that_a_machine_can_show(step_s: str) -> None:
    with pytest.raises(EstimatorError, match=r"expected a number of at least 1e-09 and at most 1e\+09 \[s\]"):
        TIMED_STEPS.conform(pd.DataFrame({"devices": [8], "step_s": [step_s]}), "here")


def test_a_default_is_declared_once_and_documented() -> None:
    known = {column.name: column for column in (*GEMM_COLUMNS, *CONV_COLUMNS)}
    assert {name for name in known if name in DEFAULTS} == {
        "batch", "groups", "conv_d", "conv_t",
        *(f"{what}_{axis}" for what in ("stride", "pad", "dilation") for axis in "dhw"),
    }  # fmt: skip
    assert known["pad_h"].description == "padding above and below; 0 where missing"
    assert known["stride_h"].description in MEASUREMENTS.document()
    assert all("where missing" not in column.meaning or column.default is None for column in MEASUREMENTS.columns)


def test_missing_numbers_become_the_default_or_nan() -> None:
    rows = pd.DataFrame({"batch": [3, None], "m": [None, 2.0]})
    assert numbers(rows, "batch").tolist() == [3, 1]
    assert numbers(rows, "pad_h").tolist() == [0, 0]
    assert numbers(rows, "m")[1] == 2
    assert pd.isna(numbers(rows, "m")[0])
    assert pd.isna(numbers(rows, "n")).all()


def test_complete_rows_have_all_named_columns() -> None:
    rows = pd.DataFrame({"m": [1, 2, None], "n": ["a", None, "c"]})
    assert complete(rows, ["m", "n"]).tolist() == [True, False, False]
    assert complete(rows, ["m"]).tolist() == [True, True, False]
