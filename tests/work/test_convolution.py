"""Convolutions counted by hand: every figure is 2 · images · output points · channels · kernel points."""

import math
from dataclasses import dataclass
from itertools import chain

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from estimator.core.errors import EstimatorError
from estimator.core.types import Workload
from estimator.work import count_work
from tests.conftest import make_ops, unpacked

TOY = Workload(name="toy", batch_size=8, precision="fp32")
UNSTATED = TOY.model_copy(update={"batch_size": None})


def counted(op_type: str, shapes: str, attributes: str | None = None, **columns: object) -> pd.Series:
    row = {"op_type": op_type, "shapes": shapes, "attributes": attributes, **columns}
    return count_work(make_ops(row), TOY).work.iloc[0]


NHWC = "strides=1x1;padding=SAME;layout=NHWC;kernel_layout=HWIO"
NCHW = "strides=1x1;pads=1x1;dilations=1x1;groups=1;layout=NCHW;kernel_layout=OIHW"
FORWARD = 2 * 8 * 32 * 32 * 16 * 3 * 3 * 3  # 8 images of 32×32, 3 → 16 channels, kernel 3×3, same size out
CASES = [
    ("Conv2D", "-1x32x32x3;3x3x3x16", NHWC, FORWARD),
    ("aten::convolution", "8x3x32x32;16x3x3x3;16", NCHW, FORWARD),
    ("Conv2DBackpropInput", "4;3x3x3x16;8x32x32x16", f"{NHWC};pass=grad_input", FORWARD),
    ("Conv2DBackpropFilter", "8x32x32x3;3x3x3x16;8x32x32x16", f"{NHWC};pass=grad_weights", FORWARD),
    ("aten::convolution_backward", "8x16x32x32;8x3x32x32;16x3x3x3", NCHW, 2 * FORWARD),
    ("aten::convolution_backward", "8x16x32x32;8x3x32x32;16x3x3x3", f"{NCHW};pass=grad_weights", FORWARD),
    ("Conv2D", "8x224x224x3;7x7x3x64", "strides=2x2;padding=SAME;layout=NHWC", 2 * 8 * 112 * 112 * 64 * 3 * 49),
    ("Conv2D", "8x224x224x3;7x7x3x64", "strides=2x2;padding=VALID;layout=NHWC", 2 * 8 * 109 * 109 * 64 * 3 * 49),
    ("Conv2D", "8x10x10x4;2x2x4x4", "strides=1x1;padding=SAME;layout=NHWC", 2 * 8 * 100 * 4 * 4 * 4),  # pads 0_1
    ("Conv2D", "8x10x10x4;2x2x4x4", "strides=1x1;pads=0_1x0_1;layout=NHWC", 2 * 8 * 100 * 4 * 4 * 4),
    ("Conv2D", "8x10x12x4;3x3x4x4", "padding=VALID;dilations=2x2", 2 * 8 * 6 * 8 * 4 * 4 * 9),
    ("Conv2D", "8x6x10x10;3x3x2x9", "padding=VALID;layout=NCHW", 2 * 8 * 64 * 9 * 2 * 9),  # 3 groups, by the shapes
    ("aten::_convolution", "8x6x10x10;9x2x3x3", "pads=0x0;groups=3", 2 * 8 * 64 * 9 * 2 * 9),
    ("aten::convolution", "8x6x10x10;6x1x3x3", "pads=1x1;groups=6", 2 * 8 * 100 * 6 * 9),  # depthwise
    ("Conv2D", "8x10x10x4;6x4x3x5", "padding=VALID;layout=NHWC;kernel_layout=OIHW", 2 * 8 * 8 * 6 * 6 * 4 * 15),
    ("DepthwiseConv2dNative", "8x10x10x6;3x3x6x2", "padding=SAME;layout=NHWC", 2 * 8 * 100 * 12 * 9),
    ("DepthwiseConv2dNative", "8x10x10x6;3x3x6x2", "padding=SAME;kernel_layout=HWCM", 2 * 8 * 100 * 12 * 9),
    ("DepthwiseConv2dNativeBackpropInput", "4;3x3x6x2;8x10x10x12", "padding=SAME", 2 * 8 * 100 * 12 * 9),
    ("aten::convolution", "8x16x7x7;16x3x4x4", "strides=2x2;pads=1x1;transposed=1", 2 * 8 * 49 * 16 * 3 * 16),
    ("aten::convolution", "8x16x7x7;16x3x4x4", "strides=2x2;transposed=1;groups=4;pads=0x0", 2 * 8 * 49 * 16 * 3 * 16),
    ("aten::convolution_backward", "8x3x14x14;8x16x7x7;16x3x4x4", "strides=2x2;pads=1x1;transposed=1;pass=grad_input",
     2 * 8 * 49 * 16 * 3 * 16),
    ("aten::convolution", "8x4x100;6x4x5", "strides=2;pads=2;dilations=1", 2 * 8 * 50 * 6 * 4 * 5),
    ("Conv1D", "8x100x4;5x4x6", "strides=2;padding=VALID;layout=NWC;kernel_layout=WIO", 2 * 8 * 48 * 6 * 4 * 5),
    ("Conv3D", "8x9x10x11x2;3x3x3x2x4", "padding=VALID;layout=NDHWC", 2 * 8 * 7 * 8 * 9 * 4 * 2 * 27),
    ("aten::convolution", "8x2x9x10x11;4x2x3x3x3", "strides=2x1x1;pads=1x1x1", 2 * 8 * 5 * 10 * 11 * 4 * 2 * 27),
    ("Conv3DBackpropFilterV2", "8x9x10x11x2;5;8x7x8x9x4", None, None),  # no kernel size
    ("Conv2D", "8x10x10x4;3x3x4x4", None, None),  # no padding
    ("Conv2D", "8x10x10x4;unknown", "padding=SAME", None),
]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize(("op_type", "shapes", "attributes", "flop"), CASES)
def test_dimensions_computed_by_hand(op_type: str, shapes: str, attributes: str | None, flop: int | None) -> None:
    row = counted(op_type, shapes, attributes)
    assert row["flop"] == flop if flop else pd.isna(row["flop"])


