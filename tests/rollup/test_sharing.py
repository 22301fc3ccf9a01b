"""Trainings that share a device, by hand."""

import numpy as np
import pytest

from estimator.rollup import sharing

ALONE_S, BUSY_S = np.array([10.0]), np.array([4.0])


@pytest.mark.parametrize(
    ("trainings", "left", "expected"),
    [(1, 0, 10), (1, 1, 10), (2, 0, 10), (2, 1, 14), (3, 0, 12), (3, 1, 18), (3, 0.5, 15)],
)
def test_the_busy_time_adds_up_and_the_rest_is_filled(trainings: float, left: float, expected: float) -> None:
    actual = sharing.shared_step(ALONE_S, BUSY_S, np.array(float(trainings)), np.array(left))
    assert actual.tolist() == [expected]


def test_a_device_that_is_always_busy_gains_nothing() -> None:
    assert sharing.shared_step(ALONE_S, ALONE_S, np.array(4.0), np.array([0.0, 1.0])).tolist() == [40, 40]


def test_what_the_device_runs_is_busy_time() -> None:
    assert sharing.busy_time(np.array([1.0]), np.array([2.0]), np.array([3.0])).tolist() == [6]


def test_all_trainings_together_take_the_same_energy_beyond_idle_power() -> None:
    step_s, trainings = np.array([12.0]), np.array([3.0])
    each_w = sharing.share_of_power(np.array([100.0]), np.array([40.0]), ALONE_S, step_s, trainings)
    assert 3 * each_w * step_s == pytest.approx(3 * 60 * ALONE_S + 40 * step_s)
    assert sharing.equal_share(np.array([40.0]), np.array([4.0])).tolist() == [10]


def test_a_forward_pass_is_as_much_longer_as_a_step() -> None:
    assert sharing.shared_forward(np.array([2.0]), np.array([15.0]), ALONE_S).tolist() == [3]
    assert sharing.workers(np.array([4.0]), np.array([3.0])).tolist() == [12]
