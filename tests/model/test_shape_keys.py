"""What is one shape: a product and its transpose, a convolution with its output stated or not."""

import pytest

from estimator.core.types import Workload
from estimator.work import count_work
from tests.conftest import make_device, make_measurements, make_ops
from tests.model.toy import ROW, predict_on, predict_products, table


def test_a_product_and_its_transpose_are_one_shape() -> None:
    swapped = {"m": 512, "n": 1024, "k": 2048, "trans_a": "t", "trans_b": "n"}
    assert predict_products(table(ROW), swapped).iloc[0]["method"] == "measured"


def test_a_square_product_is_its_own_transpose() -> None:
    measured = table((512, 512, 1024, "n", "t", 3e-4))
    swapped: dict[str, object] = {"m": 512, "n": 512, "k": 1024, "trans_a": "t", "trans_b": "n"}
    assert predict_products(measured, swapped).iloc[0]["method"] == "measured"


CONVOLUTION: dict[str, object] = {
    "op_class": "convolution", "precision": "fp32", "conv_n": 8, "conv_c": 16, "conv_h": 9, "conv_w": 10, "conv_k": 32,
    "conv_r": 3, "conv_s": 3, "pad_h": 1, "pad_w": 1, "stride_h": 2, "pass": "forward",
}  # fmt: skip


@pytest.mark.parametrize(("stated", "method"), [({}, "measured"), ({"conv_p": 5, "conv_q": 10}, "measured"),
                                                ({"conv_p": 4, "conv_q": 10}, "interpolated")])  # fmt: skip
def test_a_convolution_is_one_shape_whether_its_output_is_stated_or_not(stated: dict[str, object], method: str) -> None:
    for measured, wanted in ((stated, {}), ({}, stated)):
        rows = make_measurements([{**CONVOLUTION, **measured, "time_s": 1e-3}])
        work = count_work(make_ops({"op_type": "Conv2D", **CONVOLUTION, **wanted}), Workload(name="toy")).work
        assert predict_on(work, make_device(), rows).ops["method"].tolist() == [method]
