"""What one call of a convolution takes: its passes, and what published shapes add."""

import numpy as np
import pandas as pd
import pytest

from estimator.core.types import Floats
from estimator.devices import load_device
from estimator.model.coefficients import Coefficients, shipped
from estimator.model.convolution_coefficients import PublishedShape
from estimator.model.kernels.kernel_model import KernelInputs
from estimator.model.kernels.registry import KERNEL_MODELS

COEFFICIENTS = shipped()
DEVICE = load_device("v100-sxm2-16gb")
LAYER = {
    "op_class": "convolution", "precision": "fp32", "pass": "forward", "conv_n": 8, "conv_c": 64, "conv_h": 28,
    "conv_w": 28, "conv_k": 64, "conv_r": 3, "conv_s": 3, "pad_h": 1, "pad_w": 1, "stride_h": 1, "stride_w": 1,
    "flop": 1e9, "bytes": 1e6,
}  # fmt: skip


def busy(*rows: dict[str, object], coefficients: Coefficients = COEFFICIENTS) -> Floats:
    """Time of one call of each row [s] without its launch."""
    inputs = KernelInputs.on_device(pd.DataFrame(rows), DEVICE, coefficients)
    return KERNEL_MODELS["convolution"].busy_time(inputs).time_s


def test_a_backward_pass_is_both_gradients() -> None:
    both, to_input, to_weights = busy(*({**LAYER, "pass": name} for name in ("backward", "grad_input", "grad_weights")))
    assert min(to_input, to_weights) > 0
    assert both == pytest.approx(to_input + to_weights)


@pytest.mark.parametrize("longer", [0.4, -0.4])
def test_a_shape_that_took_longer_elsewhere_takes_longer(longer: float) -> None:
    shape = PublishedShape("forward", "vector", True, "fp32", 8, 64, 28, 28, 64, 3, 3, 1, 1, 1, 1, longer, families=4)
    given, none = (COEFFICIENTS.convolution.model_copy(update={"published": shapes}) for shapes in ((shape,), ()))
    corrected, plain = (
        busy(LAYER, coefficients=COEFFICIENTS.model_copy(update={"convolution": each})) for each in (given, none)
    )
    assert np.log(corrected / plain) == pytest.approx(longer, rel=0.1)
