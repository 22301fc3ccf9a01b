"""Passes of convolutions as algorithms compute them."""

import numpy as np
import pandas as pd
import pytest

from estimator.model.convolution_passes import ConvPasses, conv_passes
from tests.model.convolution_rows import row


def passes(tensor: bool = False, **sizes: object) -> ConvPasses:
    return conv_passes(row(**sizes), np.array([tensor]))


@pytest.mark.parametrize(
    ("stated", "direction"),
    [(None, "forward"), ("forward", "forward"), ("backward", "grad_input"), ("grad_weights", "grad_weights")],
)
def test_a_pass_that_is_not_stated_is_forward_and_both_gradients_count_as_that_of_the_input(
    stated: str | None, direction: str
) -> None:
    assert passes(**{"pass": stated}).direction.tolist() == [direction]  # type: ignore[arg-type]


def test_channels_are_those_of_one_group_and_whole_vector_loads_on_tensor_units() -> None:
    assert (passes(conv_c=60, groups=4).c.item(), passes(conv_k=60, groups=4).k.item()) == (15, 15)
    assert passes(tensor=True, precision="fp16", conv_c=3).c.item() == 8
    assert passes(precision="fp16", conv_c=3).c.item() == 3


def test_the_depth_is_a_factor_of_image_output_and_window() -> None:
    flat, deep = passes(), passes(conv_d=10, conv_t=3)
    assert (deep.image / flat.image).item() == 10
    assert (deep.p / flat.p).item() == 8
    assert (deep.window / flat.window).item() == 3


def test_only_square_windows_in_2d_that_move_by_ones_have_a_side() -> None:
    others = ({"conv_s": 5}, {"stride_w": 2}, {"dilation_h": 2}, {"conv_t": 3, "conv_d": 3})
    assert passes().side.item() == 3
    assert [passes(**sizes).side.item() for sizes in others] == [0, 0, 0, 0]  # type: ignore[arg-type]


def test_each_pass_takes_the_value_of_its_direction() -> None:
    rows = pd.concat([row(**{"pass": name}) for name in ("forward", "grad_input", "grad_weights")])
    assert conv_passes(rows, np.zeros(3, bool)).of_direction(1.0, 2.0, 3.0).tolist() == [1, 2, 3]
