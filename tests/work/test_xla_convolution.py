import pytest

from estimator.core.errors import EstimatorError
from estimator.work.convolution import Convolution, read_convolution
from estimator.work.shapes import Op, read_attributes, read_shapes
from estimator.work.xla_convolution import labelled_layouts, sample_places


def read(shapes: str, output: str, attributes: str, kernel: str = "convolution") -> Convolution:
    op = Op("convolution", kernel, read_shapes(shapes, None), read_shapes(output, None), read_attributes(attributes))
    convolution = read_convolution(op)
    assert convolution is not None
    return convolution


def test_layouts_from_labels() -> None:
    assert labelled_layouts("b01f_01io->b01f") == {"image": "NHWC", "weights": "HWIO", "output": "NHWC"}
    assert labelled_layouts("f0b_0io->0bf") == {"image": "CWN", "weights": "WIO", "output": "WNC"}


def test_groups_of_three_axes_of_space_are_a_fourth_axis() -> None:
    assert labelled_layouts("b0123f_0123io->b0123f")["image"] == "NADHWC"


def test_samples_are_features_in_a_gradient_of_weights() -> None:
    assert sample_places("b01f_01io->b01f", "forward") == (0, None, 0)
    assert sample_places("b01f_01io->01bf", "grad_weights") == (3, 2, None)


def test_products_with_padding_do_not_count() -> None:
    convolution = read("2x8x8x3;3x3x3x4", "2x8x8x4", "labels=b01f_01io->b01f;window=3x3;pads=1_1x1_1")
    assert convolution.flop == 2 * 2 * 4 * 3 * (8 * 3 - 2) ** 2  # of 24 pairs of output and window two meet the padding
    assert (convolution.n, convolution.c, convolution.k, convolution.image, convolution.window, convolution.output) == (
        2,
        3,
        4,
        (8, 8),
        (3, 3),
        (8, 8),
    )


def test_a_dilated_image_is_the_input_gradient_of_a_strided_convolution() -> None:
    attributes = "labels=b01f_01oi->b01f;window=3x3;strides=1x1;pads=2_2x2_2;lhs_dilations=2x2"
    convolution = read("2x4x4x16;3x3x5x16", "2x9x9x5", attributes)
    assert convolution.direction == "grad_input"
    assert (convolution.c, convolution.k, convolution.image, convolution.output, convolution.strides) == (
        5,
        16,
        (9, 9),
        (4, 4),
        (2, 2),
    )
    assert convolution.flop == 2 * 2 * 16 * 5 * (4 * 3) ** 2  # every output point of the forward pass once


def test_negative_padding_crops() -> None:
    convolution = read("2x9x9x3;3x3x3x4", "2x5x5x4", "labels=b01f_01io->b01f;pads=-1_-1x-1_-1")
    assert convolution.flop == 2 * 2 * 25 * 4 * 3 * 9
    assert convolution.columns()["pad_h"] == 0


def test_groups_and_batch_groups() -> None:
    grouped = read("2x8x8x6;1x1x2x9", "2x8x8x9", "labels=b01f_01io->b01f;window=1x1;groups=3")
    assert grouped.flop == 2 * 2 * 64 * 9 * 2
    batched = read("6x8x8x2;1x1x2x9", "2x8x8x9", "labels=b01f_01io->b01f;window=1x1;batch_groups=3")
    assert batched.flop == 2 * 2 * 64 * 9 * 2


def test_cudnn_calls_by_their_target() -> None:
    labels = "labels=b01f_01io->b01f;window=3x3;strides=2x2;pads=1_1x1_1"
    image, weights, output = "2x9x9x3", "3x3x3x4", "2x5x5x4"
    for kernel, shapes, result, direction in (
        ("__cudnn$convForward", f"{image};{weights}", output, "forward"),
        ("__cudnn$convBackwardInput", f"{output};{weights}", image, "grad_input"),
        ("__cudnn$convBackwardFilter", f"{image};{output}", weights, "grad_weights"),
    ):
        convolution = read(shapes, result, labels, kernel)
        assert (convolution.direction, convolution.image, convolution.window, convolution.output) == (
            direction,
            (9, 9),
            (3, 3),
            (5, 5),
        )
        assert convolution.flop is None


@pytest.mark.parametrize(
    "labels", ["b01f_01io->b01f->b", "b01f_01_io->b01f", "b01f_01io->b0>1f", "b01f_01io", "b01f->b01f"]
)
def test_labels_are_of_three_tensors(labels: str) -> None:
    with pytest.raises(EstimatorError) as error:
        labelled_layouts(labels)
    assert str(error.value) == f"labels is '{labels}'; expected such as b01f_01io->b01f"


@pytest.mark.parametrize("attributes", ["labels=b01f", "labels=bxxf_01io->b01f", "labels=b01f_01io->b01f;strides=1"])
def test_unreadable_attributes_are_refused(attributes: str) -> None:
    with pytest.raises(EstimatorError):
        read("2x8x8x6;1x1x6x9", "2x8x8x9", attributes)
