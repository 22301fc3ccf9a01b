import json
from typing import Any

import pytest

from estimator.profiles.kineto.arguments import Call, Geometry
from estimator.profiles.kineto.convolution_ops import describe_convolution


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
