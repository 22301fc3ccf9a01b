"""Convolutions of which each pass lists a part of the layer's tensors, as TensorFlow's profilers do."""

import math
from collections.abc import Mapping

import pandas as pd
import pytest

from estimator.core.types import Workload
from estimator.work import count_work
from estimator.work.operators import forward_name
from tests.conftest import make_ops, unpacked

TOY = Workload(name="toy", batch_size=8, precision="fp32")
FLOP = 2 * 8 * 16 * 16 * 16 * 3 * 3 * 3  # 8 images of 32×32, 3 → 16 channels, kernel 3×3, stride 2
OF_A_TAPE = (
    "conv/Conv2D",
    "gradient_tape/conv/Conv2D/Conv2DBackpropFilter",
    "gradient_tape/conv/Conv2D/Conv2DBackpropInput",
)
TYPES = ("Conv2D", "Conv2DBackpropFilter", "Conv2DBackpropInput")
SHAPES = ("8x32x32x3;3x3x3x16", "8x32x32x3;4;8x16x16x16", "4;3x3x3x16;8x16x16x16")


def rows(names: tuple[str, ...] = OF_A_TAPE, shapes: tuple[str | None, ...] = SHAPES) -> list[Mapping[str, object]]:
    columns = zip(names, TYPES, shapes, strict=True)
    return [{"op": name, "op_type": op_type, "shapes": text} for name, op_type, text in columns]


def counted(*ops: Mapping[str, object]) -> tuple[pd.DataFrame, tuple[str, ...]]:
    return unpacked(count_work(make_ops(*ops), TOY))


def test_the_passes_of_a_layer_complete_each_other() -> None:
    work, notes = counted(*rows())
    assert work["flop"].tolist() == [FLOP] * 3
    assert work["pass"].tolist() == ["forward", "grad_weights", "grad_input"]
    assert work[["stride_h", "stride_w"]].to_numpy().tolist() == [[2, 2]] * 3
    assert "3 convolutions (such as conv/Conv2D) do not state all their sizes" in str(notes)


def test_one_gradient_is_enough() -> None:
    work, _ = counted(*rows()[:2])
    assert work["flop"].tolist() == [FLOP] * 2


def test_an_op_without_any_shapes_has_those_of_its_layer() -> None:
    work, _ = counted(*rows(shapes=(SHAPES[0], SHAPES[1], None)))
    assert work["flop"].tolist() == [FLOP] * 3


def test_a_forward_pass_alone_stays_unknown() -> None:
    work, notes = counted(*rows()[:1])
    assert work["flop"].isna().all()
    assert "convolutions state no dimensions" in str(notes)


def test_layers_do_not_share_sizes() -> None:
    other = {"op": "other/Conv2D", "op_type": "Conv2D", "shapes": "8x10x10x4;3x3x4x4"}
    work, _ = counted(other, *rows())
    assert work["flop"].isna().tolist() == [True, False, False, False]


def test_ops_of_one_layer_that_differ_stay_unknown() -> None:
    other = {"op": "conv/Conv2D", "op_type": "Conv2D", "shapes": "4x32x32x3;3x3x3x16"}
    work, _ = counted(other, *rows()[:2])
    assert work["flop"].isna().all()


def test_channels_first_are_recognised_by_the_channels() -> None:
    shapes = ("8x3x32x32;3x3x3x16", "8x3x32x32;4;8x16x16x16", "4;3x3x3x16;8x16x16x16")
    work, _ = counted(*rows(shapes=shapes))
    assert work["flop"].tolist() == [FLOP] * 3
    assert work["conv_c"].tolist() == [3] * 3


def test_a_fused_convolution_has_the_name_of_its_last_op() -> None:
    names = ("conv/Relu", *OF_A_TAPE[1:])
    work, _ = counted({**rows()[0], "op": names[0], "op_type": "_FusedConv2D"}, *rows()[1:])
    assert work["flop"].tolist() == [FLOP] * 3


def test_a_row_that_states_all_stays_as_it_is() -> None:
    stated = {**rows()[0], "attributes": "strides=1x1;padding=SAME;layout=NHWC"}
    work, _ = counted(stated, *rows()[1:])
    assert work["flop"].tolist() == [4 * FLOP, FLOP, FLOP]


def test_depthwise_convolutions() -> None:
    types = ("DepthwiseConv2dNative", "DepthwiseConv2dNativeBackpropFilter", "DepthwiseConv2dNativeBackpropInput")
    shapes = ("8x10x10x6;3x3x6x2", "8x10x10x6;4;8x8x8x12", "4;3x3x6x2;8x8x8x12")
    names = ("d/depthwise", *(f"gradient_tape/d/depthwise/{name}" for name in types[1:]))
    work, _ = counted(*({**row, "op_type": each} for row, each in zip(rows(names, shapes), types, strict=True)))
    assert work["flop"].tolist() == [2 * 8 * 64 * 12 * 9] * 3


