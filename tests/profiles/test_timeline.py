"""What events of a step waited for: launches, their lanes, each other; and replayed they give their own step."""

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from estimator.core.types import Timeline
from estimator.profiles.columns import UNKNOWN
from estimator.profiles.timeline import (
    GAP_S,
    DeviceEvents,
    HostWaits,
    Record,
    build_timeline,
    step_at,
    typical_timeline,
)
from estimator.rollup.timeline import Events, replay, step_s
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


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 10**6), lanes=st.integers(1, 4))
def test_a_timeline_replayed_with_its_own_times_ends_when_it_did(seed: int, lanes: int) -> None:
    rows, host_step_s = random_timeline(seed, lanes)
    ended_s = float(max((rows["start_s"] + rows["duration_s"]).max(), host_step_s))
    clocks = replay(Events(rows), np.ones((1, len(rows))), np.ones(1), host_step_s)
    assert max(clocks[0].resumed_s[-1][0], *(end[0] for end in clocks[0].lanes_s.values())) == pytest.approx(
        ended_s, rel=1e-9
    )


US = 10**6  # [ps]


def record(*rows: tuple[int, int, int, int, int], windows: tuple[tuple[int, int], ...] = ()) -> Record:
    """A record of (op, lane, start, duration, launch) in us, and of the steps in which the host launched them."""
    op, lane, start, duration, launch = np.array(rows).T
    launch = np.where(launch == UNKNOWN, UNKNOWN, US * launch)
    bounds = US * np.array(windows, dtype=np.int64).reshape(-1, 2)
    step = step_at(bounds, np.where(launch == UNKNOWN, US * start, launch))
    return Record(op, lane, US * start, US * duration, launch, step, ["a", "b"], bounds, np.empty((0, 2), np.int64))


def replayed(timeline: Timeline | None, factor: float = 1.0, pace: float = 1.0) -> float:
    """A timeline's step [us] where all ops take so many times as long."""
    assert timeline
    factors = np.full((1, int(timeline.events["op"].max()) + 1), factor)
    return 1e6 * float(step_s(replay(Events(timeline.events), factors, np.array([pace]), timeline.host_step_s))[0])


def test_the_step_of_median_length_is_taken() -> None:
    windows = ((0, 10), (10, 40), (40, 60))
    ran = record((0, 0, 1, 5, 0), (0, 0, 11, 6, 10), (0, 0, 41, 7, 40), windows=windows)
    timeline = typical_timeline(ran)
    assert timeline
    assert timeline.events["duration_s"].tolist() == pytest.approx([7e-6])
    assert replayed(timeline) == pytest.approx(20)


def test_a_device_that_lags_behind_its_host_sets_the_length_of_a_step() -> None:
    ran = record(*((0, 0, 1 + 30 * step, 30, 10 * step) for step in range(3)), windows=((0, 10), (10, 20), (20, 30)))
    timeline = typical_timeline(ran)
    assert timeline
    assert (timeline.host_step_s, timeline.step_s) == pytest.approx((1e-5, 3e-5))


def test_without_marks_the_pauses_are_dropped_and_the_order_is_kept() -> None:
    ran = record((0, 0, 100, 10, 90), (1, 1, 105, 15, 90), (2, 0, 500, 5, 490), (-1, 0, 700, 50, 690))
    timeline = typical_timeline(ran)
    assert timeline
    assert 1e6 * timeline.step_s == pytest.approx(25)
    assert (1e6 * timeline.events["start_s"]).tolist() == pytest.approx([0, 0, 5, 5, 20])  # the first is cut at 5
    assert replayed(timeline) == pytest.approx(25)
    assert replayed(timeline, factor=2.0, pace=0.0) == pytest.approx(50)  # the third waits for the second


def test_a_marked_step_without_launches_keeps_its_pauses() -> None:
    unknown = ((0, 0, 3, 5, UNKNOWN), (1, 0, 20, 5, UNKNOWN))
    timeline = typical_timeline(record(*unknown, windows=((0, 40),)))
    assert timeline
    assert timeline.events["launch_s"].max() == 0
    assert replayed(timeline) == pytest.approx(40)
    assert replayed(timeline, factor=3.0) == pytest.approx(60)


def test_events_of_one_lane_that_ran_at_once_stay_side_by_side() -> None:
    steps = [[(3 * i, 0, 10, 40, 1), (3 * i + 1, 0, 10, 40, 1), (3 * i + 2, 0, 50, 15, 1)] for i in range(3)]
    rows = [(op, lane, 60 * i + start, duration, 60 * i + launch)
            for i, ops in enumerate(steps) for op, lane, start, duration, launch in ops]  # fmt: skip
    timeline = typical_timeline(record(*rows, windows=((0, 60), (60, 120), (120, 180))))
    assert timeline
    assert set(timeline.events["lane"]) == {"a", "a.1"}
    assert replayed(timeline) == pytest.approx(60)


def test_lanes_that_wait_for_each_other_all_the_time_have_no_timeline(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("estimator.profiles.timeline.MOST_WAITS", 0)
    assert typical_timeline(record((0, 0, 0, 10, UNKNOWN), (1, 1, 10, 10, UNKNOWN))) is None


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@example([(0, 0, 1), (0, 0, 2), (0, 2, 1), (0, 2, 0)])  # the last to end before the third stands behind it
@given(
    st.lists(st.tuples(st.integers(0, 1), st.integers(0, 60), st.integers(0, 20)), min_size=1, max_size=20).filter(
        lambda rows: any(duration for _, _, duration in rows)
    )
)
def test_without_launches_a_step_is_in_proportion_to_its_ops(rows: list[tuple[int, int, int]]) -> None:
    in_order = sorted(rows, key=lambda row: row[1])
    timeline = typical_timeline(record(*((op, *row, UNKNOWN) for op, row in enumerate(in_order))))
    busy = np.zeros(100, dtype=bool)
    for _, start, duration in rows:
        busy[start : start + duration] = True
    assert replayed(timeline) == pytest.approx(busy.sum(), rel=1e-3)
    assert replayed(timeline, 0.1) == pytest.approx(0.1 * busy.sum(), rel=1e-3)


def test_of_very_many_events_without_marks_there_is_no_timeline(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("estimator.profiles.timeline.MOST_EVENTS", 2)
    rows = [(0, 0, 10 * at, 5, 0) for at in range(3)]
    assert typical_timeline(record(*rows[:2]))
    assert typical_timeline(record(*rows)) is None


def test_nothing_that_ran_gives_no_timeline() -> None:
    assert typical_timeline(record((-1, 0, 0, 1, 0))) is None
    assert typical_timeline(record((0, 0, 9, 1, 9), windows=((0, 5),))) is None
