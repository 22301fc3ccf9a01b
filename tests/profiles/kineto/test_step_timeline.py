"""Timelines of real traces: replayed with their own times, they give their own step."""

from collections.abc import Mapping

import numpy as np
import pytest

from estimator.rollup.timeline import Events, replay, step_s
from tests.profiles.test_public_dumps import KINETO, read

OFF = {"resnet50-v100-autograd-nw0": 0.04}  # its device had more left to do at its begin than it leaves at its end
WITH_TIMELINE = 20  # of the open dumps, at the least


@pytest.mark.parametrize("row", KINETO, ids=lambda row: row["name"])
def test_a_step_replayed_with_its_own_times_takes_its_own_time(row: Mapping[str, str]) -> None:
    profile = read(row["file"])
    if profile.timeline is None:
        pytest.skip(f"{row['name']} has no launches of marked steps on one device")
    events, ran = Events(profile.timeline.events), np.ones((1, len(profile.ops)))
    found = step_s(replay(events, ran, np.ones(1), profile.timeline.host_step_s))[0]
    assert found == pytest.approx(profile.timeline.step_s, rel=OFF.get(row["name"], 0.01))


@pytest.mark.skipif(not KINETO, reason="the public dumps are not at hand")
def test_most_traces_have_a_timeline() -> None:
    assert sum(read(row["file"]).timeline is not None for row in KINETO) >= WITH_TIMELINE
