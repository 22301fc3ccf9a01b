"""Ops that meet each channel with one number, or sum it up."""

import pandas as pd
import pytest

from estimator.core.types import Workload
from estimator.work import count_work
from tests.conftest import make_ops


@pytest.mark.parametrize(
    ("op_type", "shapes", "output", "channels"),
    [
        ("BiasAdd", "60x1024;1024", "60x1024", 1024),
        ("Mul", "1x1x1x32;64x8x8x32", "64x8x8x32", 32),
        ("Mul", "64x8x8x32;64x8x8x32", "64x8x8x32", None),
        ("Mul", "64x8x8x32;1", "64x8x8x32", None),
        ("Mul", "64x32;64x1", "64x32", None),
        ("Mul", "64x32;32", None, 32),
        ("Mul", "32;32", "32", None),
        ("Relu", "64x32", "64x32", None),
        ("SquaredDifference", "64x32;unknown", "64x32", None),
        ("Sum", "64x8x8x32;3", "32", 32),
        ("Mean", "64x8x8x32;3", "1x1x1x32", 32),
        ("Sum", "64x8x8x32;3", "64", None),
        ("Sum", "32x32;1", "32", None),  # of which axis, nobody tells
        ("Sum", "32x32;1", "1x32", 32),
        ("BiasAddGrad", "32x32", "32", 32),
        ("Sum", "64x32;2", "1", None),
        ("Sum", "64x32", None, None),
        ("BiasAddGrad", "64x32", None, 32),
        ("BiasAddGrad", "8x32x4x4", "32", None),  # the channels stand first
        ("BroadcastTo", "64x1x3;3", "64x7x3", None),
    ],
)
def test_channels_are_those_of_the_last_axis(
    op_type: str, shapes: str, output: str | None, channels: int | None
) -> None:
    ops = make_ops({"op_type": op_type, "shapes": shapes, "output_shapes": output})
    work = count_work(ops, Workload(name="toy")).work
    assert work["conv_c"].item() is pd.NA if channels is None else work["conv_c"].item() == channels


@pytest.mark.parametrize(
    ("op_type", "shapes", "channels"),
    [
        ("aten::native_batch_norm", "64x32x8x8;32;32;32;32", 32),
        ("aten::cudnn_batch_norm_backward", "64x32x8x8;64x32x8x8;32;32;32", 32),
        ("FusedBatchNormV3", "64x8x8x32;32;32;0;0", 32),
        ("aten::native_batch_norm", "64x32x8x8", None),
        ("aten::native_batch_norm", "64x32x8x8;5", None),
        ("aten::native_layer_norm", "64x32;32;32", None),
    ],
)
def test_a_batch_normalization_has_the_channels_of_its_weights(op_type: str, shapes: str, channels: int | None) -> None:
    work = count_work(make_ops({"op_type": op_type, "shapes": shapes}), Workload(name="toy")).work
    assert work["conv_c"].item() is pd.NA if channels is None else work["conv_c"].item() == channels


def test_lists_of_tensors_are_no_broadcast() -> None:
    listed = make_ops({"op_type": "aten::_foreach_mul_", "shapes": "64x32;32", "attributes": "lists=1"})
    assert count_work(listed, Workload(name="toy")).work["conv_c"].isna().all()
