"""Which model each op takes."""

import pandas as pd
import pytest

from estimator.core.types import Workload
from estimator.model.kernels.registry import KERNEL_MODELS, models_of
from estimator.work import convert_precision, count_work
from tests.conftest import make_ops

IMAGES = {"shapes": "8x32x32x64", "output_shapes": "8x16x16x64"}


def models(work: pd.DataFrame) -> list[str]:
    """The name of the model that each op takes, "" where it takes none."""
    found = [""] * len(work)
    for name, _, rows in models_of(work):
        for place in rows.nonzero()[0]:
            assert not found[place]
            found[place] = name
    return found


@pytest.mark.parametrize(
    ("op", "model"),
    [
        ({"op_type": "MatMul", "shapes": "8x16;16x32"}, "gemm"),
        ({"op_type": "Conv2D", "shapes": "8x9x9x4;3x3x4x8", "attributes": "padding=SAME"}, "convolution"),
        ({"op_type": "DepthwiseConv2dNative", "shapes": "8x9x9x4;3x3x4x1", "attributes": "padding=SAME"}, "depthwise"),
        ({"op_type": "MaxPool", **IMAGES}, "pooling"),
        ({"op_type": "Sigmoid", "shapes": "8x16"}, "activation"),
        ({"op_type": "TanhGrad", "shapes": "8x16;8x16"}, "activation"),
        ({"op_type": "Relu", "shapes": "8x16"}, "memory-bound"),
        ({"op_type": "Softmax", "shapes": "8x16"}, "memory-bound"),
        ({"op_type": "BiasAdd", "shapes": "8x16;16"}, "bias_add"),
        ({"op_type": "BiasAddGrad", "shapes": "8x16", "output_shapes": "16"}, "bias_grad"),
        ({"op_class": "gemm", "op_type": "Mystery", "flop": 1e6, "bytes": 1e6}, "other"),
        ({"op_type": "Mystery"}, ""),
    ],
)
def test_an_op_takes_the_model_of_its_kernel(op: dict[str, object], model: str) -> None:
    assert models(count_work(make_ops(op), Workload(name="toy")).work) == [model]


def test_a_cast_to_a_narrow_format_takes_the_model_of_casts() -> None:
    ops = make_ops({"op_type": "MatMul", "shapes": "8x512;512x512", "output_shapes": "8x512", "phase": "forward"},
                   {"op_type": "MatMul", "shapes": "8x512;8x512", "phase": "backward"})  # fmt: skip
    narrow = convert_precision(count_work(ops, Workload(name="toy")).work, Workload(name="toy"), "bf16").work
    assert set(models(narrow)) == {"gemm", "cast"}


def test_every_fallback_is_a_model() -> None:
    assert {model.fallback for model in KERNEL_MODELS.values()} - {""} <= KERNEL_MODELS.keys()
