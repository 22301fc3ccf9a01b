"""Ops whose very shape was measured take the measured time."""

import numpy as np
import pandas as pd
import pytest

from estimator.core.interval import Z
from estimator.core.notes import sentences
from estimator.core.types import RunPlan, Workload
from estimator.model import coefficients
from estimator.model.assumptions import assumptions
from estimator.model.measured_rows import applicable_rows, one_row_per_shape
from estimator.model.measured_times import USUAL_STD, measured_times, timed_cold, with_usual_spread
from estimator.work import count_work
from tests.conftest import make_device, make_measurements, make_ops
from tests.model.toy import ROW, SHAPE, predict_on, predict_products, streams, table


def test_an_op_whose_shape_was_measured_takes_that_time_for_every_call() -> None:
    actual = predict_products(table(ROW), {**SHAPE, "trans_a": "n", "trans_b": "t", "calls": 3}).iloc[0]
    assert (actual["method"], actual["target_time_s"]) == ("measured", pytest.approx(9e-4))


def test_a_stream_is_known_by_the_bytes_that_one_call_moves() -> None:
    rows = streams(1e-5).assign(bytes=[4e6], flop=[3.0])
    ops = {"op_type": "AddV2", "bytes": 8e6, "flop": 6.0, "calls": 2, "kernel": "some_kernel"}
    work = count_work(make_ops(ops), Workload(name="toy")).work
    actual = predict_on(work, make_device(), rows).ops.iloc[0]
    assert (actual["method"], actual["target_time_s"]) == ("measured", pytest.approx(2e-5))


@pytest.mark.parametrize(("length", "method"), [(None, "measured"), (100, "measured"), (64, "interpolated")])
def test_a_normalization_of_unknown_rows_takes_the_time_of_any(length: int | None, method: str) -> None:
    given = {"op_class": "normalization", "operator": "softmax", "precision": "fp32", "bytes": 8e6}
    rows = make_measurements([{**given, "kernel": "softmax", "row_length": 100, "time_s": 1e-3}])
    work = count_work(make_ops({**given, "op_type": "Softmax", "row_length": length}), Workload(name="toy")).work
    assert predict_on(work, make_device(), rows).ops["method"].item() == method


def test_unknown_storage_orders_match_any_and_others_only_interpolate() -> None:
    assert predict_products(table(ROW), SHAPE).iloc[0]["method"] == "measured"
    unlike = predict_products(table(ROW), {**SHAPE, "trans_a": "t", "trans_b": "t"}).iloc[0]
    assert unlike["method"] == "interpolated"
    assert unlike["target_time_s"] == pytest.approx(3e-4, rel=0.05)


def test_the_ends_of_a_measured_time_become_the_interval() -> None:
    measured = table(ROW).assign(time_low_s=2.7e-4, time_high_s=3.3e-4)
    ops = count_work(make_ops({"op_type": "MatMul", **SHAPE}), Workload(name="toy")).work
    actual = predict_on(ops, make_device(), measured, RunPlan("toy", draws=4000)).ops.iloc[0]
    assert actual["low_s"] == pytest.approx(2.7e-4, rel=0.02)
    assert actual["high_s"] == pytest.approx(3.3e-4, rel=0.02)


def by_shape(rows: pd.DataFrame, cache: str = "cold") -> pd.DataFrame:
    return one_row_per_shape(applicable_rows(rows, cache))


def of_stream(table_: pd.DataFrame, **row: object) -> list[float]:
    """Low end, median and high end of the measured time of a stream of fp32."""
    ops = make_ops({"op_class": "elementwise", "precision": "fp32", "flop": 1.0, **row})
    work = count_work(ops, Workload(name="toy")).work
    return [float(end) for end in measured_times(work, by_shape(table_))[:, 0]]


def test_what_was_not_timed_itself_takes_the_less_sure_time_of_its_stand_in() -> None:
    rows = streams(1e-5, kernel="add")
    wider = np.exp(Z * coefficients.shipped().kernel_priors.stand_in.std)
    assert of_stream(rows, operator="add", bytes=12e3) == pytest.approx([1e-5] * 3)
    assert of_stream(rows, operator="mul", bytes=12e3) == pytest.approx([1e-5 / wider, 1e-5, 1e-5 * wider])
    assert np.isnan(of_stream(rows, operator="gelu", bytes=12e3)).all()


