"""The sizes of pools, as TensorFlow states them."""

import pandas as pd
import pytest

from estimator.core.errors import EstimatorError
from estimator.core.types import Workload
from estimator.work import count_work
from estimator.work.operators import operator_of
from tests.conftest import make_ops

TOY = Workload(name="toy", batch_size=8, precision="fp32")
SIZES = ["conv_n", "conv_c", "conv_h", "conv_w", "conv_r", "conv_s", "conv_p", "conv_q", "stride_h", "stride_w"]
IMAGE, POOLED = 8 * 20 * 12 * 5, 8 * 10 * 4 * 5


def counted(op_type: str, shapes: str, output: str, attributes: str | None = None) -> pd.Series:
    row = {"op_type": op_type, "shapes": shapes, "output_shapes": output, "attributes": attributes}
    return count_work(make_ops(row), TOY).work.iloc[0]


@pytest.mark.parametrize(
    ("op_type", "shapes", "output", "what", "elements"),
    [
        ("MaxPool", "-1x20x12x5", "-1x10x4x5", "forward", IMAGE + POOLED),
        ("_MklNativeMaxPool", "8x20x12x5", "8x10x4x5", "forward", IMAGE + POOLED),
        ("MaxPoolGrad", "8x20x12x5;8x10x4x5;8x10x4x5", "8x20x12x5", "grad_input", 2 * (IMAGE + POOLED)),
        ("AvgPoolGrad", "4;8x10x4x5", "8x20x12x5", "grad_input", 4 + IMAGE + POOLED),
    ],
)
def test_sizes_of_a_pool(op_type: str, shapes: str, output: str, what: str, elements: int) -> None:
    row = counted(op_type, shapes, output, "window=3x4;strides=2x3;padding=SAME")
    assert row["op_class"] == "pooling"
    assert list(row[SIZES]) == [8, 5, 20, 12, 3, 4, 10, 4, 2, 3]
    assert (row["pass"], row["bytes"]) == (what, 4 * elements)


def test_an_unstated_window_equals_its_stride() -> None:
    assert list(counted("MaxPool", "8x20x12x5", "8x10x4x5")[SIZES]) == [8, 5, 20, 12, 2, 3, 10, 4, 2, 3]
    assert list(counted("MaxPool", "8x20x12x5", "8x10x4x5", "strides=2x2")[SIZES][4:6]) == [2, 2]


def test_strides_of_sizes_that_do_not_divide() -> None:
    assert list(counted("MaxPool", "8x9x113x5", "8x4x57x5")[["stride_h", "stride_w"]]) == [2, 2]


def test_channels_first_layout() -> None:
    row = counted("MaxPool", "8x5x20x12", "8x5x10x4", "window=3x4;strides=2x3;padding=SAME;layout=NCHW")
    assert list(row[SIZES]) == [8, 5, 20, 12, 3, 4, 10, 4, 2, 3]


@pytest.mark.parametrize(
    ("op_type", "shapes", "output", "attributes"),
    [
        ("MaxPool", "8x20x12x5", "unknown", None), ("MaxPool3D", "8x2x20x12x5", "8x1x10x4x5", None),
        ("MaxPool", "8x20x12x5", "8x10x4x5", "layout=NCHW_VECT_C"), ("AvgPoolGrad", "4", "8x20x12x5", None),
        ("MaxPool", "8x20x12x0", "8x10x4x0", None),
    ],
)  # fmt: skip
def test_unknown_sizes_give_no_pool(op_type: str, shapes: str, output: str, attributes: str | None) -> None:
    assert counted(op_type, shapes, output, attributes)[SIZES].isna().all()


@pytest.mark.parametrize("attributes", ["window=2", "strides=0x2", "window=axb", "labels=b01f;window=2"])
def test_impossible_attributes_are_refused(attributes: str) -> None:
    with pytest.raises(EstimatorError, match="whole numbers"):
        counted("MaxPool", "8x20x12x5", "8x10x4x5", attributes)


@pytest.mark.parametrize(
    ("kernel", "op_type", "operator"),
    [
        ("", "aten::max_pool2d_with_indices_backward", "max_pool_grad"), ("", "AvgPoolGrad", "avg_pool_grad"),
        ("void cudnn::pooling_bw_4d_kernel<float>(x)", "", "pooling_grad"), ("avg_pool", "x", "avg_pool"),
        ("max_pool", "", "max_pool"), ("", "aten::_adaptive_avg_pool2d", "avg_pool"),
    ],
)  # fmt: skip
def test_operator_of_a_pools_name(kernel: str, op_type: str, operator: str) -> None:
    assert operator_of(kernel, op_type) == operator
