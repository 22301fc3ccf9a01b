"""What one call of a product takes: tiles, or for a vector a stream of the matrix."""

import pandas as pd
import pytest

from estimator.core.types import Floats
from estimator.devices import load_device
from estimator.model.coefficients import Coefficients, shipped
from estimator.model.kernels.kernel_model import KernelInputs
from estimator.model.kernels.registry import KERNEL_MODELS

COEFFICIENTS = shipped()
DEVICE = load_device("v100-sxm2-16gb")
BANDWIDTH = 900e9


def busy(*rows: dict[str, object], coefficients: Coefficients = COEFFICIENTS) -> Floats:
    """Time of one call of each row [s] without its launch."""
    inputs = KernelInputs.on_device(pd.DataFrame(rows), DEVICE, coefficients)
    return KERNEL_MODELS["gemm"].busy_time(inputs).time_s


def product(m: int, n: int, k: int) -> dict[str, object]:
    return {"op_class": "gemm", "precision": "fp32", "batch": 1, "m": m, "n": n, "k": k}


def test_a_product_with_a_vector_streams_the_matrix() -> None:
    streamed = 4 * (8192 * 8192 + 2 * 8192) / (COEFFICIENTS.memory_bound.streaming * BANDWIDTH)
    actual = busy(product(1, 8192, 8192), product(8192, 1, 8192))
    assert actual == pytest.approx(streamed, rel=0.05)


def test_a_product_of_two_vectors_is_cut_into_tiles() -> None:
    """However well streams do, it takes what tiles take."""
    streams = COEFFICIENTS.memory_bound.model_copy(update={"streaming": 1.0})
    at_best = COEFFICIENTS.model_copy(update={"memory_bound": streams})
    shapes = product(8192, 8192, 1), product(1, 8192, 8192)
    outer, vector = busy(*shapes) / busy(*shapes, coefficients=at_best)
    assert outer == 1
    assert vector > 1.1


def test_an_op_without_work_has_no_amounts() -> None:
    """Such as a part of a layer that the target's library runs, whose sizes are unknown."""
    amounts = [{"flop": amount, "bytes": amount, "calls": 1.0} for amount in (0.0, 8.0)]
    rows = pd.DataFrame(amounts).assign(op_class="gemm", precision="fp32")
    inputs, model = KernelInputs.on_device(rows, DEVICE, COEFFICIENTS), KERNEL_MODELS["other"]
    assert model.features(inputs, model.busy_time(inputs)).coordinates.tolist() == [[0, 0], [3, 3]]
