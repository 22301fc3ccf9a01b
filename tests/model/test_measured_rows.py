"""Which measured rows count, and what rows of one shape say together."""

import numpy as np
import pandas as pd
import pytest

from estimator.core.types import RunPlan, Workload
from estimator.model.measured_rows import (
    ENDS,
    applicable_rows,
    one_row_per_shape,
    products_in_other_format,
    rows_of_common_libraries,
)
from estimator.work import count_work
from tests.conftest import make_device, make_measurements, make_ops
from tests.model.toy import NEAR, ROW, SHAPE, SLOW, predict_in_step, predict_on, predict_products, table


def test_rows_of_one_shape_count_as_their_median_with_ends_that_hold_them_all() -> None:
    """Their median, whatever one of them says, with ends that hold them all; written as transposes or not."""
    one_shape = table(ROW, (512, 1024, 2048, "t", "n", 9e-4), (1024, 512, 2048, "n", "t", 3e-1))
    middle = predict_products(table((*ROW[:5], 9e-4)), SHAPE).iloc[0]
    ops = count_work(make_ops({"op_type": "MatMul", **SHAPE}), Workload(name="toy")).work
    actual = predict_on(ops, make_device(), one_shape, RunPlan("toy", draws=4000)).ops.iloc[0]
    assert (actual["method"], actual["target_time_s"]) == (middle["method"], pytest.approx(middle["target_time_s"]))
    assert actual["low_s"] < 0.5 * middle["target_time_s"]
    assert actual["high_s"] > 100 * middle["target_time_s"]


def test_rows_of_one_shape_have_the_weight_of_one() -> None:
    other = (1048, 512, 2048, "n", "t", 6e-4)
    once, often = (predict_products(table(*rows, other), NEAR)["target_time_s"].iloc[0] for rows in ([ROW], [ROW] * 5))
    assert once == pytest.approx(often)


@pytest.mark.parametrize("transposes", [("n", "t"), ("", "")])
def test_rows_that_beat_a_bound_count_only_where_their_shape_has_no_others(transposes: tuple[str, str]) -> None:
    """Neither in the mean of the very shape, nor in the launch that is taken off before its neighbours interpolate."""
    honest, cheating = ROW, (*ROW[:3], *transposes, 1e-9)
    flagged = table(honest, cheating).assign(flag=[None, "beats_bound"])
    assert predict_products(flagged, SHAPE)["target_time_s"].iloc[0] == pytest.approx(3e-4)
    assert predict_products(flagged, NEAR).equals(predict_products(table(honest), NEAR))
    alone = predict_products(flagged.iloc[1:], SHAPE, NEAR)
    assert list(alone["method"]) == ["measured", "roofline"]
    assert alone["target_time_s"].iloc[0] == pytest.approx(1e-9)


def test_cold_products_are_not_used_for_warm_ones() -> None:
    assert list(predict_products(table(ROW).assign(cache="cold"), SHAPE, NEAR)["method"]) == ["roofline", "roofline"]


def test_a_neighbour_that_beats_a_bound_does_not_correct_others() -> None:
    other = (1048, 512, 2048, "n", "t", 1e-5)
    flagged = table(ROW, other).assign(flag=[None, "beats_bound"])
    assert predict_products(flagged, NEAR).equals(predict_products(table(ROW), NEAR))


def test_a_cold_stream_stands_for_a_warm_one_only_where_its_shape_has_none() -> None:
    rows = pd.DataFrame({"op_class": "elementwise", "precision": "fp32", "kernel": "add", "bytes": 8e8,
                         "cache": ["warm", "cold"], "time_s": [1e-3, 9e-3]})  # fmt: skip
    actual = make_measurements(rows)
    assert one_row_per_shape(applicable_rows(actual))["time_s"].tolist() == [1e-3]
    assert one_row_per_shape(applicable_rows(actual, "cold"))["time_s"].tolist() == [9e-3]


