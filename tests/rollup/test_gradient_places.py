"""When gradients are made where no op tells: what is drawn, and what stays."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from estimator.core import library
from estimator.core.errors import EstimatorError
from estimator.core.types import Floats, RunPlan
from estimator.pipeline.step import predict_step
from estimator.profiles import read_profile
from estimator.rollup.gradient_places import EXPONENT, drawn_places, exponent
from estimator.work.gradients import gradients_made
from estimator.work.weights import updates

PLAN = RunPlan("", draws=400)
ENDS = np.array([0.1, 0.4, 0.7, 1.0])
OPERATORS = np.array(["all_reduce"] * 4 + ["all_gather"], dtype=object)
BUCKETS = np.array([0, 1, 2, 3, -1])
TIMES = st.lists(st.floats(1e-6, 1.0), min_size=5, max_size=5)


def placed(times_s: list[float]) -> Floats:
    return drawn_places(np.tile(times_s, (1 + PLAN.draws, 1)), OPERATORS, BUCKETS, ENDS, PLAN)


@given(TIMES)
def test_messages_together_and_those_that_carry_no_bucket_stay(times_s: list[float]) -> None:
    actual = placed(times_s)
    np.testing.assert_allclose(actual[0], times_s)
    np.testing.assert_allclose(actual[:, :4].sum(axis=1), sum(times_s[:4]))
    np.testing.assert_allclose(actual[:, 4], times_s[4])


@given(TIMES, st.integers(0, 3))
def test_a_longer_message_makes_none_shorter(times_s: list[float], which: int) -> None:
    """So more devices, whose messages all take longer, make no step shorter."""
    longer = [time_s * (2.0 if place == which else 1.0) for place, time_s in enumerate(times_s)]
    assert (placed(longer) >= placed(times_s) - 1e-12).all()


def test_the_last_message_is_nearly_nothing_or_nearly_all() -> None:
    last = placed([0.1, 0.3, 0.3, 0.3, 0.0])[1:, 3]
    assert np.quantile(last, 0.05) < 0.03
    assert np.quantile(last, 0.95) > 0.7


def test_messages_that_take_no_time_still_take_none() -> None:
    assert not placed([0.0] * 5).any()


def test_gradients_made_evenly_have_the_exponent_one() -> None:
    assert exponent(np.ones(1000), np.ones(1000)) == pytest.approx(1.0, rel=0.01)
    assert exponent(np.array([1.0, 0.0]), np.array([0.2, 0.8])) == pytest.approx(0.25)


@pytest.mark.slow
def test_the_interval_is_that_of_the_shipped_profiles() -> None:
    """5 % and 95 % of their exponents, on a device; what they make evenly lies in the middle."""
    actual = sorted(value for name in library.names("profiles", "*") if (value := exponent_of(name)) is not None)
    low, middle, high = np.quantile(actual, [0.05, 0.5, 0.95])
    assert len(actual) > 20
    assert np.log(low / EXPONENT[0]) == pytest.approx(0.0, abs=0.3)
    assert np.log(middle / EXPONENT[1]) == pytest.approx(0.0, abs=0.3)
    assert np.log(high / EXPONENT[2]) == pytest.approx(0.0, abs=0.3)


def exponent_of(name: str) -> float | None:
    """That of a shipped profile; None where its ops do not tell."""
    try:
        step = predict_step(read_profile(name), RunPlan("a100-sxm4-40gb", draws=2))
    except EstimatorError:
        return None
    work = step.work.work
    made, notes = gradients_made(work, step.profile.workload)
    backward = work["phase"].eq("backward").fillna(False).to_numpy(dtype=bool) & ~updates(work).to_numpy(dtype=bool)
    return None if notes else exponent(made, step.prediction.samples[0] * backward)
