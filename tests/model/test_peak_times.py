"""Times at peak arithmetic and at full bandwidth, by hand."""

import numpy as np
import pytest

from estimator.core.schema import PREDICTION
from estimator.devices import load_device
from estimator.model.peak_times import UNKNOWN_SHARE, peak_times
from tests.conftest import make_ops

V100 = load_device("v100-pcie-32gb")


def times(**op: object) -> tuple[float, float]:
    row = {"op": "a", "op_class": "gemm", "precision": "fp32", "time_s": 1.0, "target_time_s": 0.5, **op}
    compute_s, memory_s = peak_times(PREDICTION.conform(make_ops(row), "test"), V100)
    return float(compute_s[0]), float(memory_s[0])


def test_work_over_the_rates_of_the_data_sheet() -> None:
    assert times(flop=14e12, bytes=90e9) == pytest.approx((1.0, 0.1))
    assert times(flop=112e12, bytes=90e9, precision="fp16") == pytest.approx((1.0, 0.1))


def test_unknown_work_is_taken_for_a_stream() -> None:
    assert times(op_class="unmodelled") == pytest.approx((0.0, UNKNOWN_SHARE * 0.5))


def test_a_format_without_a_peak_takes_no_arithmetic() -> None:
    compute_s, memory_s = times(precision=None, op_class="movement", flop=5.0, bytes=9e9)
    assert np.isfinite(compute_s)
    assert memory_s == pytest.approx(0.01)
