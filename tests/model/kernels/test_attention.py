"""Fused attention: a start, and arithmetic at a share of what products sustain."""

import numpy as np
import pandas as pd
import pytest

from estimator.core.types import Workload
from estimator.model.coefficients import shipped
from estimator.model.kernels.attention import ATTENTION
from estimator.model.kernels.kernel_model import KernelInputs
from estimator.work import count_work
from tests.conftest import make_device, make_ops

NAME = "aten::_scaled_dot_product_flash_attention"
DEVICE = make_device(peak={"fp32": "10 TFLOP/s"}, memory_bandwidth="500 GB/s")


def attention(*lengths: int) -> pd.DataFrame:
    """Self-attention of 8 heads of 64 over sequences of these lengths."""
    shapes = [f"1x8x{length}x64" for length in lengths]
    return count_work(
        make_ops(*({"op_type": NAME, "shapes": ";".join([s] * 3)} for s in shapes)), Workload(name="t")
    ).work


def busy(rows: pd.DataFrame) -> np.ndarray:
    assert ATTENTION.matches(rows).all()
    return ATTENTION.busy_time(KernelInputs.on_device(rows, DEVICE, shipped())).time_s


def test_the_shortest_calls_take_the_start() -> None:
    assert busy(attention(1))[0] == pytest.approx(shipped().kernel_priors.attention.start_s, rel=0.01)


def test_long_sequences_take_their_arithmetic_at_a_share_of_the_sustained_peak() -> None:
    rows, prior = attention(2**15), shipped().kernel_priors.attention
    inputs = KernelInputs.on_device(rows, DEVICE, shipped())
    compute = rows["flop"].iloc[0] / (prior.share * shipped().gemm.sustained.peak(inputs.hardware)[0])
    assert busy(rows)[0] == pytest.approx(prior.start_s + compute, rel=0.01)


def test_twice_the_length_takes_four_times_as_long() -> None:
    one, two = busy(attention(2**14, 2**15))
    assert two / one == pytest.approx(4.0, rel=0.02)


def test_the_backward_pass_is_a_kind_of_its_own() -> None:
    rows = pd.concat([attention(512), attention(512).assign(operator="attention_grad")], ignore_index=True)
    inputs = KernelInputs.on_device(rows, DEVICE, shipped())
    assert ATTENTION.features(inputs, ATTENTION.busy_time(inputs)).kind.tolist() == [0, 1]


def test_no_call_takes_less_than_at_the_quoted_rates() -> None:
    actual = ATTENTION.busy_time(KernelInputs.on_device(attention(16, 512, 2**14), DEVICE, shipped()))
    assert (actual.time_s >= actual.lower_bound_s).all()


def test_attention_to_nothing_has_features_too() -> None:
    rows = attention(512, 0)
    inputs = KernelInputs.on_device(rows, DEVICE, shipped())
    assert np.isfinite(ATTENTION.features(inputs, ATTENTION.busy_time(inputs)).coordinates).all()