def test_an_own_time_outranks_that_of_a_stand_in() -> None:
    rows = pd.concat([streams(1e-5, kernel="add"), streams(7e-5, kernel="mul")], ignore_index=True)
    assert of_stream(rows, operator="mul", bytes=12e3) == pytest.approx([7e-5] * 3)


@pytest.mark.parametrize(("off", "known"), [(1.009, True), (1 / 1.009, True), (1.011, False), (1 / 1.011, False)])
def test_a_stream_is_known_by_an_amount_that_is_off_by_a_hundredth_at_most(off: float, known: bool) -> None:
    actual = of_stream(streams(1e-5, 2e-5), operator="add", bytes=off * 24e3)
    assert actual == pytest.approx([2e-5] * 3) if known else np.isnan(actual).all()


def test_the_nearest_amount_counts() -> None:
    rows = streams(1e-5, 2e-5).assign(bytes=[12000.0, 12100.0])
    assert of_stream(rows, operator="add", bytes=12040)[1] == pytest.approx(1e-5)
    assert of_stream(rows, operator="add", bytes=12060)[1] == pytest.approx(2e-5)


def test_of_a_product_stored_in_an_unknown_order_all_measured_ones_tell() -> None:
    rows = table(ROW, (*ROW[:3], "n", "n", 5e-4)).assign(time_low_s=[2e-4, 4e-4], time_high_s=[6e-4, 5e-4])
    work = count_work(make_ops({"op_type": "MatMul", **SHAPE}), Workload(name="toy")).work
    assert measured_times(work, by_shape(rows))[:, 0] == pytest.approx([2e-4, 4e-4, 6e-4])


def test_without_measurements_no_time_is_known() -> None:
    work = count_work(make_ops({"op_type": "MatMul", **SHAPE}), Workload(name="toy")).work
    actual = measured_times(work, by_shape(table()))
    assert actual.shape == (3, 1)
    assert np.isnan(actual).all()


@pytest.mark.parametrize(
    ("measured", "op", "cold"),
    [
        ("cold", {**SHAPE, "trans_a": "n", "trans_b": "t"}, True),
        ("cold", SHAPE, True),  # stored in any order
        ("cold", {**SHAPE, "trans_a": "t", "trans_b": "t"}, False),
        ("cold", {**SHAPE, "m": 7}, False),
        ("warm", SHAPE, False),
        (None, SHAPE, False),
    ],
)
def test_products_of_the_very_shape_were_timed_cold(measured: str | None, op: dict[str, object], cold: bool) -> None:
    rows = by_shape(table(ROW).assign(cache=pd.array([measured], dtype="string[python]")))
    work = count_work(make_ops({"op_type": "MatMul", **op}), Workload(name="toy")).work
    assert timed_cold(work, rows).tolist() == [cold]


def test_streams_were_timed_cold_where_any_was() -> None:
    work = count_work(
        make_ops({"op_type": "Relu", "shapes": "7"}, {"op_type": "MatMul", **SHAPE}), Workload(name="toy")
    ).work
    streamed = by_shape(streams(1e-5).assign(cache="cold"))
    assert timed_cold(work, streamed).tolist() == [True, False]
    assert timed_cold(work, by_shape(table((7, 7, 7, "n", "n", 1e-3)).assign(cache="cold"))).tolist() == [False] * 2


def test_a_time_without_a_spread_gets_the_usual_one() -> None:
    times = np.array([[1.0, 2.0, np.nan], [1.0, 3.0, np.nan], [1.0, 4.0, np.nan]])
    widened = with_usual_spread(times)
    assert widened[:, 0] == pytest.approx([np.exp(-Z * USUAL_STD), 1.0, np.exp(Z * USUAL_STD)])
    assert widened[:, 1:] == pytest.approx(times[:, 1:], nan_ok=True)


def test_a_measured_row_without_ends_has_an_interval_and_a_note_says_so() -> None:
    rows = table(ROW).assign(time_low_s=np.nan, time_high_s=np.nan)
    ops = count_work(make_ops({"op_type": "MatMul", **SHAPE}), Workload(name="toy")).work
    predicted = predict_on(ops, make_device(), rows, RunPlan("toy", draws=4000)).ops
    assert predicted["method"].item() == "measured"
    assert predicted["high_s"].item() / predicted["low_s"].item() == pytest.approx(np.exp(2 * Z * USUAL_STD), rel=0.02)
    notes = sentences(assumptions(predicted, make_device(), rows))
    assert "toy: 1 measured rows state no interval: each time is taken within ± 5 %" in notes
