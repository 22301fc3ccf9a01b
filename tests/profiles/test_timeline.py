"""What events of a step waited for: launches, their lanes, each other; and replayed they give their own step."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from estimator.profiles.timeline import GAP_S, DeviceEvents, HostWaits, build_timeline
from estimator.rollup.timeline import Events, replay
from tests.rollup.timelines import random_timeline


def events(*rows: tuple[int, int, float, float, float]) -> DeviceEvents:
    """Events of (op, lane, start, end, launch), by start."""
    op, lane, start, end, launch = zip(*rows, strict=True)
    return DeviceEvents(np.array(op), np.array(lane), np.array(start), np.array(end), np.array(launch, dtype=float))


def test_the_delay_is_the_median_of_idle_lanes() -> None:
    rows = build_timeline(events((0, 0, 0.2, 0.3, 0.0), (1, 0, 1.1, 1.2, 1.0), (2, 0, 2.4, 2.5, 2.0)), ["gpu"])
    assert rows["delay_s"].tolist() == pytest.approx([0.2, 0.1, 0.2])
    assert rows["lag_s"].tolist() == pytest.approx([0.0, 0.0, 0.2])


def test_an_event_that_starts_as_another_lane_ends_waits_for_it() -> None:
    far = 10 * GAP_S
    rows = build_timeline(events((0, 0, 0.0, far, 0.0), (1, 1, far, 2 * far, 0.0)), ["a", "b"])
    assert rows["after"].isna().tolist() == [True, False]
    assert rows["after"][1] == 0
    assert rows["lag_s"].tolist() == pytest.approx([0.0, 0.0])


def test_events_of_other_steps_keep_their_lane_busy_and_are_left_out() -> None:
    rows = build_timeline(events((-1, 0, -1.0, 0.5, np.nan), (0, 0, 0.5, 0.6, 0.1)), ["gpu"])
    assert rows[["op", "start_s", "launch_s"]].to_numpy(dtype=float).tolist() == [[0.0, 0.5, 0.1]]
    assert rows["lag_s"][0] == 0


def test_a_wait_of_the_host_is_for_the_last_event_that_ended_in_it() -> None:
    ran = events((0, 0, 0.0, 0.5, 0.0), (1, 0, 0.5, 1.0, 0.1))
    rows = build_timeline(ran, ["gpu"], HostWaits(np.array([0.2]), np.array([1.25])))
    wait = rows[rows["op"].isna()].iloc[0]
    assert rows["op"][int(wait["after"])] == 1
    assert wait["lag_s"] == pytest.approx(0.25)
    early = build_timeline(ran, ["gpu"], HostWaits(np.array([1.1]), np.array([1.25])))
    assert early["after"].isna().all()  # nothing ran any more


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 10**6), lanes=st.integers(1, 4))
def test_a_timeline_replayed_with_its_own_times_ends_when_it_did(seed: int, lanes: int) -> None:
    rows, host_step_s = random_timeline(seed, lanes)
    ended_s = float(max((rows["start_s"] + rows["duration_s"]).max(), host_step_s))
    clocks = replay(Events(rows), np.ones((1, len(rows))), np.ones(1), host_step_s)
    assert clocks[0].complete_s[0] == pytest.approx(ended_s, rel=1e-9)
