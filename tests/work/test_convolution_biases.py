"""Biases of convolutions as kernels of their own, by hand."""

import pandas as pd
import pytest

from estimator.core.types import Workload
from estimator.work import convert_precision, count_work
from estimator.work.convolution_biases import separate_biases
from tests.conftest import make_ops

TOY = Workload(name="toy", batch_size=8, precision="fp32")
FORWARD = "strides=1x1;pads=1x1;groups=1;layout=NCHW;kernel_layout=OIHW;bias=1;pass=forward"
CONVOLUTION = {"op_type": "aten::mkldnn_convolution", "shapes": "8x4x20x30;6x4x3x3;6", "attributes": FORWARD}
GRADIENT = {
    "op_type": "aten::convolution_backward", "shapes": "8x6x20x30;8x4x20x30;6x4x3x3", "phase": "backward",
    "attributes": FORWARD.replace("forward", "grad_weights"),
}  # fmt: skip
MADE = 8 * 6 * 20 * 30  # elements of the output


@pytest.mark.parametrize(("row", "operator", "tensors"), [(CONVOLUTION, "add", 2), (GRADIENT, "sum", 1)])
def test_a_bias_reads_the_output_and_writes_it_forward(row: dict[str, object], operator: str, tensors: int) -> None:
    work = count_work(make_ops({**row, "calls": 3.0}), TOY).work
    separated = separate_biases(work, separate=True)
    pd.testing.assert_frame_equal(separated.work.iloc[:1], work)
    (bias,) = separated.work.iloc[1:].to_dict("records")
    assert (bias["operator"], bias["calls"], bias["time_s"], bias["precision"]) == (operator, 3, 0, "fp32")
    assert bias["phase"] == row.get("phase")
    assert (bias["bytes"], bias["flop"]) == (3 * tensors * 4 * MADE, 3 * MADE)
    assert [note.code for note in separated.notes] == ["biases-separate"]


def test_a_bias_of_a_convolution_in_tf32_is_fp32() -> None:
    work = convert_precision(count_work(make_ops(CONVOLUTION), TOY).work, TOY, "tf32", ("convolution",)).work
    assert separate_biases(work, separate=True).work["precision"].tolist() == ["tf32", "fp32"]


@pytest.mark.parametrize(
    "row",
    [
        {**CONVOLUTION, "attributes": FORWARD.replace("bias=1;", "")},
        {**GRADIENT, "attributes": FORWARD.replace("forward", "grad_input")},
        {"op_type": "aten::mm", "shapes": "8x4;4x6"},
    ],
)
def test_what_has_no_bias_stays(row: dict[str, object]) -> None:
    work = count_work(make_ops(row), TOY).work
    assert separate_biases(work, separate=True).work is work


def test_biases_stay_inside_where_the_library_adds_them() -> None:
    work = count_work(make_ops(CONVOLUTION), TOY).work
    assert separate_biases(work, separate=False).work is work


@pytest.mark.parametrize(
    ("step_pass", "operator", "tensors"), [("forward", "add", 2), ("grad_weights", "sum", 1), ("grad_input", None, 0)]
)
def test_a_transposed_convolution_has_its_bias_on_its_own_output(
    step_pass: str, operator: str | None, tensors: int
) -> None:
    attributes = "strides=2x2;pads=0x0;groups=1;layout=NCHW;kernel_layout=IOHW;bias=1;transposed=1"
    row: dict[str, object] = {
        "op_type": "aten::convolution", "shapes": "8x4x20x30;4x6x2x2;6", "output_shapes": "8x6x40x60",
        "attributes": f"{attributes};pass={step_pass}",
    }  # fmt: skip
    if step_pass != "forward":
        row |= {"op_type": "aten::convolution_backward", "shapes": "8x6x40x60;8x4x20x30;4x6x2x2", "output_shapes": ""}
    work = count_work(make_ops(row), TOY).work
    added = separate_biases(work, separate=True).work.iloc[1:]
    assert added["operator"].tolist() == ([operator] if operator else [])
    assert added["bytes"].sum() == tensors * 4 * 8 * 6 * 40 * 60
