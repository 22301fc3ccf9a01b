"""Steps given timed ones: on made-up draws whose truth is known."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from estimator.core.interval import bounds, standard
from estimator.core.types import Floats
from estimator.rollup.timed_steps import (
    CONFIGURATION,
    FREEDOM,
    PROGRAM,
    REPEATS,
    birge_ratio,
    conditioned,
    error_of_each,
    surprise,
)

DRAWS, CONFIGURATIONS, INPUTS = 2000, 8, 3
NAMES = [f"on {2**power}" for power in range(CONFIGURATIONS)]


def sensitivities(seed: int) -> Floats:
    """By how much each input lengthens each step (logarithms; inputs × configurations)."""
    return 0.4 * np.random.default_rng(seed).random((INPUTS, CONFIGURATIONS))


def predicted(seed: int = 1, draws: int = DRAWS) -> Floats:
    """Steps of about a second that three inputs lengthen."""
    inputs = np.stack([standard(f"input {number}", draws, seed) for number in range(INPUTS)], axis=1)
    return np.exp(inputs @ sensitivities(seed))


def width(steps_s: Floats) -> Floats:
    return np.asarray(np.log(steps_s[1:]).std(axis=0))


def test_nothing_timed_changes_nothing() -> None:
    steps_s = predicted()
    assert conditioned(steps_s, NAMES, [], []) is steps_s


@given(st.lists(st.integers(0, CONFIGURATIONS - 1), min_size=1, max_size=5))
def test_a_step_that_took_what_was_predicted_changes_intervals_alone(timed: list[int]) -> None:
    steps_s = predicted(draws=200)
    given_steps = conditioned(steps_s, NAMES, timed, steps_s[0, timed].tolist())
    np.testing.assert_allclose(given_steps[0], steps_s[0])
    assert not np.allclose(given_steps[1:], steps_s[1:])


@given(st.integers(0, CONFIGURATIONS - 1), st.floats(0.1, 10.0))
def test_a_timed_step_is_what_was_timed(row: int, measured_s: float) -> None:
    steps_s = predicted(draws=200)
    low, mid, high = bounds(conditioned(steps_s, NAMES, [row], [measured_s])[:, row])
    assert mid == pytest.approx(measured_s, rel=REPEATS)
    assert high / low < np.exp(5 * REPEATS * birge_ratio(steps_s, [row], [measured_s]))


@given(st.permutations(range(4)), st.permutations(range(CONFIGURATIONS)))
def test_order_does_not_matter(measured: list[int], columns: list[int]) -> None:
    steps_s, timed, measured_s = predicted(draws=200), [0, 3, 5, 5], [1.5, 0.7, 1.1, 1.2]
    expected = conditioned(steps_s, NAMES, timed, measured_s)
    moved = conditioned(
        steps_s[:, columns], [NAMES[column] for column in columns], [columns.index(timed[place]) for place in measured],
        [measured_s[place] for place in measured],
    )  # fmt: skip
    np.testing.assert_allclose(moved, expected[:, columns], rtol=1e-9)


def test_more_timed_steps_never_widen() -> None:
    steps_s = predicted()
    widths = [width(conditioned(steps_s, NAMES, range(count), [1.3] * count)) for count in range(1, CONFIGURATIONS + 1)]
    for fewer, more in pairwise(widths):
        assert (more <= 1.03 * fewer).all()  # the draws of errors are no more than near to their covariance


def test_one_timed_step_moves_others_by_about_its_ratio() -> None:
    """A program that takes twice as long as predicted does so everywhere."""
    given_steps = conditioned(predicted(), NAMES, [2], [2.0])
    assert given_steps[0] == pytest.approx(2.0, rel=0.25)


@pytest.mark.parametrize("odd", [0.3, 0.7, 1.5, 4.0])
def test_one_odd_step_among_several_moves_the_others_little(odd: float) -> None:
    """Five of six steps take what was predicted; a seventh moves by less than half of what the mean does."""
    steps_s = np.array([[2.0**power for power in range(7)]])
    measured_s = steps_s[0, :6] * [odd, 1.0, 1.0, 1.0, 1.0, 1.0]
    moved = np.log(conditioned(steps_s, list("abcdefg"), range(6), measured_s.tolist()) / steps_s)[0]
    assert moved[0] == pytest.approx(np.log(odd), abs=0.05)  # it is what was timed
    assert abs(moved[6]) < abs(np.log(odd)) / 6 / 2
    if abs(np.log(odd)) > 1:
        assert abs(moved[6]) < abs(np.log(odd)) / 6 / 10


@pytest.mark.parametrize("timed", [[0, 1], [0, 1, 2, 3]])
def test_steps_that_contradict_each_other_half_and_half_are_averaged(timed: list[int]) -> None:
    """Nothing says which half is odd, so that no hair decides it."""
    half = len(timed) // 2
    actual = [
        conditioned(np.ones((1, 5)), list("abcde"), timed, [0.5] * half + [step_s] * half)[0, 4]
        for step_s in np.linspace(1.8, 2.2, 9)
    ]
    assert actual == sorted(actual)
    assert actual == pytest.approx([1.0] * 9, abs=0.07)


def test_an_error_is_usual_where_steps_agree_and_as_large_as_the_step_is_odd() -> None:
    shared = np.full((5, 5), PROGRAM**2)
    usual = error_of_each(shared, np.full(5, 0.4), np.full(5, REPEATS))
    assert ((np.sqrt(FREEDOM / (FREEDOM + 1)) * CONFIGURATION <= usual) & (usual <= CONFIGURATION)).all()
    odd, *others = error_of_each(shared, np.array([1.4, 0.4, 0.4, 0.4, 0.4]), np.full(5, REPEATS))
    assert odd == pytest.approx(1.0 / np.sqrt(1.0 + FREEDOM), rel=0.1)
    assert others == pytest.approx([CONFIGURATION] * 4, rel=0.1)
    apart = np.array([0.4, 0.4, 0.4, 0.4, 1.4])  # the more its own repeats differ, the less odd is the last
    sure, less, unsure = (error_of_each(shared, apart, np.array([*[REPEATS] * 4, std]))[-1] for std in (0.02, 0.1, 1.0))
    assert sure > 1.02 * less
    assert less > unsure == pytest.approx(CONFIGURATION, rel=0.1)


def test_what_two_steps_share_is_learned_and_what_they_do_not_is_kept() -> None:
    """Two of four configurations wait for the host, whose pace nobody knew."""
    host, device = standard("host", DRAWS, 0), standard("device", DRAWS, 0)
    steps_s = np.exp(0.5 * np.outer(host, [1, 1, 0, 0]) + 0.1 * np.outer(device, [0, 0, 1, 1]))
    given_steps = conditioned(steps_s, NAMES[:4], [0, 2], [3.0, 1.0])
    assert given_steps[0, 1] == pytest.approx(3.0, rel=0.1)
    assert given_steps[0, 3] == pytest.approx(1.0, rel=0.1)


def test_nine_in_ten_intervals_hold_the_truth_of_made_up_machines() -> None:
    steps_s, rng, held = predicted(), np.random.default_rng(7), []
    for _ in range(200):
        errors = PROGRAM * rng.standard_normal() + CONFIGURATION * rng.standard_normal(CONFIGURATIONS)
        truth = np.exp(rng.standard_normal(INPUTS) @ sensitivities(1) + errors)
        timed_s = truth[:3] * np.exp(REPEATS * rng.standard_normal(3))
        low, _, high = bounds(conditioned(steps_s, NAMES, range(3), timed_s.tolist()))
        held.append((low <= truth) & (truth <= high))
    assert np.mean(np.array(held)[:, 3:]) == pytest.approx(0.9, abs=0.03)


def test_without_draws_the_nominal_step_moves() -> None:
    assert conditioned(np.ones((1, 2)), NAMES[:2], [0], [2.0])[0, 1] == pytest.approx(2.0, rel=0.02)


def test_times_that_contradict_each_other_leave_a_wide_interval() -> None:
    low, mid, high = bounds(conditioned(predicted(), NAMES, [0, 0], [0.1, 10.0])[:, 0])
    assert 0.3 < mid < 3.0
    assert high / low > 5.0


def test_steps_within_what_is_known_are_not_widened() -> None:
    assert birge_ratio(predicted(), [0, 3, 7], [1.1, 1.0, 0.9]) == 1.0
    assert birge_ratio(predicted(), [], []) == 1.0


@given(st.floats(1.0, 20.0), st.floats(1.0, 20.0))
def test_the_more_two_steps_contradict_each_other_the_wider_the_interval(one: float, other: float) -> None:
    """Of a step that was not timed, wherever the two of them draw it."""
    steps_s, (less, more) = predicted(draws=400), sorted((one, other))
    widths = [width(conditioned(steps_s, NAMES, [0, 1], [1.0 / by, by]))[5] for by in (less, more)]
    assert widths[0] <= widths[1] * (1 + 1e-9)


def test_contradicting_steps_leave_more_open_than_agreeing_ones() -> None:
    """Two agree that steps take three times as long as predicted. A third one was ten times as fast."""
    agreeing, contradicting = (
        width(conditioned(predicted(), NAMES, [0, 1, 2], [3.0, 3.0, last_s]))[5] for last_s in (3.0, 0.3)
    )
    assert contradicting > 3.0 * agreeing


def test_a_step_far_from_the_prediction_leaves_more_open() -> None:
    near, far = (width(conditioned(predicted(), NAMES, [0], [step_s]))[5] for step_s in (1.5, 60.0))
    assert far > 2.0 * near


def test_far_beyond_chance_the_ratio_is_that_of_birge() -> None:
    """χ² of one step is the square of its distance in standard deviations."""
    steps_s = np.ones((1001, 1))
    std = np.sqrt(PROGRAM**2 + CONFIGURATION**2 + REPEATS**2)
    by_chance, far, farther = (birge_ratio(steps_s, [0], [float(np.exp(by * std))]) for by in (1.9, 5.0, 20.0))
    assert by_chance == 1.0
    assert far == pytest.approx(5.0, rel=0.1)
    assert farther == pytest.approx(20.0, rel=0.01)


def test_one_in_twenty_true_sets_of_steps_is_widened_and_little() -> None:
    steps_s, rng, ratios = predicted(), np.random.default_rng(3), []
    for _ in range(300):
        errors = PROGRAM * rng.standard_normal() + CONFIGURATION * rng.standard_normal(CONFIGURATIONS)
        truth = np.exp(rng.standard_normal(INPUTS) @ sensitivities(1) + errors)
        ratios.append(birge_ratio(steps_s, range(4), truth[:4].tolist()))
    assert np.mean(np.array(ratios) > 1) < 0.1
    assert np.mean(ratios) < 1.03


def test_intervals_hold_the_truth_more_often_where_errors_are_three_times_as_large_as_taken() -> None:
    """Without the ratio, 44 in 100 would."""
    steps_s, rng, held = predicted(), np.random.default_rng(7), []
    for _ in range(200):
        errors = PROGRAM * rng.standard_normal() + 3 * CONFIGURATION * rng.standard_normal(CONFIGURATIONS)
        truth = np.exp(rng.standard_normal(INPUTS) @ sensitivities(1) + errors)
        low, _, high = bounds(conditioned(steps_s, NAMES, range(5), truth[:5].tolist()))
        held.append((low <= truth) & (truth <= high))
    assert np.mean(np.array(held)[:, 5:]) > 0.65


@pytest.mark.parametrize("again", [[3.0] * 4, [3.0, 3.01, 2.99, 3.0]])
def test_repeats_average_whether_or_not_they_are_equal(again: list[float]) -> None:
    assert width(conditioned(predicted(), NAMES, [0] * 4, again))[0] == pytest.approx(REPEATS / 2, rel=0.1)


def test_a_step_that_contradicts_the_others_is_a_surprise() -> None:
    rows, far = surprise(predicted(), [3, 0, 1], [0.1, 1.5, 1.5])
    assert rows.tolist() == [0, 1, 3]
    assert far[2] < -3.0
    _, similar = surprise(predicted(), [0, 1, 3], [1.5, 1.5, 1.5])
    assert np.abs(similar).max() < 1.0


def test_one_in_ten_true_steps_is_a_surprise_of_ten_per_cent() -> None:
    steps_s, rng, far = predicted(), np.random.default_rng(3), []
    for _ in range(200):
        errors = PROGRAM * rng.standard_normal() + CONFIGURATION * rng.standard_normal(CONFIGURATIONS)
        truth = np.exp(rng.standard_normal(INPUTS) @ sensitivities(1) + errors)
        far.append(surprise(steps_s, range(4), truth[:4].tolist())[1])
    assert np.mean(np.abs(far) > 1.645) == pytest.approx(0.1, abs=0.03)