def test_columns_of_a_convolution() -> None:
    row = counted("Conv3D", "8x9x10x11x2;3x5x3x2x4", "strides=1x2x1;padding=SAME;dilations=1x1x2")
    expected = {
        "conv_n": 8, "conv_c": 2, "conv_k": 4, "conv_d": 9, "conv_h": 10, "conv_w": 11, "conv_t": 3, "conv_r": 5,
        "conv_s": 3, "conv_z": 9, "conv_p": 5, "conv_q": 11, "stride_d": 1, "stride_h": 2, "stride_w": 1, "pad_d": 1,
        "pad_h": 1, "pad_w": 2, "dilation_d": 1, "dilation_h": 1, "dilation_w": 2, "groups": 1, "pass": "forward",
    }  # fmt: skip
    assert row[list(expected)].to_dict() == expected
    image, weights, output = 8 * 2 * 9 * 10 * 11, 3 * 5 * 3 * 2 * 4, 8 * 4 * 9 * 5 * 11
    assert row["bytes"] == 4 * (image + weights + output)


def test_one_spatial_axis_is_the_width() -> None:
    row = counted("aten::convolution", "8x4x100;6x4x5", "strides=2;pads=2")
    assert row[["conv_h", "conv_w", "conv_r", "conv_s", "conv_p", "conv_q"]].tolist() == [1, 100, 1, 5, 1, 50]


def test_sizes_follow_from_results_without_padding() -> None:
    row = counted("Conv2D", "8x10x10x4;3x3x4x5", output_shapes="8x5x5x5")
    assert row["flop"] == 2 * 8 * 25 * 5 * 4 * 9
    weights = counted("Conv2DBackpropFilter", "8x10x10x4;4;8x5x5x5", "strides=2x2", output_shapes="3x3x4x5")
    assert weights["flop"] == row["flop"]
    image = counted("Conv2DBackpropInput", "4;3x3x4x5;8x5x5x5", "strides=2x2", output_shapes="8x10x10x4")
    assert image[["flop", "bytes", "conv_h"]].tolist() == [row["flop"], row["bytes"], 10]


def test_the_kernels_pass_outranks_the_op_types() -> None:
    shapes = "8x16x32x32;8x3x32x32;16x3x3x3"
    both = counted("aten::convolution_backward", shapes, NCHW)
    kernels = ("sm80_xmma_dgrad_implicit_gemm_f32", "sm80_xmma_wgrad_implicit_gemm_f32")
    parts = [counted("aten::convolution_backward", shapes, NCHW, kernel=kernel) for kernel in kernels]
    assert [part["pass"] for part in parts] == ["grad_input", "grad_weights"]
    assert sum(part["flop"] for part in parts) == both["flop"]


def test_stated_dimensions_in_3d_with_dilation() -> None:
    dims = {"conv_n": 2, "conv_c": 4, "conv_h": 9, "conv_w": 9, "conv_k": 6, "conv_r": 3, "conv_s": 3}
    more = {"conv_d": 5, "conv_t": 2, "stride_d": 2, "pad_d": 1, "dilation_h": 2, "dilation_w": 3}
    work = count_work(make_ops({"op_type": "Conv3D", **dims, **more}), TOY).work
    assert work["flop"].iloc[0] == 2 * 2 * 6 * (3 * 5 * 3) * 4 * (2 * 3 * 3)


