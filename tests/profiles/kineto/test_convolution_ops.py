import json
from typing import Any

import pandas as pd
import pytest

from estimator.core.types import Workload
from estimator.profiles.kineto.arguments import Call, Geometry
from estimator.profiles.kineto.convolution_ops import describe_convolution
from estimator.profiles.kineto.torch_ops import describe
from estimator.work import count_work


def call(name: str, *dims: Any, values: list[str] | None = None, geometry: Geometry | None = None) -> Call:
    texts = [json.dumps(text).encode() for text in (dims, values or [])]
    return Call(f"aten::{name}", texts[0], b"", b"", texts[1], geometry)


@pytest.mark.parametrize(
    ("image", "window", "output", "strides"),
    [
        (224, 7, 112, "2x2"),
        (56, 1, 28, "2x2"),
        (7, 3, 7, "1x1"),
        (147, 3, 73, "2x2"),
        (5, 3, 3, "1x1"),
        (149, 3, 147, "1x1"),
    ],
)
def test_the_least_strides_that_reach_across_the_image(image: int, window: int, output: int, strides: str) -> None:
    geometry = Geometry((2, 8, image, image), (4, 8, window, window), (2, 4, output, output))
    (work,) = describe_convolution(call("cudnn_convolution", geometry[0], geometry[1], geometry=geometry))
    assert f"strides={strides};" in str(work.attributes)
    assert work.output_shapes == f"2x4x{output}x{output}"


def test_groups_follow_from_the_channels_where_no_value_states_them() -> None:
    (work,) = describe_convolution(call("cudnn_convolution", [2, 32, 7, 7], [32, 1, 3, 3], [], [], [], []))
    assert "groups=32;" in str(work.attributes)


def test_stated_values_outrank_sizes() -> None:
    values = ["", "", "[1, 1]", "[3, 3]", "[1, 1]", "1"]
    (work,) = describe_convolution(call("cudnn_convolution", [2, 8, 9, 9], [4, 8, 3, 3], [], [], [], [], values=values))
    assert "strides=3x3;pads=1x1" in str(work.attributes)
    assert work.output_shapes is None


def test_a_gradient_that_lacks_a_tensor_says_so() -> None:
    (work,) = describe_convolution(call("cudnn_convolution_backward_input", [], [2, 4, 7, 7], [4, 8, 3, 3]))
    assert (work.shapes, str(work.attributes)[-10:]) == ("unknown;2x4x7x7;4x8x3x3", "grad_input")


N, C, K, SIDE, WINDOW = 2, 8, 12, 16, 3
IMAGE, OUTPUT, DENSE, DEPTHWISE = [N, C, SIDE, SIDE], [N, K, SIDE, SIDE], [K, C, WINDOW, WINDOW], [C, 1, WINDOW, WINDOW]
DENSE_FLOP = 2 * N * K * SIDE**2 * C * WINDOW**2
DEPTHWISE_FLOP = 2 * N * C * SIDE**2 * WINDOW**2
TRANSPOSED_FLOP = 2 * N * C * SIDE**2 * K * 2**2
SAME, BOTH = "[1, 1]", "[True, True, False]"
NONE: list[int] = []


