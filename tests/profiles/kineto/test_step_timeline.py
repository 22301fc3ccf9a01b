"""Timelines of real traces: replayed with their own times, they give their own step."""

from collections.abc import Mapping

import pytest

from tests.profiles.own_step import busy_s, replayed_s
from tests.profiles.test_public_dumps import KINETO, read

OFF = {"resnet50-v100-autograd-nw0": 0.04}  # its device had more left to do at its begin than it leaves at its end
ON_DEVICE = [row for row in KINETO if row["gpu_busy_step_s"]]
UNMARKED = [row for row in ON_DEVICE if not row["steps"]]


@pytest.mark.slow
@pytest.mark.parametrize("row", ON_DEVICE, ids=lambda row: row["name"])
def test_a_step_replayed_with_its_own_times_takes_its_own_time(row: Mapping[str, str]) -> None:
    profile = read(row["file"])
    assert profile.timeline
    assert replayed_s(profile) == pytest.approx(profile.timeline.step_s, rel=OFF.get(row["name"], 0.01))


@pytest.mark.parametrize("row", UNMARKED, ids=lambda row: row["name"])
def test_a_step_that_is_not_marked_is_the_busy_time(row: Mapping[str, str]) -> None:
    profile = read(row["file"])
    assert profile.timeline
    assert profile.timeline.step_s == pytest.approx(float(row["gpu_busy_step_s"]), rel=0.001)
    assert busy_s(profile.timeline) == pytest.approx(profile.timeline.step_s, rel=1e-6)
    assert replayed_s(profile, pace=0.0) == pytest.approx(profile.timeline.step_s, rel=0.01)  # no host in it


@pytest.mark.parametrize("row", [row for row in ON_DEVICE if row["steps"] == "1"], ids=lambda row: row["name"])
def test_a_single_marked_step_is_busy_as_its_profile(row: Mapping[str, str]) -> None:
    profile = read(row["file"])
    if row["file"].endswith("/"):
        pytest.skip("the timeline is that of one rank")
    assert profile.timeline
    assert busy_s(profile.timeline) == pytest.approx(profile.busy_step_s, rel=0.001)


@pytest.mark.parametrize("row", [row for row in KINETO if row not in ON_DEVICE], ids=lambda row: row["name"])
def test_a_processors_trace_has_its_program_order_alone(row: Mapping[str, str]) -> None:
    assert read(row["file"]).timeline is None