def test_a_warm_row_that_beats_a_bound_still_outranks_a_cold_one() -> None:
    rows = pd.DataFrame({"op_class": "elementwise", "precision": "fp32", "kernel": "add", "bytes": 8e5,
                         "cache": ["warm", "cold"], "flag": ["beats_bound", None], "time_s": [1e-6, 9e-6]})  # fmt: skip
    actual = make_measurements(rows)
    assert applicable_rows(actual)["time_s"].tolist() == [1e-6]
    assert applicable_rows(actual, "cold")["time_s"].tolist() == [9e-6]


def test_a_warm_product_stands_for_a_cold_one_but_not_the_other_way_round() -> None:
    rows = table(ROW, (8, 8, 8, "n", "n", 1e-6))
    cold = rows.iloc[:1].assign(cache="cold", time_s=5e-4)
    assert one_row_per_shape(applicable_rows(pd.concat([rows, cold]), "cold"))["time_s"].tolist() == [1e-6, 5e-4]
    assert applicable_rows(pd.concat([rows, cold]))["time_s"].tolist() == [3e-4, 1e-6]
    assert applicable_rows(cold).empty


def test_the_quickest_repeats_count_where_a_kernel_was_timed_on_both_devices() -> None:
    """The same kernel: half of the target's repeats were put off the processor."""
    usual = table(ROW).assign(repeats=9)
    late = table(SLOW).assign(time_low_s=ROW[-1], time_high_s=SLOW[-1], repeats=9)
    assert predict_in_step(usual, late, 4.5e-4, SHAPE)["target_time_s"].item() == pytest.approx(4.5e-4)


def test_a_printed_time_without_repeats_is_unchanged() -> None:
    usual, printed = table(ROW).assign(repeats=9), table(ROW).assign(time_low_s=0.9 * ROW[-1])
    assert predict_in_step(usual, printed, 4.5e-4, SHAPE)["target_time_s"].item() == pytest.approx(4.5e-4)


def test_only_common_libraries_with_stated_versions_are_compared() -> None:
    one, other, unknown, unversioned = (pd.DataFrame({"library": [name, None]}) for name in ("a 1", "a 2", None, "a"))
    assert [len(rows) for rows in rows_of_common_libraries(one, pd.concat([other, one, one]))] == [1, 2]
    for rows, others in ((one, other), (unknown, unknown), (unversioned, unversioned)):
        assert not any(map(len, rows_of_common_libraries(rows, others)))


def test_applicable_rows_have_the_columns_of_measurements_and_their_shape() -> None:
    rows = table(ROW)
    actual = applicable_rows(rows)
    assert list(actual) == [*rows, "shape"]
    assert applicable_rows(rows.iloc[:0]).empty


def test_a_single_row_is_no_surer_than_one_of_several_is() -> None:
    """The logarithms of both spreads in quadrature."""
    single = (*ROW[:2], 4096, "n", "t", 1e-3)
    rows = table(ROW, ROW, single).assign(
        time_s=[2e-4, 4e-4, 1e-3], time_low_s=[None, None, 8e-4], time_high_s=[None, None, 1.1e-3]
    )
    twice, once = one_row_per_shape(applicable_rows(rows)).to_dict("records")
    assert [twice[end] for end in ENDS] == pytest.approx([2e-4, 3e-4, 4e-4])
    factor = np.exp(np.hypot(np.log(4e-4 / 2e-4), np.log(1.1e-3 / 8e-4)) / 2)
    assert [once[end] for end in ENDS] == pytest.approx([1e-3 / factor, 1e-3, 1e-3 * factor])
    alone = one_row_per_shape(applicable_rows(rows.iloc[2:])).iloc[0]
    assert [alone[end] for end in ENDS] == pytest.approx([8e-4, 1e-3, 1.1e-3])


def test_products_in_the_other_16_bit_format_are_those_not_asked_for() -> None:
    measured = make_measurements(
        [{"op_class": name, "precision": "bf16", "time_s": 1e-3} for name in ("gemm", "convolution")]
    )
    work = pd.DataFrame({"op_class": ["gemm", "convolution"], "precision": ["fp16", "fp16"]})
    assert list(products_in_other_format(measured, work)["op_class"]) == ["gemm"]
    both = pd.concat([work, work.assign(precision="bf16")])
    for asked in (work.assign(precision="fp32"), both, work[work["op_class"] == "convolution"]):
        assert products_in_other_format(measured, asked).empty
