"""The geometry of convolutions, read from any table."""

import numpy as np
import pandas as pd
import pytest

from estimator.core.conv_shape import ConvShape, is_depthwise
from estimator.core.schema import MEASUREMENTS, WORK

SIZES = {"conv_n": 2, "conv_c": 4, "conv_h": 9, "conv_w": 10, "conv_k": 6, "conv_r": 3, "conv_s": 2}


def shape_of(**row: object) -> ConvShape:
    return ConvShape.from_table(pd.DataFrame([{**SIZES, **row}]))


def test_a_missing_column_and_a_missing_value_mean_the_default() -> None:
    bare = shape_of()
    row = {"op": "a", "time_s": 1.0, "op_class": "convolution", "precision": "fp32", **SIZES}
    for table in (WORK, MEASUREMENTS):
        empty = ConvShape.from_table(table.conform(pd.DataFrame([row]), "here"))
        for name, values in vars(bare).items():
            np.testing.assert_array_equal(values, getattr(empty, name))
    assert bare.groups.tolist() == [1]
    assert bare.stride.ravel().tolist() == bare.dilation.ravel().tolist() == [1, 1, 1]
    assert bare.pad.ravel().tolist() == [0, 0, 0]
    assert (bare.image[0], bare.window[0], bare.output[0]) == (1, 1, 1)


def test_output_size_is_as_stated_else_derived() -> None:
    assert shape_of(stride_h=2, pad_h=1, dilation_w=3).output.ravel().tolist() == [1, 5, 7]
    assert shape_of(conv_p=4).output.ravel().tolist() == [1, 4, 9]


def test_flop_and_bytes_equal_those_of_explicit_loops() -> None:
    shape = shape_of(conv_d=5, conv_t=2, groups=2)
    outputs, weights = 2 * 6 * (4 * 7 * 9), 6 * 4 / 2 * (2 * 3 * 2)
    assert shape.flop().item() == 2 * outputs * 4 / 2 * (2 * 3 * 2)
    assert shape.bytes(4).item() == 4 * (2 * 4 * 5 * 9 * 10 + weights + outputs)


@pytest.mark.parametrize("name", SIZES)
def test_a_missing_size_gives_nan(name: str) -> None:
    assert np.isnan(shape_of(**{name: np.nan}).flop() + shape_of(**{name: np.nan}).bytes(4))


@pytest.mark.parametrize(
    ("fields", "expected"),
    [({}, True), ({"conv_k": 16}, True), ({"groups": 4}, False), ({"conv_c": 1, "groups": 1}, False),
     ({"op_class": "gemm"}, False)],
)  # fmt: skip
def test_a_depthwise_convolution_has_a_group_for_each_channel(fields: dict[str, object], expected: bool) -> None:
    row = {"op_class": "convolution", "conv_c": 8, "conv_k": 8, "groups": 8} | fields
    assert is_depthwise(pd.DataFrame([row])).tolist() == [expected]
