"""Layers that are functions of a library, and their gradients, in a trace that has no op of their products."""

from pathlib import Path
from typing import Any

import pytest

from estimator.core.types import Workload
from estimator.work import count_work
from tests.profiles.kineto.events import event, kernel, launch, read

IMAGE, WEIGHT, RESULT = [16, 2, 64], [192, 64], [16, 2, 192]
LINEAR = 2 * 32 * 192 * 64
MLP = {"gated": ([512, 64], [64, 256]), "plain": ([256, 64], [64, 256])}


def layer(name: str, ts: float, *dims: list[int], number: int = 7) -> Any:
    types = ["c10::BFloat16" if sizes else "" for sizes in dims]
    args: dict[str, Any] = {"Input Dims": [*dims], "Input type": types, "Sequence number": number}
    return event(name, ts, 10, **args)


def flop(tmp_path: Path, *events: Any, names: list[str]) -> dict[str, float]:
    """FLOP of products by op, where as many kernels as are named ran in each event, one after the other."""
    starts = [each["ts"] + 1 + i for each in events for i in range(len(names))]
    launched = [launch(ts, number) for number, ts in enumerate(starts, start=1)]
    kernels = [kernel(names[i % len(names)], 500 + 10 * i, 5, i + 1) for i in range(len(starts))]
    profile = read(tmp_path, *events, *launched, *kernels)
    work = count_work(profile.ops, Workload(name="toy")).work
    return {str(op): float(actual) for op, actual in work.groupby(profile.ops["op"])["flop"].sum().items()}


@pytest.mark.parametrize(
    ("name", "tensors"),
    [
        ("_Linear", (WEIGHT, IMAGE, [192], [], [])),
        ("_Linear", (WEIGHT, WEIGHT, [64, 192], IMAGE, [192])),  # before version 2, with copies in fp8
        ("_LayerNormLinear", (IMAGE, [64], [64], WEIGHT, [192])),
        ("_GroupedLinear", (IMAGE, WEIGHT, WEIGHT, [192], [192])),  # of experts, which share the rows
    ],
)
def test_a_layer_multiplies_once_and_its_gradient_twice(
    name: str, tensors: tuple[list[int], ...], tmp_path: Path
) -> None:
    events = [
        layer(name, 0, *tensors),
        layer(f"{name}Backward", 100, RESULT),
        layer(f"{name}Backward", 200, RESULT, number=8),
    ]
    actual = flop(tmp_path, *events, names=["ln_kernel", "nvjet_tst_a", "nvjet_tst_b"])
    assert actual == {name: LINEAR, f"{name}Backward": 2 * LINEAR}  # that of number 8 has no function


@pytest.mark.parametrize(("kind", "weights"), MLP.items())
def test_a_layer_of_two_products(kind: str, weights: tuple[list[int], list[int]], tmp_path: Path) -> None:
    wide, narrow = weights
    tensors = (IMAGE, [64], [64], wide, [wide[0]], narrow, [64])
    events = [layer("_LayerNormMLP", 0, *tensors), layer("_LayerNormMLPBackward", 100, IMAGE)]
    actual = flop(tmp_path, *events, names=[f"nvjet_{i}" for i in range(4)])
    products = 2 * 32 * 64 * (wide[0] + 256)
    assert actual == {"_LayerNormMLP": products, "_LayerNormMLPBackward": 2 * products}, kind


def test_an_op_inside_does_the_work_where_there_is_one(tmp_path: Path) -> None:
    outer, inner = layer("_Linear", 0, WEIGHT, IMAGE), layer("aten::mm", 2, [32, 64], [64, 192])
    profile = read(tmp_path, outer, {**inner, "dur": 5}, launch(3, 1), kernel("nvjet", 50, 5, 1))
    assert profile.ops["op"].tolist() == ["aten::mm"]


def fused(name: str, ts: float, number: int, values: list[str], *dims: list[int]) -> Any:
    types = ["c10::Half" if sizes else "Scalar" for sizes in dims]
    args: dict[str, Any] = {"Input Dims": [*dims], "Input type": types, "Sequence number": number}
    stated: dict[str, Any] = {"Concrete Inputs": values} if values else {}
    return event(name, ts, 10, **args, **stated)


@pytest.mark.parametrize("between", [1, 2])
@pytest.mark.parametrize("stated", [True, False])
def test_a_function_of_apex_convolves_and_its_gradient_twice(between: int, stated: bool, tmp_path: Path) -> None:
    """Its strides follow from the sizes where the trace has no values."""
    name = "ConvBias_" if between == 1 else "ConvFrozenScaleBiasReLU_"
    operands = ([2, 16, 8, 8], [32, 16, 3, 3], *[[1, 32, 1, 1]] * between, [], [])
    values = ["", "", *[""] * between, "1", "2"] if stated else []
    result = [2, 32, 4, 4]
    events = [
        fused(name, 0, 7, values, *operands),
        fused(f"{name}Backward", 100, 7, [""] if stated else [], result),
        fused(f"{name}Backward", 200, 8, [""] if stated else [], result),
    ]
    actual = flop(tmp_path, *events, names=["bias_kernel", "conv_dgrad", "conv_wgrad"])
    convolution = 2 * 2 * 4 * 4 * 32 * 16 * 9
    assert actual == {name: convolution, f"{name}Backward": 2 * convolution}  # that of number 8 has no function
