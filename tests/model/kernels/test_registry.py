"""Which model each op takes."""

import pandas as pd
import pytest

from estimator.core.types import DeviceSpec, Workload
from estimator.model.kernels.registry import KERNEL_MODELS, correcting_rows, models_of
from estimator.work import convert_precision, count_work
from tests.conftest import make_device, make_ops

IMAGES = {"shapes": "8x32x32x64", "output_shapes": "8x16x16x64"}
GPU, OTHER = make_device(compute_unit="SM"), make_device(compute_unit="MXU")
DEPTHWISE = {"op_type": "DepthwiseConv2dNative", "shapes": "8x9x9x4;3x3x4x1", "attributes": "padding=SAME"}


def models(work: pd.DataFrame, device: DeviceSpec = GPU) -> list[str]:
    """The name of the model that each op takes, "" where it takes none."""
    actual = [""] * len(work)
    for name, _, rows in models_of(work, device):
        for place in rows.nonzero()[0]:
            assert not actual[place]
            actual[place] = name
    return actual


@pytest.mark.parametrize(
    ("op", "model"),
    [
        ({"op_type": "MatMul", "shapes": "8x16;16x32"}, "gemm"),
        ({"op_type": "Conv2D", "shapes": "8x9x9x4;3x3x4x8", "attributes": "padding=SAME"}, "convolution"),
        (DEPTHWISE, "depthwise"),
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


@pytest.mark.parametrize(("device", "model", "both"), [(GPU, "depthwise", False), (OTHER, "convolution", True)])
def test_depthwise_convolutions_are_others_on_gpus_alone(device: DeviceSpec, model: str, both: bool) -> None:
    plain = {"op_type": "Conv2D", "shapes": "8x9x9x4;3x3x4x8", "attributes": "padding=SAME"}
    work = count_work(make_ops(DEPTHWISE, plain), Workload(name="toy")).work
    assert models(work, device) == [model, "convolution"]
    assert correcting_rows(KERNEL_MODELS["convolution"], work, device).tolist() == [both, True]


def test_every_fallback_is_a_model() -> None:
    assert {model.fallback for model in KERNEL_MODELS.values()} - {""} <= KERNEL_MODELS.keys()
