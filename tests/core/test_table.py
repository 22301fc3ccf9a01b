"""Frames are checked against the declaration of their table."""

import pandas as pd
import pytest

from estimator.core.errors import EstimatorError
from estimator.core.schema import OPS


def test_conform_types_orders_and_keeps_other_columns() -> None:
    frame = OPS.conform(pd.DataFrame({"mine": [1], "time_s": ["0.5"], "op": ["x"]}), "here")
    assert list(frame)[: len(OPS.names())] == OPS.names()
    assert frame["time_s"].dtype == "float64"
    assert frame["calls"].isna().all()
    assert list(frame)[-1] == "mine"


@pytest.mark.parametrize(
    ("frame", "words"),
    [
        ({"op": ["x"]}, "the column 'time_s' is missing"),
        ({"op": ["x"], "time_s": ["fast"]}, "row 1: time_s is 'fast'; expected a number of at least 0"),
        ({"op": ["x"], "time_s": [float("nan")]}, "row 1: time_s is missing"),
        (
            {"op": ["x"], "time_s": [1e300]},
            "row 1: time_s is 1e+300; expected a number of at least 0 and at most 1e+",
        ),
        ({"op": ["x"], "time_s": [-1.0]}, "row 1: time_s is -1.0"),
        ({"op": ["x"], "time_s": [float("inf")]}, "row 1: time_s is inf"),
        ({"op": ["x"], "time_s": [1.0], "phase": ["sideways"]}, "expected one of forward, backward"),
        ({"op": ["x"], "time_s": [1.0], "rank": [1.5]}, "rank is 1.5; expected a whole number"),
        ({"op": [None], "time_s": [1.0]}, "op is missing"),
    ],
)
def test_faults_are_named_in_one_sentence(frame: dict[str, list[object]], words: str) -> None:
    with pytest.raises(EstimatorError) as caught:
        OPS.conform(pd.DataFrame(frame), "here")
    assert any(words in fault for fault in caught.value.faults)


def test_many_faults_are_counted() -> None:
    with pytest.raises(EstimatorError) as caught:
        OPS.conform(pd.DataFrame({"op": ["x"] * 9, "time_s": [-1.0] * 9}), "here")
    assert len(caught.value.faults) == 4
    assert "6 more rows" in caught.value.faults[-1]


def test_an_empty_table_conforms() -> None:
    empty = OPS.empty()
    pd.testing.assert_frame_equal(OPS.conform(pd.DataFrame(columns=OPS.names()), "ops"), empty)


def test_an_empty_table_is_the_callers_own() -> None:
    changed = OPS.empty()
    changed["more"] = 1.0
    assert list(OPS.empty().columns) == OPS.names()