@pytest.mark.parametrize(
    ("name", "dims", "values", "flop"),
    [
        (
            "_conv_depthwise2d", [IMAGE, DEPTHWISE, *[NONE] * 5],
            ["", "", "[3, 3]", "", SAME, SAME, SAME], DEPTHWISE_FLOP,
        ),
        (
            "_conv_depthwise2d_backward", [IMAGE, IMAGE, DEPTHWISE, *[NONE] * 5],
            ["", "", "", "[3, 3]", SAME, SAME, SAME, BOTH], 2 * DEPTHWISE_FLOP,
        ),
        (
            "convolution_backward", [OUTPUT, IMAGE, DENSE, *[NONE] * 8],
            ["", "", "", "[12]", SAME, SAME, SAME, "False", "[0, 0]", "1", "[False, True, False]"], DENSE_FLOP,
        ),
        (
            "convolution_backward_overrideable", [OUTPUT, IMAGE, DENSE, *[NONE] * 7],
            ["", "", "", SAME, SAME, SAME, "False", "[0, 0]", "1", BOTH], 2 * DENSE_FLOP,
        ),
        (
            "convolution_overrideable", [IMAGE, DENSE, *[NONE] * 7],
            ["", "", "", SAME, SAME, SAME, "False", "[0, 0]", "1"], DENSE_FLOP,
        ),
        (
            "slow_conv_dilated2d_backward", [OUTPUT, IMAGE, DENSE, *[NONE] * 5],
            ["", "", "", "[3, 3]", SAME, "[2, 2]", "[2, 2]", BOTH], 2 * DENSE_FLOP,
        ),
        (
            "convolution", [[N, C, SIDE], [K, C, WINDOW], *[NONE] * 7],
            ["", "", "", "[1]", "[1]", "[1]", "False", "[0]", "1"], 2 * N * K * SIDE * C * WINDOW,
        ),
        (
            "convolution", [[N, C, 4, SIDE, SIDE], [K, C // 2, 1, WINDOW, WINDOW], *[NONE] * 7],
            ["", "", "", "[1, 1, 1]", "[0, 1, 1]", "[1, 1, 1]", "False", "[0, 0, 0]", "2"], 4 * DENSE_FLOP / 2,
        ),
        (
            "convolution", [IMAGE, [C, K, 2, 2], *[NONE] * 7],  # each point of the image makes 2 × 2 points
            ["", "", "", "[2, 2]", "[0, 0]", SAME, "True", "[0, 0]", "1"], TRANSPOSED_FLOP,
        ),
        (
            "convolution_backward", [[N, K, 2 * SIDE, 2 * SIDE], IMAGE, [C, K, 2, 2], *[NONE] * 8],
            ["", "", "", "[12]", "[2, 2]", "[0, 0]", SAME, "True", "[0, 0]", "1", BOTH], 2 * TRANSPOSED_FLOP,
        ),
    ],
)  # fmt: skip
def test_flop_of_convolutions_and_their_gradients(name: str, dims: list[Any], values: list[str], flop: float) -> None:
    assert flop_of(call(name, *dims, values=values)) == flop


def flop_of(convolution: Call) -> float:
    pieces = describe(convolution)
    row = {"op": convolution.name, "op_type": convolution.name, "kernel": None, "time_s": 1.0, "calls": 1.0}
    work = count_work(pd.DataFrame([{**row, **piece._asdict()} for piece in pieces]), Workload(name="toy")).work
    return float(work["flop"].sum())


@pytest.mark.parametrize(
    ("name", "between"),
    [("ConvBias_", 1), ("ConvBiasReLU_", 1), ("ConvBiasMaskReLU_", 2), ("ConvFrozenScaleBiasReLU_", 2)],
)
def test_fused_convolutions_of_apex(name: str, between: int) -> None:
    values = ["", "", *[""] * between, "1", "1"]  # one padding and stride for both axes
    fused = call(name, IMAGE, DENSE, *[[1, K, 1, 1]] * between, NONE, NONE, values=values)
    assert flop_of(fused._replace(name=name)) == DENSE_FLOP


@pytest.mark.parametrize("library", ["cudnn", "miopen"])
def test_convolutions_that_a_library_fuses_with_what_follows(library: str) -> None:
    plain = call(f"{library}_convolution_relu", IMAGE, DENSE, *[NONE] * 5, values=["", "", "", SAME, SAME, SAME, "1"])
    added = call(
        f"{library}_convolution_add_relu", IMAGE, DENSE, OUTPUT, *[NONE] * 6,
        values=["", "", "", "", "", SAME, SAME, SAME, "1"],
    )  # fmt: skip
    assert flop_of(plain) == flop_of(added) == DENSE_FLOP


def settings_of(**arguments: Any) -> str:
    given = call("convolution_backward", OUTPUT, IMAGE, DENSE, [], [], values=["", "", "", "[12]", SAME, SAME])
    return str(describe_convolution(given._replace(**arguments))[-1].attributes)


def test_a_gradient_sums_the_bias_that_it_lists() -> None:
    assert "bias=1" in settings_of()
    assert "bias" not in settings_of(values=json.dumps(["", "", "", "[0]", SAME, SAME]).encode())


def test_a_convolution_adds_the_bias_that_it_lists() -> None:
    biased, plain = (
        describe_convolution(call("mkldnn_convolution", IMAGE, DENSE, *bias))[0] for bias in ([[K]], [NONE])
    )
    assert "bias=1" in str(biased.attributes)
    assert "bias" not in str(plain.attributes)


def test_strides_tell_whether_the_channels_are_last_in_memory() -> None:
    first, last = [C * SIDE**2, SIDE**2, SIDE, 1], [C * SIDE**2, 1, C * SIDE, C]
    rest: list[list[int]] = [[K, 1, 1, 1], [], []]
    assert "channels_last=1" in settings_of(strides=json.dumps([last, last, *rest]).encode())
    assert "channels_last" not in settings_of(strides=json.dumps([first, first, *rest]).encode())
    assert "channels_last" not in settings_of()
