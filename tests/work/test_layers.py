import pandas as pd
import pytest

from estimator.core.types import Workload
from estimator.work import count_work
from tests.conftest import make_ops

TOY = Workload(name="toy", batch_size=8, precision="fp32")


def counted(op_type: str, shapes: str | None, **columns: object) -> pd.Series:
    return count_work(make_ops({"op_type": op_type, "shapes": shapes, **columns}), TOY).work.iloc[0]


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
