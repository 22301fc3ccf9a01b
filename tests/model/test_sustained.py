"""What share of a peak is sustained: all of the common share where power feeds it, less where it does not."""

import numpy as np
import pytest

from estimator.core.types import Floats
from estimator.model.hardware import Hardware
from estimator.model.sustained import REFERENCE_YEAR, Sustained

COEFFICIENTS = Sustained(share=0.9, vector_need=10e-12, tensor_need=1e-12, halving=4.0)


def sustained(
    peak: float,
    power: float,
    year: float = REFERENCE_YEAR,
    *,
    tensor: bool = False,
    factor: float = 4.0,
    filled: float = 1.0,
) -> Floats:
    """As a share of the peak."""
    some, no = np.array([np.nan]), np.array([False])
    unit, watts = (np.array([tensor]), np.array([factor])), (np.array([power]), np.array([year]))
    hardware = Hardware(np.array([peak]), *unit, some, some, some, *watts, no, no, np.array([filled]), some)
    return COEFFICIENTS.peak(hardware) / peak


def test_where_power_is_unknown_the_share_is_the_common_one() -> None:
    assert sustained(1e13, np.nan) == pytest.approx(0.9)


def test_a_low_power_limit_lowers_the_sustained_peak() -> None:
    """10 pJ/FLOP from 10 W are 1 TFLOP/s, of a peak of 10."""
    assert sustained(1e13, 10.0) == pytest.approx(0.9 * 0.1, rel=1e-3)
    assert sustained(1e13, 1000.0) == pytest.approx(0.9, rel=1e-3)


def test_lanes_without_instructions_neither_compute_nor_take_power() -> None:
    assert sustained(1e13, np.nan, filled=0.75) == pytest.approx(0.75 * 0.9)
    assert sustained(1e13, 10.0, filled=0.5) == pytest.approx(sustained(1e13, 10.0), rel=1e-2)


def test_later_years_and_tensor_units_need_less_energy() -> None:
    assert sustained(1e13, 10.0, REFERENCE_YEAR + 4) == pytest.approx(2 * sustained(1e13, 10.0), rel=1e-3)
    assert sustained(1e13, 10.0, tensor=True, factor=2.0) > sustained(1e13, 10.0, factor=2.0)


def test_fp32_factors_need_the_same_energy_on_tensor_units() -> None:
    assert sustained(1e13, 10.0, tensor=True) == pytest.approx(sustained(1e13, 10.0))


@pytest.mark.parametrize("tensor", [False, True])
def test_energy_of_a_flop_grows_with_the_length_of_factors(tensor: bool) -> None:
    """So that a format of half the length, at twice the peak, is as far from the power limit."""
    one, two = (sustained(peak, 1.0, tensor=tensor, factor=size) for peak, size in ((1e13, 2.0), (2e13, 1.0)))
    assert one == pytest.approx(two)


def test_peak_and_power_scale_together() -> None:
    assert sustained(2e13, 140.0) == pytest.approx(sustained(1e13, 70.0))
