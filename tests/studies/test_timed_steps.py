"""Timed steps of a machine: how rows become groups of devices, and what they change."""

from pathlib import Path

import numpy as np
import pytest

from estimator.core.errors import EstimatorError
from estimator.core.interval import bounds, draw
from estimator.core.parallel import Split
from estimator.rollup.scaling import Group, group_of
from estimator.studies.timed_steps import Row, TimedSteps, below_floors, given_timed, read_timed_steps, what_they_change

DRAWS = 200


def group_of_row(row: Row) -> Group:
    return group_of(row["devices"] or 0, 4, "weak", row["local_batch"] or 16)


def read(folder: Path, text: str, split: str = "data") -> TimedSteps:
    path = folder / "steps.csv"
    path.write_text(text)
    return read_timed_steps(path, group_of_row, Split(split))  # type: ignore[arg-type]


def test_rows_become_groups_and_those_of_another_split_are_left_out(tmp_path: Path) -> None:
    rows = "devices,local_batch,step_s,parallel\n1,,0.5,\n8,32,0.7,data\n8,,0.6,zero1\n"
    timed = read(tmp_path, rows)
    assert timed.groups == (group_of(1, 4, "weak", 16), group_of(8, 4, "weak", 32))
    assert (timed.measured_s, timed.left_out) == ((0.5, 0.7), 1)


def test_a_column_that_tells_of_another_training_is_refused(tmp_path: Path) -> None:
    with pytest.raises(EstimatorError, match="column precision is not known; expected devices, step_s, "):
        read(tmp_path, "devices,step_s,precision\n8,0.5,bf16\n")
    with pytest.raises(EstimatorError, match="the batch is local_batch or global_batch"):
        read(tmp_path, "devices,step_s,batch\n8,0.5,256\n")


def test_of_a_step_timed_several_times_the_median_is_shown(tmp_path: Path) -> None:
    timed = read(tmp_path, "devices,step_s\n4,0.5\n4,0.9\n4,0.6\n")
    assert timed.time_s(group_of(4, 4, "weak", 16)) == 0.6
    assert timed.time_s(group_of(8, 4, "weak", 16)) is None


def test_no_file_changes_nothing() -> None:
    one, step_s = group_of(1, 4, "weak", 16), np.array([1.0, 0.9, 1.1])
    timed = read_timed_steps(None, group_of_row, Split())
    np.testing.assert_array_equal(given_timed({one: step_s}, timed, 0)[one], step_s)
    assert not list(what_they_change(timed, [(step_s, step_s)]))


def test_a_timed_step_below_what_the_device_can_compute_is_doubted(tmp_path: Path) -> None:
    timed = read(tmp_path, "devices,step_s\n2,0.02\n4,0.08\n")
    floors = {group_of(devices, 4, "weak", 16): 0.075 for devices in (2, 4)}
    (sentence,) = below_floors(timed, floors)
    assert sentence.startswith("the timed step on 2 devices, 20.0 ms, is shorter than the device's peak and bandwidth")
    assert "75.0 ms" in sentence


def test_what_timed_steps_change_is_noted(tmp_path: Path) -> None:
    one, two = (group_of(devices, 4, "weak", 16) for devices in (1, 2))
    step_s = draw("host", 0.5, 1.0, 2.0, DRAWS, 0)
    timed = read(tmp_path, "devices,step_s\n1,1.5\n")
    after_s = given_timed({one: step_s, two: step_s}, timed, 0)
    assert after_s[two][0] == pytest.approx(1.5, rel=0.05)
    (sentence,) = what_they_change(timed, [(step_s, after_s[group]) for group in (one, two)])
    assert sentence.startswith("given 1 timed step(s), steps are 1.4")
    low, _, high = bounds(after_s[two])
    assert f"{np.log(high / low) / np.log(4.0):.1f}" in sentence
