"""Transposes inside ops on channels-last images, by hand."""

from collections.abc import Mapping

import pandas as pd
import pytest

from estimator.core.attributes import INSIDE
from estimator.core.errors import EstimatorError
from estimator.core.types import Layout, RunPlan, Workload
from estimator.pipeline.step import estimate
from estimator.profiles import read_profile
from estimator.work import convert_layout, convert_precision, count_work
from tests.conftest import make_ops, unpacked

TOY = Workload(name="toy", batch_size=8, precision="fp32")
LAST = "strides=1x1;padding=SAME;layout=NHWC;kernel_layout=HWIO"
IMAGE, OUTPUT = "8x20x30x4", "8x20x30x6"
SIZE, MADE = 8 * 20 * 30 * 4, 8 * 20 * 30 * 6  # elements
CONVOLUTION = {"op_type": "Conv2D", "shapes": f"{IMAGE};3x3x4x6", "output_shapes": OUTPUT, "attributes": LAST}
FUSED = {**CONVOLUTION, "op_type": "_FusedConv2D", "shapes": f"{IMAGE};3x3x4x6;6"}
INPUT_GRADIENT = {
    "op_type": "Conv2DBackpropInput", "shapes": f"4;3x3x4x6;{OUTPUT}", "output_shapes": IMAGE, "attributes": LAST,
}  # fmt: skip
WEIGHT_GRADIENT = {
    "op_type": "Conv2DBackpropFilter", "shapes": f"{IMAGE};4;{OUTPUT}", "output_shapes": "3x3x4x6", "attributes": LAST,
}  # fmt: skip
POOL = {"op_type": "AvgPool", "shapes": IMAGE, "output_shapes": "8x10x15x4"}
POOL_GRADIENT = {"op_type": "MaxPoolGrad", "shapes": f"{IMAGE};8x10x15x4;8x10x15x4", "output_shapes": IMAGE}


def added_transposes(
    *rows: Mapping[str, object], layout: Layout = "channels-first"
) -> tuple[pd.DataFrame, tuple[str, ...]]:
    """The rows of transposes, and the notes."""
    work = count_work(make_ops(*rows), TOY).work
    converted, notes = unpacked(convert_layout(work, TOY, layout))
    pd.testing.assert_frame_equal(converted.iloc[: len(work)], work)
    return converted.iloc[len(work) :], notes


