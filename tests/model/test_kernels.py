"""What one call takes by the model of its class, where classes share: vectors stream, gradients add up."""

import numpy as np
import pandas as pd
import pytest

from estimator.core.types import Floats
from estimator.devices import load_device
from estimator.model.coefficients import Coefficients, shipped
from estimator.model.convolution_coefficients import Published
from estimator.model.hardware import hardware_of
from estimator.model.kernels import MODELS

C = shipped()
DEVICE = load_device("v100-sxm2-16gb")
BANDWIDTH = 900e9
LAYER = {
    "op_class": "convolution", "precision": "fp32", "pass": "forward", "conv_n": 8, "conv_c": 64, "conv_h": 28,
    "conv_w": 28, "conv_k": 64, "conv_r": 3, "conv_s": 3, "pad_h": 1, "pad_w": 1, "stride_h": 1, "stride_w": 1,
    "flop": 1e9, "bytes": 1e6,
}  # fmt: skip


def busy(name: str, *rows: dict[str, object], c: Coefficients = C) -> Floats:
    """Time of one call of each row [s] without its launch."""
    table = pd.DataFrame(rows)
    on = hardware_of(DEVICE, table["op_class"], table["precision"])
    return MODELS[name].busy(table, on, DEVICE, c).time


def product(m: int, n: int, k: int) -> dict[str, object]:
    return {"op_class": "gemm", "precision": "fp32", "batch": 1, "m": m, "n": n, "k": k}


def test_a_product_with_a_vector_streams_the_matrix() -> None:
    streamed = 4 * (8192 * 8192 + 2 * 8192) / (C.memory_bound.streaming * BANDWIDTH)
    found = busy("gemm", product(1, 8192, 8192), product(8192, 1, 8192))
    assert found == pytest.approx(streamed, rel=0.05)


def test_a_product_of_two_vectors_is_cut_into_tiles() -> None:
    """However well streams do, it takes what tiles take."""
    at_best = C.model_copy(update={"memory_bound": C.memory_bound.model_copy(update={"streaming": 1.0})})
    shapes = product(8192, 8192, 1), product(1, 8192, 8192)
    outer, vector = busy("gemm", *shapes) / busy("gemm", *shapes, c=at_best)
    assert outer == 1
    assert vector > 1.1


def test_a_backward_pass_is_both_gradients() -> None:
    both, to_input, to_weights = busy(
        "convolution", *({**LAYER, "pass": made} for made in ("backward", "grad_input", "grad_weights"))
    )
    assert min(to_input, to_weights) > 0
    assert both == pytest.approx(to_input + to_weights)


@pytest.mark.parametrize("longer", [0.4, -0.4])
def test_a_shape_that_took_longer_elsewhere_takes_longer(longer: float) -> None:
    shape = Published("forward", "vector", True, "fp32", 8, 64, 28, 28, 64, 3, 3, 1, 1, 1, 1, longer, families=4)
    told, nothing = (
        C.model_copy(update={"convolution": C.convolution.model_copy(update={"published": published})})
        for published in ((shape,), ())
    )
    assert np.log(busy("convolution", LAYER, c=told) / busy("convolution", LAYER, c=nothing)) == pytest.approx(
        longer, rel=0.1
    )
