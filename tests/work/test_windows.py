"""Strides, padding and dilation of convolutions along the spatial axes, by hand."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from estimator.core.errors import EstimatorError
from estimator.work.shapes import Op, Shape
from estimator.work.windows import paddings, per_axis, spatial_sizes


def op(**attributes: str) -> Op:
    return Op("Conv2D", "", (), (), attributes)


def test_what_is_not_stated_is_1_along_each_axis() -> None:
    assert per_axis(op(), "strides", 3) == (1, 1, 1)
    assert per_axis(op(strides="2x3"), "strides", 2) == (2, 3)


@pytest.mark.parametrize("stated", ["2", "2x2x2", "0x2"])
def test_a_stride_for_each_axis_is_above_0(stated: str) -> None:
    expected = f"strides is '{stated}'; expected 2 whole numbers above 0, one for each axis"
    with pytest.raises(EstimatorError) as error:
        per_axis(op(strides=stated), "strides", 2)
    assert str(error.value) == expected


def test_xla_states_the_windows_dilation_and_own_strides() -> None:
    forward = op(labels="b01f_01io->b01f", strides="2x2", rhs_dilations="1x3", dilations="9x9")
    assert per_axis(forward, "dilations", 2) == (1, 3)
    assert per_axis(forward, "strides", 2) == (2, 2)
    assert per_axis(op(labels="", window="5x6"), "window", 2) == (5, 6)


def test_the_dilation_of_xlas_image_is_the_stride_of_the_forward_pass() -> None:
    backward = op(labels="b01f_01oi->b01f", lhs_dilations="2x3", strides="1x1")
    assert per_axis(backward, "strides", 2) == (2, 3)


@pytest.mark.parametrize(
    ("attributes", "expected"),
    [
        ({"padding": "VALID"}, [(0, 0), (0, 0)]),
        ({"padding": "valid", "pads": "1x1"}, [(0, 0), (0, 0)]),
        ({"padding": "SAME"}, None),
        ({}, None),
        ({"pads": "1x2"}, [(1, 1), (2, 2)]),
        ({"pads": "0_1x-2_3"}, [(0, 1), (-2, 3)]),
        ({"pads": "1x1", "labels": "b01f_01oi->b01f", "lhs_dilations": "2x1"}, None),  # of the gradient, not the image
    ],
)
def test_padding_before_and_behind_each_axis(
    attributes: dict[str, str], expected: list[tuple[int, int]] | None
) -> None:
    assert paddings(op(**attributes), 2) == expected


@pytest.mark.parametrize("stated", ["1", "1x1x1", "1_1_1x1", "ax1", ""])
def test_padding_that_does_not_fit_the_axes_is_refused(stated: str) -> None:
    with pytest.raises(EstimatorError) as error:
        paddings(op(pads=stated), 2)
    assert str(error.value) == f"pads is '{stated}'; expected one for each of 2 axes, such as 1x1 or 0_1x0_1"


def sizes(
    image: dict[str, int], output: dict[str, int], reach: Shape, strides: Shape, **attributes: str
) -> tuple[Shape, Shape, Shape] | None:
    return spatial_sizes(op(**attributes), ["H", "W"], image, output, reach, strides)


def test_output_of_an_image_without_padding() -> None:
    assert sizes({"H": 28, "W": 10}, {}, (5, 3), (1, 2), padding="VALID") == ((28, 10), (24, 4), (0, 0))


def test_output_of_an_image_with_stated_padding() -> None:
    assert sizes({"H": 28, "W": 10}, {}, (5, 3), (1, 2), pads="2x0_1") == ((28, 10), (28, 5), (2, 0))


def test_output_of_the_same_size_is_the_image_over_the_stride() -> None:
    assert sizes({"H": 28, "W": 9}, {}, (5, 3), (1, 2), padding="same") == ((28, 9), (28, 5), (2, 1))


def test_an_unknown_image_is_the_smallest_that_gives_the_output() -> None:
    assert sizes({}, {"H": 24, "W": 4}, (5, 3), (1, 2), pads="0x1_0") == ((28, 8), (24, 4), (0, 1))
    assert sizes({}, {"H": 24, "W": 4}, (5, 3), (1, 2)) == ((24, 7), (24, 4), (2, 1))


def test_sizes_of_both_tell_the_padding() -> None:
    assert sizes({"H": 28, "W": 11}, {"H": 28, "W": 4}, (5, 3), (1, 2)) == ((28, 11), (28, 4), (2, 0))


def test_without_output_or_padding_nothing_is_known() -> None:
    assert sizes({"H": 28, "W": 10}, {}, (5, 3), (1, 2)) is None


def test_an_axis_of_neither_image_nor_output_is_unknown() -> None:
    assert sizes({"H": 28}, {"H": 28}, (5, 3), (1, 1)) is None


@given(st.integers(1, 200), st.integers(1, 9), st.integers(1, 4), st.integers(0, 4))
def test_image_and_output_tell_each_other(output: int, window: int, stride: int, pad: int) -> None:
    """The smallest image of an output has that output."""
    actual = spatial_sizes(op(pads=str(pad)), ["H"], {}, {"H": output}, (window,), (stride,))
    assert actual is not None
    (image,), *_ = actual
    again = spatial_sizes(op(pads=str(pad)), ["H"], {"H": image}, {}, (window,), (stride,))
    assert again == ((image,), (output,), (pad,))
