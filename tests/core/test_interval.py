from contextlib import nullcontext

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from estimator.core.interval import (
    bounds,
    draw,
    draw_sourced,
    enough_draws,
    share_above,
    share_below,
    summarise,
    uniform,
)
from estimator.core.types import Sourced

UNCERTAINTY = st.floats(min_value=0.001, max_value=2.0)


def test_mid_is_the_nominal_value_and_the_ends_are_as_declared() -> None:
    samples = draw("x", 0.5, 0.8, 0.9, 20_000, 1)
    interval = summarise(samples)
    assert interval.mid == 0.8
    assert interval.low == pytest.approx(0.5, rel=0.03)
    assert interval.high == pytest.approx(0.9, rel=0.03)


@pytest.mark.parametrize(("draws", "enough"), [(0, True), (1, False), (19, False), (20, True), (1000, True)])
def test_an_end_needs_a_draw_beyond_it(draws: int, enough: bool) -> None:
    with nullcontext() if enough else pytest.raises(ValueError, match=f"is {draws}, too few for a 90 % interval"):
        assert enough_draws(draws) == draws


def test_a_certain_value_has_no_ends() -> None:
    interval = summarise(draw("x", 3.0, 3.0, 3.0, 100, 1))
    assert (interval.low, interval.mid, interval.high, interval.covers) == (None, 3.0, None, "inputs")


@given(narrow=UNCERTAINTY, factor=st.floats(min_value=1.01, max_value=3.0))
def test_widening_an_inputs_uncertainty_widens_the_interval(narrow: float, factor: float) -> None:
    def width(u: float) -> float:
        low, _, high = bounds(draw_sourced("x", Sourced(value=5.0, unit="1", relative_uncertainty=u), 300, 0))
        return float(high - low)

    assert width(narrow * factor) > width(narrow)


def test_a_stream_does_not_depend_on_other_draws() -> None:
    alone = draw("a", 1, 2, 3, 50, 7)
    draw("b", 1, 2, 3, 50, 7)
    assert np.array_equal(draw("a", 1, 2, 3, 50, 7), alone)
    assert not np.array_equal(draw("a", 1, 2, 3, 50, 8), alone)
    assert not np.array_equal(draw("b", 1, 2, 3, 50, 7), alone)


def test_a_share_of_draws_is_below_those_of_another_number() -> None:
    samples, others = np.array([9.0, 1, 2, 3, 4]), np.array([0.0, 2, 2, 2, 5])
    assert share_below(samples, others) == 2.5 / 4
    assert share_below(others, samples) == 1.5 / 4
    assert share_below(samples, others[:4]) is share_below(samples[:1], others[:1]) is None


def test_arrays_share_their_stream() -> None:
    samples = draw("a", np.array([1.0, 10.0]), np.array([2.0, 20.0]), np.array([3.0, 30.0]), 50, 7)
    assert samples.shape == (51, 2)
    assert np.allclose(samples[:, 1], 10 * samples[:, 0])


def test_ninety_percent_intervals_hold_ninety_percent() -> None:
    """Coverage: a truth drawn as declared lies inside the interval of its input nine times of ten."""
    truths = draw("truth", 0.4, 1.0, 1.5, 4000, 3)[1:]
    interval = summarise(draw("interval", 0.4, 1.0, 1.5, 4000, 4))
    assert interval.low is not None
    assert interval.high is not None
    inside = np.mean((truths >= interval.low) & (truths <= interval.high))
    assert inside == pytest.approx(0.9, abs=0.02)


def test_a_share_that_nothing_tells_may_be_any() -> None:
    samples = uniform("share", 0.25, 4000, 1)
    assert samples[0] == 0.25
    assert np.quantile(samples[1:], [0.05, 0.5, 0.95]) == pytest.approx([0.05, 0.5, 0.95], abs=0.02)
    assert not np.array_equal(samples, uniform("other", 0.25, 4000, 1))


def test_the_share_above_a_threshold() -> None:
    samples = np.array([50.0, 40.0, 50.0, 60.0, 70.0])
    assert share_above(samples, 50) == 0.75
    assert share_above(samples, None) is None
    assert share_above(np.full(5, 50.0), 50) is None


def test_the_nominal_inputs_are_no_draw_above_a_threshold() -> None:
    assert share_above(np.array([0.0, 50.0, 40.0]), 50) == 0.5
    assert share_above(np.array([60.0, 40.0, 40.0]), 50) == 0
