import pandas as pd
import pytest

from estimator.core.types import Workload
from estimator.work import count_work
from estimator.work.rebatch import rebatch
from tests.conftest import make_ops

TOY = Workload(name="toy", batch_size=8, precision="fp32")


def counted(op_type: str, shapes: str | None, **columns: object) -> pd.Series:
    return count_work(make_ops({"op_type": op_type, "shapes": shapes, **columns}), TOY).work.iloc[0]


LSTM = {"cell": "lstm", "hidden": 30, "input_width": 20, "sequences": 8, "timesteps": 7}
ONE_STEP = LSTM | {"timesteps": 1}
TORCH = "7x8x20;120x20;120x30;120;120;8x30;8x30"


@pytest.mark.parametrize(
    ("op_type", "shapes", "flop", "sizes"),
    [
        ("LSTMBlockCell", "8x20;8x30;8x30;50x120;30;30;30;120", 2 * 8 * 50 * 120, ONE_STEP),
        ("GRUBlockCell", "8x20;8x30;50x60;50x30;60;30", 2 * 8 * 50 * 90, ONE_STEP | {"cell": "gru"}),
        ("BlockLSTMV2", "1;7x8x20;8x30;8x30;50x120;30;30;30;120", 2 * 7 * 8 * 50 * 120, LSTM),
        ("BlockLSTMGrad", "1;7x8x20;8x30;8x30;50x120;30;30;30;120", 4 * 7 * 8 * 50 * 120, LSTM),
        ("CudnnRNNV3", "7x8x20;1x8x30;1x8x30;6240", 2 * 7 * 8 * 6000, LSTM),
        ("CudnnRNNV3", "7x8x20;1x8x30;1x8x30;4680", 2 * 7 * 8 * 4500, LSTM | {"cell": "gru"}),
        ("aten::mkldnn_rnn_layer", TORCH, 2 * 7 * 8 * 120 * 50, LSTM),
        ("aten::mkldnn_rnn_layer_backward", TORCH, 4 * 7 * 8 * 120 * 50, LSTM),
    ],
)
def test_recurrent_layers_have_sizes_and_work(op_type: str, shapes: str, flop: int, sizes: dict[str, object]) -> None:
    row = counted(op_type, shapes)
    assert (row["op_class"], row["flop"]) == ("recurrent", flop)
    assert row[[*sizes]].to_dict() == sizes
    assert row["pass"] == ("backward" if row["operator"] == "recurrent_grad" else "forward")


@pytest.mark.parametrize(
    ("op_type", "shapes"),
    [
        ("aten::mkldnn_rnn_layer", "7x8x20;120x20;120x30;120;120"),
        ("CudnnRNNV3", "7x8x20;2x8x30;2x8x30;14000"),  # of two layers or directions
        ("CudnnRNNV3", "7x4x256;4x4x256;4x4x256;526336"),  # of four plain ones, as large as an LSTM of 16 sequences
        ("CudnnRNNV3", "7x8x20;1x8x30;1x8x30;6241"),
    ],
)
def test_layers_without_a_state_or_of_several_have_work_alone(op_type: str, shapes: str) -> None:
    row = counted(op_type, shapes)
    assert row["op_class"] == "recurrent"
    assert row["flop"] > 0
    assert row[["cell", "hidden", "input_width", "sequences", "timesteps"]].isna().all()


def test_layers_of_stated_sizes_are_counted() -> None:
    stated = {"op_class": "recurrent", "precision": "fp16", **LSTM, "pass": "backward"}
    row = counted("layer", None, **stated)
    assert row["flop"] == 2 * 2 * 7 * 8 * 120 * 50
    assert row["bytes"] == 2 * 2 * (120 * 50 + 56 * 50)


@pytest.mark.parametrize(("batch", "steps", "hidden"), [(8, 7, 30), (256, 50, 64), (64, 128, 64), (192, 64, 64)])
def test_another_batch_has_more_sequences(batch: int, steps: int, hidden: int) -> None:
    """Also where the batch is as large as the width of the state, or all gates together."""
    gates = 4 * hidden
    operands = f"{steps}x{batch}x20;{gates}x20;{gates}x{hidden};{gates};{gates};{batch}x{hidden};{batch}x{hidden}"
    names, workload = ("", "_backward"), Workload(name="toy", batch_size=batch, precision="fp32")
    ops = make_ops(*({"op_type": f"aten::mkldnn_rnn_layer{name}", "shapes": operands} for name in names))
    for size in (4 * batch, batch // 2):
        rows = rebatch(count_work(ops, workload).work, workload, size).work
        sizes = rows[["sequences", "timesteps", "hidden", "input_width"]].to_numpy().tolist()
        assert sizes == [[size, steps, hidden, 20]] * 2
        assert rows["pass"].tolist() == ["forward", "backward"]
        assert rows["flop"].tolist() == [2 * steps * size * gates * (hidden + 20) * passes for passes in (1, 2)]
        assert rows["growth"].tolist() == [size / batch] * 2


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
