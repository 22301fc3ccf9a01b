"""The fit finds the coefficients of made-up cards that follow the model."""

import numpy as np
import pandas as pd
import pytest

from estimator.core.types import PowerCoefficients
from estimator.model.coefficients import shipped
from estimator.validation import power as rows_of_power
from tests.validation.test_power import made_up

pytest.importorskip("scipy", reason="extra 'fit' is not installed")

from estimator.fitting import power

SHIPPED = shipped().power


def rows_of_cards(*names: str) -> pd.DataFrame:
    """Three trainings on each card."""
    shares = ((0.8, 0.2, 16), (0.5, 0.4, 8), (0.1, 0.3, 4))
    return pd.concat([made_up(name, *each) for name in names for each in shares], ignore_index=True).drop_duplicates()


def test_idle_power_is_split_into_the_limits_share_and_the_memorys() -> None:
    share, of_memory = power.fit_idle(rows_of_cards("v100-pcie-32gb", "a40"))
    assert share == pytest.approx(SHIPPED.idle_share, rel=1e-6)
    assert of_memory == pytest.approx(SHIPPED.idle_gddr_w_per_byte, rel=1e-6)


def test_one_card_without_graphics_memory_tells_nothing_of_it() -> None:
    share, of_memory = power.fit_idle(rows_of_cards("v100-pcie-32gb"))
    assert share == pytest.approx(SHIPPED.idle_share)
    assert of_memory == 0


@pytest.mark.slow
def test_intensities_and_exponent_are_found() -> None:
    fitted = power.fit_means(rows_of_cards("v100-pcie-32gb", "a40"))
    wanted, actual = (rows_of_power.phase_intensities(c) for c in (SHIPPED, fitted))
    assert actual == pytest.approx(wanted, rel=0.15)
    assert fitted.clock_exponent == pytest.approx(SHIPPED.clock_exponent, rel=0.15)


@pytest.mark.slow
def test_cards_that_follow_one_model_hardly_differ_and_another_does() -> None:
    """They are about as fast, so that a step is made of the same shares on each."""
    similar = rows_of_cards("v100-pcie-32gb", "v100-pcie-16gb", "v100-sxm2-16gb")
    same = power.fit_intensity_std(similar)
    other = similar["device"] == "v100-sxm2-16gb"
    idle = similar.loc[other, "power_w"].min()
    weaker = similar.assign(power_w=similar["power_w"].mask(other, idle + 0.5 * (similar["power_w"] - idle)))
    assert same < 0.25 < power.fit_intensity_std(weaker)


def test_what_no_two_cards_tell_is_assumed() -> None:
    assert power.fit_intensity_std(rows_of_cards("v100-pcie-32gb")) == power.UNKNOWN_STD


@pytest.mark.slow
def test_a_fit_is_complete_and_can_be_had_again() -> None:
    rows = rows_of_cards("v100-pcie-32gb", "a40")
    fitted = power.fit(rows)
    assert fitted == power.fit(rows.sample(frac=1.0, random_state=1).sort_index())
    assert isinstance(fitted, PowerCoefficients)
    assert fitted.clock_exponent_std >= 0
    assert np.isfinite(fitted.intensity_std)
