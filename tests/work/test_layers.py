import pandas as pd
import pytest

from estimator.core.types import Workload
from estimator.work import count_work
from tests.conftest import make_ops

TOY = Workload(name="toy", batch_size=8, precision="fp32")


def counted(op_type: str, shapes: str | None, **columns: object) -> pd.Series:
    return count_work(make_ops({"op_type": op_type, "shapes": shapes, **columns}), TOY).work.iloc[0]


QKV = "2x4x128x64;2x4x100x64;2x4x100x64"
SEQUENCE_FIRST = "2x128x4x64;2x100x4x64;2x100x4x64"
PRODUCT = 2 * 2 * 4 * 128 * 100 * 64


@pytest.mark.parametrize(
    ("op_type", "shapes", "products"),
    [
        ("aten::_scaled_dot_product_flash_attention", QKV, 2),
        ("aten::_scaled_dot_product_flash_attention_for_cpu_backward", f"2x4x128x64;{QKV}", 5),
        ("aten::_flash_attention_forward", SEQUENCE_FIRST, 2),
        ("aten::_flash_attention_backward", f"2x128x4x64;{SEQUENCE_FIRST}", 5),
        ("aten::_scaled_dot_product_flash_attention", "2x4x128x64;2x1x100x64;2x1x100x64", 2),  # shared keys
    ],
)
def test_work_of_attention(op_type: str, shapes: str, products: int) -> None:
    row = counted(op_type, shapes)
    assert (row["op_class"], row["flop"], row["work_source"]) == ("gemm", products * PRODUCT, "shapes")


def test_attention_moves_its_operands_and_result_alone() -> None:
    assert counted("aten::_scaled_dot_product_flash_attention", QKV)["bytes"] == 4 * 2 * 4 * 64 * (2 * 128 + 2 * 100)


@pytest.mark.parametrize(
    ("op_type", "shapes", "flop"),
    [
        ("LSTMBlockCell", "8x20;8x30;8x30;50x120;30;30;30;120", 2 * 8 * 50 * 120),
        ("GRUBlockCell", "8x20;8x30;50x60;50x30;60;30", 2 * 8 * 50 * 90),
        ("BlockLSTMV2", "1;7x8x20;8x30;8x30;50x120;30;30;30;120", 2 * 7 * 8 * 50 * 120),
        ("BlockLSTMGrad", "1;7x8x20;8x30;8x30;50x120;30;30;30;120", 4 * 7 * 8 * 50 * 120),
        ("CudnnRNNV3", "7x8x20;1x8x30;1x8x30;6240", 2 * 7 * 8 * 6240),
        ("aten::mkldnn_rnn_layer", "7x8x20;120x20;120x30;120;120", 2 * 7 * 8 * 120 * 50),
    ],
)
def test_recurrent_layers_are_products_where_dimensions_are_known(op_type: str, shapes: str, flop: int) -> None:
    row = counted(op_type, shapes)
    assert (row["op_class"], row["flop"]) == ("gemm", flop)


def test_recurrent_layers_without_dimensions_stay_uncounted() -> None:
    for op_type, shapes in (("CudnnRNN", None), ("BlockLSTM", "1;unknown;8x30;8x30;50x120")):
        row = counted(op_type, shapes)
        assert row["op_class"] == "recurrent"
        assert row[["flop", "bytes"]].isna().all()
    assert counted("aten::lstm", "7x8x20;120x20")["op_class"] == "unmodelled"


def test_the_kernels_of_a_layer_do_not_each_do_its_work() -> None:
    shapes = "7x8x20;1x8x30;1x8x30;6240"
    product = counted("CudnnRNNV3", shapes, kernel="ampere_sgemm_128x64_tn")
    other = counted("CudnnRNNV3", shapes, kernel="void elementWiseRNNcell_kernel<float>(int)")
    assert (product["op_class"], other["op_class"]) == ("gemm", "elementwise")
    assert pd.isna(product["flop"])
    assert pd.isna(other["bytes"])


def test_a_wrapper_around_attention_does_nothing_itself() -> None:
    row = counted("aten::scaled_dot_product_attention", QKV, attributes="dispatch=1")
    assert row["op_class"] == "host"
    assert pd.isna(row["flop"])
