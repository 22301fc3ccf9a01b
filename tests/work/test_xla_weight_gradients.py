"""Gradients of weights as XLA writes them: the dimensions are those of the forward convolution, FLOP stay exact."""

import pytest

from estimator.work.convolution import Convolution, read_convolution
from estimator.work.shapes import Op, read_attributes, read_shapes
from estimator.work.xla_convolution import exact_flop


def read(shapes: str, result: str, attributes: str) -> Convolution:
    op = Op("convolution", "convolution", read_shapes(shapes, 1), read_shapes(result, 1), read_attributes(attributes))
    convolution = read_convolution(op)
    assert convolution is not None
    assert convolution.flop == exact_flop(op)
    return convolution


def test_the_image_with_the_outputs_gradient_gives_the_weights() -> None:
    """A 3 × 3 convolution of 64 images, 3 to 32 channels; XLA has the channels where samples are."""
    labels = "labels=b01f_01io->b01f;window=28x28;strides=1x1;pads=1_1x1_1"
    actual = read("3x28x28x64;28x28x64x32", "3x3x3x32", labels)
    assert (actual.n, actual.c, actual.k, actual.groups, actual.direction) == (64, 3, 32, 1, "grad_weights")
    assert (actual.image, actual.window, actual.output, actual.pads) == ((28, 28), (3, 3), (28, 28), (1, 1))


def test_a_hole_in_the_window_is_a_stride_of_the_forward_pass_and_a_stride_a_hole() -> None:
    strided = "labels=b01f_01io->b01f;window=16x16;strides=1x1;pads=0_1x0_1;rhs_dilations=2x2"
    actual = read("3x32x32x16;16x16x16x32", "3x3x3x32", strided)
    assert (actual.strides, actual.dilations, actual.window, actual.output) == ((2, 2), (1, 1), (3, 3), (16, 16))
    dilated = "labels=b01f_01io->b01f;window=8x8;strides=2x2;pads=2_2x2_2;rhs_dilations=1x1"
    actual = read("64x8x8x16;8x8x16x64", "64x3x3x64", dilated)
    assert (actual.strides, actual.dilations, actual.window, actual.output) == ((1, 1), (2, 2), (3, 3), (8, 8))


def test_patches_beside_each_other_have_as_many_points_as_their_windows() -> None:
    """An image of 64 points in 8 patches of 8."""
    actual = read("3x64x64x4;8x8x4x128", "3x8x8x128", "labels=b01f_01io->b01f;window=8x8;rhs_dilations=8x8")
    assert (actual.n, actual.c, actual.k, actual.strides, actual.direction) == (4, 3, 128, (8, 8), "grad_weights")


def test_labels_may_have_any_order() -> None:
    labels = "labels=f01b_i01o->01bf;window=14x14;pads=0_0x0_0"
    actual = read("64x14x14x32;64x14x14x128", "1x1x32x128", labels)
    assert (actual.n, actual.c, actual.k, actual.window, actual.output) == (64, 32, 128, (1, 1), (14, 14))


@pytest.mark.parametrize(
    ("shapes", "result", "attributes"),
    [
        ("2x7x7x64;7x7x64x100", "2x1x1x100", "window=7x7;pass=forward"),  # a layer over the whole image
        ("2x224x224x3;16x16x3x64", "2x14x14x64", "window=16x16;strides=16x16"),  # patches
        ("2x8x8x3;3x3x3x4", "2x8x8x4", "window=3x3;pads=1_1x1_1"),
        ("2x3x3x3;3x3x3x4", "2x3x3x4", "window=3x3;pads=1_1x1_1"),
    ],
)
def test_other_convolutions_stay_as_they_are(shapes: str, result: str, attributes: str) -> None:
    actual = read(shapes, result, f"labels=b01f_01io->b01f;{attributes}")
    assert actual.direction == "forward"
    assert (actual.n, actual.k) == (2, int(result.rpartition("x")[2]))


def test_an_axis_may_stand_for_groups() -> None:
    """Of 4 groups, 4 of 16 channels each, as XLA writes them for a processor."""
    grouped = (
        "labels=b012f_012io->b012f;window=32x32x4;strides=1x1x3;pads=1_1x1_1x0_0;lhs_dilations=1x1x4;"
        "rhs_dilations=1x1x1;groups=1;batch_groups=1"
    )
    actual = read("4x32x32x4x8;32x32x4x8x4", "4x3x3x4x4", grouped)
    assert (actual.n, actual.c, actual.k, actual.groups, actual.direction) == (8, 16, 16, 4, "grad_weights")
    assert (actual.image, actual.window, actual.output) == ((32, 32), (3, 3), (32, 32))
    first = (
        "labels=b012f_012io->b012f;window=4x32x32;strides=3x1x1;pads=0_0x1_1x1_1;lhs_dilations=4x1x1;"
        "rhs_dilations=1x1x1"
    )
    assert read("4x4x32x32x8;4x32x32x8x4", "4x4x3x3x4", first) == actual


def test_an_axis_stands_for_groups_of_convolutions_in_space() -> None:
    grouped = "labels=b0123f_0123io->b0123f;window=8x8x8x4;strides=1x1x1x3;pads=1_1x1_1x1_1x0_0;lhs_dilations=1x1x1x4"
    actual = read("8x8x8x8x4x2;8x8x8x4x2x8", "8x3x3x3x4x8", f"{grouped};rhs_dilations=1x1x1x1")
    assert (actual.n, actual.c, actual.k, actual.groups, actual.window) == (2, 32, 32, 4, (3, 3, 3))


def test_the_inputs_gradient_of_a_strided_convolution_has_no_groups() -> None:
    """Along one axis, of window and stride 2."""
    actual = read("8x16x4;2x4x3", "8x32x3", "labels=b0f_0io->b0f;window=2;strides=1;pads=1_1;lhs_dilations=2")
    assert (actual.direction, actual.groups, actual.image, actual.output) == ("grad_input", 1, (32,), (16,))


def test_a_librarys_pass_is_what_its_name_says() -> None:
    operands, result = read_shapes("8x28x28x1;8x24x24x6", 1), read_shapes("5x5x1x6", 1)
    attributes = read_attributes("labels=b01f_01io->b01f;window=5x5")
    name = "__cudnn$convBackwardFilter"
    actual = read_convolution(Op("custom-call", name, operands, result, attributes))
    assert actual is not None
    assert (actual.n, actual.c, actual.k, actual.window, actual.direction) == (8, 1, 6, (5, 5), "grad_weights")
