"""What one call of a convolution takes: its passes, and what published shapes add."""

import numpy as np
import pandas as pd
import pytest

from estimator.core.types import DeviceSpec, Floats
from estimator.devices import load_device
from estimator.model.coefficients import Coefficients, shipped
from estimator.model.convolution_coefficients import PublishedShape
from estimator.model.kernels.kernel_model import KernelInputs
from estimator.model.kernels.registry import KERNEL_MODELS
from tests.conftest import make_device
from tests.model.toy import faster

COEFFICIENTS = shipped()
DEVICE = load_device("v100-sxm2-16gb")
LAYER = {
    "op_class": "convolution", "precision": "fp32", "pass": "forward", "conv_n": 8, "conv_c": 64, "conv_h": 28,
    "conv_w": 28, "conv_k": 64, "conv_r": 3, "conv_s": 3, "pad_h": 1, "pad_w": 1, "stride_h": 1, "stride_w": 1,
    "flop": 1e9, "bytes": 1e6,
}  # fmt: skip
RESNET = [  # images of 224, in a batch of 32: input and output channels, side of the image, of the window, stride
    (3, 64, 224, 7, 2), (64, 64, 56, 1, 1), (64, 64, 56, 3, 1), (64, 256, 56, 1, 1), (256, 128, 56, 1, 1),
    (256, 512, 56, 1, 2), (128, 128, 28, 3, 1), (512, 1024, 28, 1, 2), (256, 256, 14, 3, 1), (1024, 256, 14, 1, 1),
    (512, 512, 14, 3, 2), (512, 512, 7, 3, 1), (512, 2048, 7, 1, 1),
]  # fmt: skip
PLAIN = make_device(peak={"fp32": "10 TFLOP/s", "bf16": {"tensor": "90 TFLOP/s"}})  # no more than a file must have
DEVICES = [
    *(load_device(name) for name in ("v100-sxm2-16gb", "t4", "h100-sxm5-80gb", "gb200", "b300-sxm", "h20", "mi300x")),
    *(load_device(name) for name in ("tpu-v4", "max-1550", "xeon-phi-7250", "epyc-9654")),
    PLAIN,
]
ON_DEVICES = [
    pytest.param(device, precision, id=f"{device.name} {precision}")
    for device in DEVICES
    for precision in ("fp32", "fp16", "bf16")
    if device.peak_of(precision).matrix
]


def resnet(precision: str) -> list[dict[str, object]]:
    """The three passes of convolutions as in ResNet-50."""
    return [
        {
            **LAYER, "precision": precision, "pass": direction, "conv_n": 32, "conv_c": c, "conv_k": k, "conv_h": image,
            "conv_w": image, "conv_r": side, "conv_s": side, "pad_h": side // 2, "pad_w": side // 2,
            "stride_h": stride, "stride_w": stride, "flop": np.nan, "bytes": np.nan,
        }
        for c, k, image, side, stride in RESNET
        for direction in ("forward", "grad_input", "grad_weights")
    ]  # fmt: skip


def busy(*rows: dict[str, object], device: DeviceSpec = DEVICE, coefficients: Coefficients = COEFFICIENTS) -> Floats:
    """Time of one call of each row [s] without its launch."""
    inputs = KernelInputs.on_device(pd.DataFrame(rows), device, coefficients)
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


@pytest.mark.parametrize("rate", ["vector", "tensor", "memory_bandwidth"])
@pytest.mark.parametrize(("device", "precision"), ON_DEVICES)
def test_no_time_rises_with_a_higher_peak_or_bandwidth(device: DeviceSpec, precision: str, rate: str) -> None:
    """Though nothing else of the device changes; its power limit neither, so that it may stay as it is."""
    one, more, most = (busy(*resnet(precision), device=faster(device, factor, [rate])) for factor in (1.0, 1.5, 4.0))
    assert (more <= one * (1 + 1e-12)).all()
    assert (most <= more * (1 + 1e-12)).all()


@pytest.mark.parametrize(("device", "precision"), ON_DEVICES)
def test_doubling_every_peak_and_bandwidth_halves_every_time(device: DeviceSpec, precision: str) -> None:
    """Also on tensor units, while the peak of the vector units doubles too."""
    one, two = (busy(*resnet(precision), device=faster(device, factor)) for factor in (1.0, 2.0))
    assert two == pytest.approx(one / 2, rel=1e-9)