VIEW = (  # of a network: its convolutions by type, calls and shapes, as tfprof lists them
    ("Conv2D", 1, "-1x32x32x3;3x3x3x16"),
    ("Conv2D", 2, "-1x16x16x16;3x3x16x16"),
    ("Conv2D", 1, "-1x16x16x16;1x1x16x32"),
    ("Conv2D", 1, "-1x16x16x16;3x3x16x32"),
    ("Conv2D", 1, "-1x8x8x32;3x3x32x8"),
    ("Conv2DBackpropFilter", 1, "-1x32x32x3;4;-1x16x16x16"),
    ("Conv2DBackpropFilter", 2, "-1x16x16x16;4;-1x16x16x16"),
    ("Conv2DBackpropFilter", 2, "-1x16x16x16;4;-1x8x8x32"),  # of two layers with different weights
    ("Conv2DBackpropFilter", 1, "-1x8x8x32;4;-1x6x6x8"),
    ("Conv2DBackpropInput", 2, "4;3x3x16x16;-1x16x16x16"),
    ("Conv2DBackpropInput", 1, "4;3x3x16x32;-1x8x8x32"),
)
LAYERS = (  # of their layers: the output's points, window, input and output channels; None where several fit
    (256, 9, 3, 16), (256, 9, 16, 16), (64, 1, 16, 32), (64, 9, 16, 32), (36, 9, 32, 8), (256, 9, 3, 16),
    (256, 9, 16, 16), None, (36, 9, 32, 8), (256, 9, 16, 16), (64, 9, 16, 32),
)  # fmt: skip


def viewed(*lines: tuple[str, int, str]) -> tuple[pd.DataFrame, tuple[str, ...]]:
    return counted(*({"op": f"{t} {s}", "op_type": t, "calls": c, "shapes": s, "time_s": 1.0} for t, c, s in lines))


def test_in_a_view_by_type_passes_are_of_one_layer_where_only_one_fits() -> None:
    work, notes = viewed(*VIEW)
    expected = [layer and 2 * 8 * math.prod(layer) * calls for layer, (_, calls, _) in zip(LAYERS, VIEW, strict=True)]
    assert [None if pd.isna(flop) else flop for flop in work["flop"]] == expected
    assert "1 convolutions state no dimensions (Conv2DBackpropFilter -1x16x16x16;4;-1x8x8x32)" in str(notes)
    assert work["conv_h"].tolist()[-1] == 16  # the image before a stride of 2


def test_a_view_by_type_without_gradients_tells_no_outputs() -> None:
    work, _ = viewed(*VIEW[:5])
    assert work["flop"].isna().all()


@pytest.mark.parametrize(
    "gradient",
    [
        "-1x32x32x3;4;-1x16x16x17",  # of other channels
        "-1x30x30x3;4;-1x15x15x16",  # of another image
        "-1x32x32x3;4;-1x20x20x16",  # that no stride makes
        "-1x32x32x3;4;5x16x16x16",  # of another batch
        "-1x32x32x3;4;unknown",
    ],
)
def test_a_gradient_in_a_view_by_type_that_does_not_fit_tells_nothing(gradient: str) -> None:
    work, _ = viewed(VIEW[0], ("Conv2DBackpropFilter", 1, gradient))
    assert work["flop"].isna().all()


def test_an_image_with_two_outputs_of_equal_channels_tells_neither() -> None:
    outputs = ("-1x16x16x16", "-1x32x32x16")
    work, _ = viewed(VIEW[0], *(("Conv2DBackpropFilter", 1, f"-1x32x32x3;4;{output}") for output in outputs))
    assert work["flop"].isna().tolist() == [True, False, False]


def test_one_operand_tells_no_layer() -> None:
    lines = (VIEW[0], VIEW[5], ("Conv2DBackpropInput", 1, "4;3x3x3x16;unknown"))
    assert viewed(*lines)[0]["flop"].isna().tolist() == [False, False, True]


def test_depthwise_gradients_are_of_depthwise_layers() -> None:
    lines = (("Conv2D", 1, "-1x8x8x32;3x3x32x32"), ("DepthwiseConv2dNativeBackpropFilter", 1, "-1x8x8x32;4;-1x8x8x32"))
    assert viewed(*lines)[0]["flop"].isna().all()
    work, _ = viewed(("DepthwiseConv2dNative", 1, "-1x8x8x32;3x3x32x1"), lines[1])
    assert work["flop"].tolist() == [2 * 8 * 64 * 32 * 9] * 2


@pytest.mark.parametrize(
    ("op", "forward"),
    [
        ("gradient_tape/model/conv/Conv2D/Conv2DBackpropFilter", "model/conv/Conv2D"),
        ("call/gradient_tape/model/conv/Conv2D/Conv2DBackpropFilter", "call/model/conv/Conv2D"),
        ("gradients/model/conv/Conv2D_grad/Conv2DBackpropInput", "model/conv/Conv2D"),
        ("training/SGD/gradients_1/gradients/conv/Conv2D_grad/Conv2DBackpropInput", "conv/Conv2D"),
        ("model/conv/Conv2D", "model/conv/Conv2D"),
    ],
)
def test_the_forward_op_of_a_gradient(op: str, forward: str) -> None:
    assert forward_name(op) == forward