@pytest.mark.parametrize(
    ("op_type", "shapes", "attributes", "words"),
    [
        ("Conv2D", "8x10x10x4;3x3x5x4", "padding=SAME;layout=NHWC", "do not fit"),
        ("aten::convolution", "8x6x10x10;9x2x3x3", "pads=0x0;groups=2", "do not fit"),
        ("aten::convolution", "8x6x2x2;9x6x3x3", "pads=0x0", "do not fit"),
        ("aten::convolution", "8x6x2x2;9x6x3x3", "pads=0", "expected one for each of 2 axes"),
        ("aten::convolution", "8x6x2x2;9x6x3x3", "pads=0x0;strides=2", "expected 2 whole numbers"),
        ("aten::convolution", "8x6x2x2;9x6x3x3", "pads=0x0;strides=0x0", "expected 2 whole numbers above 0"),
        ("aten::convolution", "8x6x2x2;9x6x3x3", "pads=axb", "pads is 'axb'"),
        ("convolution", "8x6x2x2;9x6x3x3", "labels=bf01", "expected such as b01f_01io->b01f"),
    ],
)
def test_sizes_that_do_not_fit_are_refused(op_type: str, shapes: str, attributes: str, words: str) -> None:
    with pytest.raises(EstimatorError, match=f"'op0': .*{words}"):
        counted(op_type, shapes, attributes)


SIZE = st.integers(1, 5)


@dataclass
class Drawn:
    """A convolution, with ``c`` and ``k`` channels in each group."""

    n: int
    c: int
    k: int
    groups: int
    sizes: list[int]
    kernel: int
    stride: int
    dilation: int
    same: bool


CONVOLUTIONS = st.builds(
    Drawn, n=SIZE, c=SIZE, k=SIZE, groups=st.integers(1, 3),
    sizes=st.lists(st.integers(5, 12), min_size=1, max_size=3), kernel=st.integers(1, 3), stride=st.integers(1, 3),
    dilation=st.integers(1, 2), same=st.booleans(),
)  # fmt: skip


def passes(drawn: Drawn) -> tuple[list[dict[str, object]], int]:
    """The three passes of a convolution, and the FLOP of each."""
    n, c, k, groups, sizes = drawn.n, drawn.c, drawn.k, drawn.groups, drawn.sizes
    kernel, stride, dilation, same = drawn.kernel, drawn.stride, drawn.dilation, drawn.same
    axes, reach = len(sizes), dilation * (kernel - 1) + 1
    out = [-(-h // stride) if same else (h - reach) // stride + 1 for h in sizes]

    def joined(*dims: int) -> str:
        return "x".join(map(str, dims))

    image, output = joined(n, *sizes, c * groups), joined(n, *out, k * groups)
    weights = joined(*[kernel] * axes, c, k * groups)
    common = f"strides={joined(*[stride] * axes)};dilations={joined(*[dilation] * axes)}"
    attributes = f"{common};padding={'SAME' if same else 'VALID'}"
    rows: list[dict[str, object]] = [
        {"op_type": f"Conv{axes}D", "shapes": f"{image};{weights}", "attributes": attributes},
        {"op_type": f"Conv{axes}DBackpropInput", "shapes": f"{axes + 2};{weights};{output}", "attributes": attributes,
         "output_shapes": image},
        {"op_type": f"Conv{axes}DBackpropFilter", "shapes": f"{image};{weights};{output}", "attributes": attributes},
    ]  # fmt: skip
    return rows, 2 * n * k * groups * c * kernel**axes * math.prod(out)


@pytest.mark.slow
@settings(max_examples=12)  # of many at once, as a count takes hardly longer for more rows
@given(st.lists(CONVOLUTIONS, min_size=6, max_size=16))
def test_every_pass_of_a_convolution_has_the_same_flop(drawn: list[Drawn]) -> None:
    rows, flop = zip(*map(passes, drawn), strict=True)
    work, warnings = unpacked(count_work(make_ops(*chain.from_iterable(rows)), UNSTATED))
    for each, (_, actual), expected in zip(drawn, work.groupby(work.index // 3), flop, strict=True):
        assert list(actual["flop"]) == [expected] * 3, each
        assert actual["bytes"].nunique() == 1, each
    assert not warnings


@pytest.mark.parametrize("kernel_layout", ["OIHW", "IOHW"])
def test_channels_of_a_transposed_convolution_are_those_of_the_forward_one(kernel_layout: str) -> None:
    stated = f"strides=2x2;pads=1x1;transposed=1;kernel_layout={kernel_layout}"
    row = counted("aten::convolution", "8x16x7x7;16x3x4x4", stated)
    assert row[["conv_k", "conv_c", "conv_h", "conv_p"]].tolist() == [16, 3, 14, 7]
