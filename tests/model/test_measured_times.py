"""Ops whose very shape was measured take the measured time."""

import pytest

from estimator.core.types import RunPlan, Workload
from estimator.work import count_work
from tests.conftest import make_device, make_measurements, make_ops
from tests.model.toy import ROW, SHAPE, predict_on, predict_products, streams, table


def test_an_op_whose_shape_was_measured_takes_that_time_for_every_call() -> None:
    found = predict_products(table(ROW), {**SHAPE, "trans_a": "n", "trans_b": "t", "calls": 3}).iloc[0]
    assert (found["method"], found["target_time_s"]) == ("measured", pytest.approx(9e-4))


def test_a_stream_is_known_by_the_bytes_that_one_call_moves() -> None:
    rows = streams(1e-5).assign(bytes=[4e6], flop=[3.0])
    ops = {"op_type": "AddV2", "bytes": 8e6, "flop": 6.0, "calls": 2, "kernel": "some_kernel"}
    work = count_work(make_ops(ops), Workload(name="toy")).work
    found = predict_on(work, make_device(), rows).ops.iloc[0]
    assert (found["method"], found["target_time_s"]) == ("measured", pytest.approx(2e-5))


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
    found = predict_on(ops, make_device(), measured, RunPlan("toy", draws=4000)).ops.iloc[0]
    assert found["low_s"] == pytest.approx(2.7e-4, rel=0.02)
    assert found["high_s"] == pytest.approx(3.3e-4, rel=0.02)
