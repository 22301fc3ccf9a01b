"""Depthwise convolutions, by hand."""

import pandas as pd
import pytest

from estimator.core.types import Floats
from estimator.model.depthwise import unit_times
from estimator.model.hardware import hardware_of
from estimator.model.kernel_priors import DepthwiseCycles
from tests.conftest import make_device

CYCLES = DepthwiseCycles(forward=1.0, grad_input=2.0, grad_weights=0.5)
LAYER = {
    "op_class": "convolution", "precision": "fp32", "pass": "forward", "conv_n": 2, "conv_c": 8, "conv_k": 8,
    "groups": 8, "conv_h": 10, "conv_w": 10, "conv_r": 3, "conv_s": 3, "pad_h": 1, "pad_w": 1, "stride_h": 2,
    "stride_w": 2,
}  # fmt: skip
PIXELS, IMAGE = 2 * 8 * 5 * 5, 2 * 8 * 10 * 10


def times(fields: dict[str, object]) -> Floats:
    device = make_device(compute_unit="SM", compute_units=100, boost_clock="2 GHz")
    rows = pd.DataFrame([LAYER | fields])
    return unit_times(rows, hardware_of(device, rows["op_class"], rows["precision"]), CYCLES)


@pytest.mark.parametrize(
    ("step_pass", "cycles"),
    [
        ("forward", 3 * PIXELS),
        ("grad_input", 2 * 3 * PIXELS),
        ("grad_weights", 0.5 * 3 * IMAGE),
        ("backward", 2 * 3 * PIXELS + 0.5 * 3 * IMAGE),
        (None, 3 * PIXELS),
    ],
)
def test_units_take_their_cycles_for_each_pixel(step_pass: str | None, cycles: float) -> None:
    assert times({"pass": step_pass}) == pytest.approx(cycles / (100 * 2e9))


def test_each_filter_of_a_channel_takes_as_long() -> None:
    for step_pass in ("forward", "grad_input", "grad_weights"):
        assert times({"pass": step_pass, "conv_k": 16}) == pytest.approx(2 * times({"pass": step_pass}))
