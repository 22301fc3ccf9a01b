"""What share of a peak is sustained: all of the common share where power feeds it, less where it does not."""

import numpy as np
import pytest

from estimator.core.types import Floats
from estimator.model.hardware import Hardware
from estimator.model.sustained import REFERENCE_YEAR, Sustained

C = Sustained(share=0.9, vector_need=10e-12, tensor_need=1e-12, halving=4.0)


def sustained(peak: float, power: float, year: float = REFERENCE_YEAR, *, tensor: bool = False) -> Floats:
    """As a share of the peak."""
    some, no = np.array([np.nan]), np.array([False])
    on = Hardware(np.array([peak]), np.array([tensor]), some, some, some, np.array([power]), np.array([year]), no, no)
    return C.of(on) / peak


def test_where_power_or_year_is_unknown_the_share_is_the_common_one() -> None:
    assert sustained(1e13, np.nan) == pytest.approx(0.9)
    assert sustained(1e13, 1.0, np.nan) == pytest.approx(0.9)


def test_a_card_with_few_watts_sustains_what_they_feed() -> None:
    """10 pJ/FLOP from 10 W are 1 TFLOP/s, of a peak of 10."""
    assert sustained(1e13, 10.0) == pytest.approx(0.9 * 0.1, rel=1e-3)
    assert sustained(1e13, 1000.0) == pytest.approx(0.9, rel=1e-3)


def test_later_processes_and_tensor_units_need_less() -> None:
    assert sustained(1e13, 10.0, REFERENCE_YEAR + 4) == pytest.approx(2 * sustained(1e13, 10.0), rel=1e-3)
    assert sustained(1e13, 10.0, tensor=True) > sustained(1e13, 10.0)


def test_peak_and_power_scale_together() -> None:
    assert sustained(2e13, 140.0) == pytest.approx(sustained(1e13, 70.0))
