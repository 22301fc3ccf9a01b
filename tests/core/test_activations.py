import pandas as pd
import pytest

from estimator.collect.measure import bench
from estimator.core.activations import KERNELS, activations


@pytest.mark.parametrize(
    ("op_type", "kernel"),
    [
        ("Sigmoid", "sigmoid"), ("aten::sigmoid_", "sigmoid"), ("logistic", "sigmoid"), ("TanhGrad", "tanh_grad"),
        ("aten::tanh_backward", "tanh_grad"), ("_MklTanh", "tanh"),
        ("aten::sigmoid.out", "sigmoid"), ("LogSigmoid", ""), ("Relu", ""), (None, ""),
    ],
)  # fmt: skip
def test_the_kernel_that_stands_for_an_op(op_type: str | None, kernel: str) -> None:
    assert activations(pd.DataFrame({"op_type": [op_type], "kernel": [None]})).tolist() == [kernel]


def test_every_kernel_is_measured_and_stands_for_itself() -> None:
    assert activations(pd.DataFrame({"kernel": list(KERNELS)})).tolist() == list(KERNELS)
    assert KERNELS.keys() <= bench.KERNELS.keys()
