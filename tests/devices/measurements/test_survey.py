import pandas as pd
import pytest

from estimator.core.schema import MEASUREMENTS
from estimator.devices.measurements.survey import survey, total
from tests.conftest import make_device

ROW = {"op_class": "gemm", "precision": "fp32", "m": 1000, "n": 1000, "k": 1000, "time_s": 1e-3}


def rows(*given: dict[str, object]) -> pd.DataFrame:
    return MEASUREMENTS.conform(pd.DataFrame([{**ROW, **row} for row in given]), "rows")


def test_survey_counts_rows_and_flags_and_finds_best_rates() -> None:
    surveyed = survey(rows({}, {"time_s": 5e-4, "flag": "beats_bound"}, {}), make_device()).iloc[0]
    assert surveyed[["rows", "beats_bound", "above_peak", "left_out"]].tolist() == [3, 1, 0, 0]
    assert (surveyed["best_flop_per_s"], surveyed["best_share"]) == pytest.approx((4e12, 0.4))


def test_without_a_device_there_are_no_shares() -> None:
    assert survey(rows({}), None)["best_share"].isna().all()


def test_surveys_add_up() -> None:
    first, second = rows({}, {"precision": "fp16"}), rows({"time_s": 5e-4})
    at_once = survey(pd.concat([first, second]), make_device())
    pd.testing.assert_frame_equal(total([survey(first, make_device()), survey(second, make_device())]), at_once)


def test_left_out_rows_are_counted() -> None:
    left_out = pd.DataFrame({"op_class": ["gemm", "recurrent"]})
    surveyed = survey(rows({}), None, left_out)
    assert surveyed[["op_class", "precision", "rows", "left_out"]].values.tolist() == [
        ["gemm", "", 0, 1], ["gemm", "fp32", 1, 0], ["recurrent", "", 0, 1]
    ]  # fmt: skip