@pytest.mark.parametrize(
    ("row", "elements", "transposes"),
    [
        (CONVOLUTION, SIZE + MADE, 2),
        (FUSED, SIZE + 2 * MADE, 3),
        (INPUT_GRADIENT, SIZE + MADE, 2),
        (WEIGHT_GRADIENT, SIZE + MADE, 2),
        (POOL, SIZE + SIZE // 4, 2),
        (POOL_GRADIENT, 2 * SIZE + 2 * (SIZE // 4), 4),
        ({"op_type": "AvgPoolGrad", "shapes": "4;8x10x15x4", "output_shapes": IMAGE}, SIZE + SIZE // 4, 2),
    ],
)
def test_transposes_move_every_image_twice(row: dict[str, object], elements: int, transposes: int) -> None:
    (transposes_row,) = added_transposes({**row, "calls": 3.0, "phase": "backward"})[0].to_dict("records")
    assert transposes_row["bytes"] == 3 * 2 * 4 * elements
    assert transposes_row["calls"] == 3 * transposes
    assert (transposes_row["op_class"], transposes_row["phase"], transposes_row["time_s"], transposes_row["flop"]) == (
        "movement",
        "backward",
        0,
        0,
    )


def test_images_of_one_channel_need_no_transposes() -> None:
    single = {**CONVOLUTION, "shapes": "8x20x30x1;3x3x1x6;6"}
    assert added_transposes(single)[0]["bytes"].item() == 2 * 4 * MADE


@pytest.mark.parametrize(
    "row",
    [
        {**CONVOLUTION, "attributes": LAST.replace("NHWC", "NCHW"), "shapes": "8x4x20x30;3x3x4x6", "output_shapes": ""},
        {"op_type": "aten::convolution", "shapes": "8x4x20x30;6x4x3x3", "output_shapes": "8x6x18x28"},
        {**CONVOLUTION, "precision": "fp16"},
        {"op_type": "MaxPool", "shapes": IMAGE, "output_shapes": "8x10x15x4"},
        {"op_type": "AvgPool", "attributes": "layout=NCHW", "shapes": IMAGE, "output_shapes": "8x10x15x4"},
        {"op_type": "MatMul", "shapes": "8x20;20x30", "output_shapes": "8x30"},
    ],
)
def test_other_ops_need_no_transposes(row: dict[str, object]) -> None:
    rows, notes = added_transposes(row)
    assert rows.empty
    assert "no op on fp32 images with channels last" in notes[0]


def test_layout_none_changes_nothing() -> None:
    rows, notes = added_transposes(CONVOLUTION, layout="none")
    assert rows.empty
    assert notes == ()


def test_notes_state_added_and_unknown_transposes() -> None:
    rows, (added, missing) = added_transposes(FUSED, POOL, {"op_type": "AvgPool", "output_shapes": "8x10x15x4"})
    assert len(rows) == 2
    assert added.startswith("the target's library is taken to need channels first: 2 convolutions and pools")
    assert missing.startswith("1 convolutions and pools have no shapes")


def test_a_graph_optimizer_leaves_the_transposes_of_1d_images() -> None:
    line = {**CONVOLUTION, "shapes": "8x1x30x4;1x3x4x6", "output_shapes": "8x1x30x6"}
    image, row = added_transposes(CONVOLUTION, line)[0]["bytes"]
    (left,) = added_transposes(CONVOLUTION, line, layout="converted")[0]["bytes"]
    assert left == row < image


def test_16_bit_convolutions_need_no_transposes() -> None:
    work = count_work(make_ops(CONVOLUTION, POOL), TOY).work
    crossed = convert_precision(work, TOY, "fp16").work
    assert convert_layout(crossed, TOY, "channels-first").work is crossed


@pytest.mark.slow
def test_a_prediction_with_transposes_takes_as_much_longer_as_they_do() -> None:
    profile = read_profile("nt3")
    plain, first = (estimate(profile, RunPlan("v100", draws=0, layout=kind)) for kind in ("none", "channels-first"))
    ops = first.prediction.ops.set_index("op")["target_time_s"]
    added = ops[ops.index.str.endswith(" (transposes)")]
    assert len(added)
    assert (added > 0).all()
    assert ops.sum() - added.sum() == pytest.approx(plain.prediction.ops["target_time_s"].sum())
    assert any("channels first" in sentence for sentence in first.assumptions)
    assert not any("channels first" in sentence for sentence in plain.assumptions)


def test_an_unknown_layout_is_refused() -> None:
    with pytest.raises(
        EstimatorError, match="layout 'NCHW' is not known; expected auto or none or converted or channels-first"
    ):
        RunPlan("v100", layout="NCHW")  # type: ignore[arg-type]


def test_rows_of_transposes_are_named_after_their_op() -> None:
    actual = added_transposes({**CONVOLUTION, "op": "net/conv"})[0].iloc[0]
    assert actual[["op", "op_type", "operator"]].tolist() == ["net/conv (transposes)", "transpose", "transpose"]
    assert actual[["precision", "work_source", "intensity"]].tolist() == ["fp32", "shapes", 0]


FIRST = "strides=1x1;pads=1x1;groups=1;layout=NCHW;kernel_layout=OIHW;pass=forward"
OF_TORCH = {"op_type": "aten::mkldnn_convolution", "shapes": "8x4x20x30;6x4x3x3;6", "attributes": FIRST}
BACKWARD = {"op_type": "aten::convolution_backward", "shapes": "8x6x20x30;8x4x20x30;6x4x3x3"}


@pytest.mark.parametrize("precision", ["tf32", "bf16", "fp16"])
@pytest.mark.parametrize(
    "row",
    [
        OF_TORCH,
        {**BACKWARD, "attributes": FIRST.replace("forward", "grad_input")},
        {**BACKWARD, "attributes": FIRST.replace("forward", "grad_weights")},
    ],
)
def test_matrix_units_transpose_image_weights_and_output(row: dict[str, object], precision: str) -> None:
    converted = {**row, "precision": precision, "calls": 3.0}
    (actual,) = added_transposes(converted, layout="channels-last")[0].to_dict("records")
    itemsize = 4 if precision == "tf32" else 2
    assert actual["bytes"] == 3 * 2 * itemsize * (SIZE + MADE + 3 * 3 * 4 * 6)
    assert (actual["calls"], actual["op_class"], actual["attributes"]) == (9, "movement", INSIDE)
    assert actual["precision"] == ("fp32" if precision == "tf32" else precision)


POINT = {**OF_TORCH, "shapes": "8x4x20x30;6x4x1x1;6", "attributes": FIRST.replace("pads=1x1", "pads=0x0")}


@pytest.mark.parametrize(
    "row",
    [
        {**OF_TORCH, "precision": "fp32"},
        {**OF_TORCH, "precision": "bf16", "attributes": f"channels_last=1;{FIRST}"},
        {**POINT, "precision": "bf16"},
        {**OF_TORCH, "precision": "bf16", "shapes": "8x4x20x30;4x1x3x3;4", "attributes": FIRST.replace("ps=1", "ps=4")},
        {**CONVOLUTION, "precision": "bf16"},
    ],
)
def test_what_needs_no_transposes_for_matrix_units(row: dict[str, object]) -> None:
    work = count_work(make_ops(row), TOY).work
    assert convert_layout(work, TOY, "channels-last").work is work


def test_points_at_a_stride_are_transposed() -> None:
    strided = {
        **POINT,
        "precision": "bf16",
        "attributes": str(POINT["attributes"]).replace("strides=1x1", "strides=2x2"),
    }
    assert len(added_transposes(strided, layout="channels-last")[0]) == 1
