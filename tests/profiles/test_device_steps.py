"""Which step a device's events belong to, and how long its steps last."""

import numpy as np
import pytest

from estimator.profiles import device_steps
from estimator.profiles.columns import UNKNOWN

HOST = np.array([(10 * at, 10 * at + 10) for at in range(4)])


@pytest.mark.parametrize(
    ("completed", "busy", "wall"),
    [
        ([20, 31, 42, 53], 40, 44.0),  # busy for 91 % of its own steps
        ([20, 31, 42, 53], 20, 44.0),  # falls behind by 3 of 40
        ([12, 22, 32, 42], 20, 40.0),  # idle, and as far behind as before
        ([12, 22, 32, 42], 39, 40.0),
        ([UNKNOWN, 22, 42, 62], 70, 80.0),  # nothing was launched in the first
        ([UNKNOWN] * 4, 0, 40.0),
        (None, 30, 40.0),
    ],
)
def test_a_device_sets_the_pace_where_it_is_busy_or_falls_behind(
    completed: list[int] | None, busy: int, wall: float
) -> None:
    ends = None if completed is None else np.array(completed)
    assert device_steps.wall_ps(HOST, ends, busy) == pytest.approx(wall)


@pytest.mark.parametrize(("busy", "wall"), [(3, 10.0), (30, 30.0)])
def test_one_step_lasts_as_long_as_its_device_is_busy_at_least(busy: int, wall: float) -> None:
    assert device_steps.wall_ps(HOST[:1], np.array([35]), busy) == wall


def test_events_are_joined_with_their_launches_by_number() -> None:
    numbers, of_launch, times = np.array([7, UNKNOWN, 9, 8]), np.array([8, 7, 7, UNKNOWN]), np.array([80, 70, 71, 5])
    assert device_steps.launched(numbers, of_launch, times).tolist() == [70, UNKNOWN, UNKNOWN, 80]
    assert device_steps.launched(numbers, of_launch[:0], times[:0]).tolist() == [UNKNOWN] * 4


def test_the_last_event_of_each_step() -> None:
    assert device_steps.last_ends(np.array([1, 0, 1, -1]), np.array([5, 3, 4, 99]), 3).tolist() == [3, 5, UNKNOWN]


def test_windows_in_which_nothing_began_are_left_out_unless_all_are() -> None:
    assert device_steps.non_empty(HOST, np.array([True, False, True, True])).tolist() == HOST[[0, 2, 3]].tolist()
    assert device_steps.non_empty(HOST, np.zeros(4, dtype=bool)).tolist() == HOST.tolist()


def test_the_pitch_of_a_devices_own_steps() -> None:
    assert device_steps.pitch_ps(np.array([(0, 10), (10, 21), (20, 30)])) == 10.0
    assert device_steps.pitch_ps(np.array([(5, 20)])) == 15.0


def test_a_share_outside_the_steps_is_noted_from_one_percent_on() -> None:
    assert list(device_steps.outside_warnings(1.0, 100.0)) == []
    assert "5 % of the ops' time lies outside the steps" in next(device_steps.outside_warnings(5.0, 100.0))
    assert list(device_steps.outside_warnings(0.0, 0.0)) == []
