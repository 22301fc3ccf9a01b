import pandas as pd
import pytest

from estimator.core.schema import MEASUREMENTS
from estimator.devices.measurements.survey import survey, total
from tests.conftest import make_device

ROW = {"op_class": "gemm", "precision": "fp32", "m": 1000, "n": 1000, "k": 1000, "time_s": 1e-3}


def rows(*given: dict[str, object]) -> pd.DataFrame:
    return MEASUREMENTS.conform(pd.DataFrame([{**ROW, **row} for row in given]), "rows")


def test_rows_flags_and_best_rates() -> None:
    found = survey(rows({}, {"time_s": 5e-4, "flag": "beats_bound"}, {}), make_device()).iloc[0]
    assert found[["rows", "beats_bound", "above_peak", "left_out"]].tolist() == [3, 1, 0, 0]
    assert (found["best_flop_per_s"], found["best_share"]) == pytest.approx((4e12, 0.4))


def test_without_a_device_there_are_no_shares() -> None:
    assert survey(rows({}), None)["best_share"].isna().all()


def test_surveys_add_up() -> None:
    first, second = rows({}, {"precision": "fp16"}), rows({"time_s": 5e-4})
    whole = survey(pd.concat([first, second]), make_device())
    pd.testing.assert_frame_equal(total([survey(first, make_device()), survey(second, make_device())]), whole)


def test_what_was_left_out_counts_too() -> None:
    left_out = pd.DataFrame({"op_class": ["gemm", "recurrent"]})
    found = survey(rows({}), None, left_out)
    assert found[["op_class", "precision", "rows", "left_out"]].values.tolist() == [
        ["gemm", "", 0, 1], ["gemm", "fp32", 1, 0], ["recurrent", "", 0, 1]
    ]  # fmt: skip
