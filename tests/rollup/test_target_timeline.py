"""Timelines in the order of the program, and the profile's own with what the target runs beside."""

import numpy as np
import pandas as pd
import pytest
from pandas.testing import assert_frame_equal

from estimator.core.attributes import INSIDE
from estimator.core.schema import HOST, TIMELINE
from estimator.core.types import Floats, Timeline
from estimator.rollup.target_timeline import StepTimeline, as_profiled, dispatched, host_time, in_turn, read_ahead
from estimator.rollup.timeline import Events, replay, step_s


def step(timeline: StepTimeline, samples: Floats, pace: float = 1.0) -> float:
    clocks = replay(timeline.events, timeline.factor(samples[None]), np.array([pace]), timeline.host_step_s)
    return float(step_s(clocks)[0]) * timeline.scale


def ops(*rows: tuple[str, float]) -> pd.DataFrame:
    """Ops of a class and so many calls."""
    return pd.DataFrame(rows, columns=["op_class", "calls"]).assign(attributes=pd.NA)


def launch(ops: pd.DataFrame, op_s: Floats, dispatch_s: float, share: float = 1.0) -> StepTimeline:
    by_host = ops["op_class"].isin(["input", "host"]).to_numpy()
    return dispatched(ops, op_s, np.full(len(op_s), share), by_host, dispatch_s)


def test_ops_in_turn_take_their_shares_and_the_idle_time() -> None:
    op_s = np.array([2.0, 4.0])
    timeline = in_turn(op_s, np.array([1.0, 0.5]), idle_s=1.0)
    assert step(timeline, op_s) == pytest.approx(5.0)
    assert step(timeline, 2 * op_s, pace=3.0) == pytest.approx(11.0)
    assert timeline.scale == 1.0


def test_launches_hold_up_short_ops_and_none_of_the_long_ones() -> None:
    op_s = np.array([1e-6, 1e-6, 1e-6])
    timeline = launch(ops(("gemm", 1), ("gemm", 3), ("gemm", 100)), op_s, dispatch_s=1e-5)
    assert step(timeline, op_s) == pytest.approx(104e-5)
    assert step(timeline, 1e4 * op_s) == pytest.approx(0.03)
    assert step(launch(ops(("gemm", 1)), op_s[:1], 1e-9, share=0.5), op_s[:1]) == pytest.approx(0.5e-6)


def test_a_variable_of_the_device_needs_no_launch() -> None:
    op_s, variables = np.array([1e-6, 1e-6]), ops(("host", 100), ("gemm", 1))
    timeline = dispatched(variables, op_s, np.ones(2), np.zeros(2, dtype=bool), dispatch_s=1e-5)
    assert step(timeline, op_s) == pytest.approx(1e-5)
    assert step(timeline, op_s, pace=0.0) == pytest.approx(2e-6)


def test_an_op_that_another_one_took_in_is_not_launched() -> None:
    timeline = launch(ops(("gemm", 1), ("elementwise", 0)), np.array([1e-6, 0.0]), dispatch_s=1e-5)
    assert step(timeline, np.array([1e-6, 0.0])) == pytest.approx(1e-5)


def test_a_kernel_inside_of_another_op_needs_no_launch_of_its_own() -> None:
    op_s, inside = np.array([1e-6, 1e-6]), ops(("gemm", 1), ("movement", 100)).assign(attributes=[pd.NA, INSIDE])
    assert step(launch(inside, op_s, dispatch_s=1e-5), op_s) == pytest.approx(1e-5)
    assert step(launch(inside, 100 * op_s, dispatch_s=1e-5), 100 * op_s) == pytest.approx(2e-4)


def test_input_is_read_before_the_rest_is_launched() -> None:
    op_s = np.array([0.5, 1e-6])
    timeline = launch(ops(("input", 1), ("gemm", 1)), op_s, dispatch_s=1e-5)
    assert step(timeline, op_s) == pytest.approx(0.5 + 1e-5)


def test_an_op_of_the_host_that_never_ran_holds_up_nothing() -> None:
    op_s = np.array([1e-6, 0.5, 0.0, 1e-6])
    timeline = launch(ops(("gemm", 1), ("host", 1), ("host", 0), ("gemm", 1)), op_s, dispatch_s=1e-5)
    assert step(timeline, op_s) == pytest.approx(0.5 + 2e-5)


def profiled() -> Timeline:
    rows = {"op": [0, 1], "lane": "gpu", "start_s": [0.0, 1.0], "duration_s": [1.0, 1.0], "launch_s": [0.0, 0.5]}
    return Timeline(TIMELINE.conform(pd.DataFrame(rows), "toy"), host_step_s=1.0, step_s=2.0)


def test_a_profiles_own_times_give_its_mean_step() -> None:
    time_s = np.array([1.1, 1.1])  # the mean is longer than the step that the timeline is of
    assert step(as_profiled(profiled(), time_s, time_s, source_step_s=2.2), time_s) == pytest.approx(2.2)


def kernels(*columns: dict[str, object], host_step_s: float = 0.0) -> StepTimeline:
    """The profile's timeline with its two kernels changed."""
    events = profiled().events.assign(launch_s=0.0)
    for changed in columns:
        events = events.assign(**changed)
    ran = np.ones(2)
    return as_profiled(Timeline(events, host_step_s=host_step_s, step_s=2.0), ran, ran, source_step_s=2.0)


@pytest.mark.parametrize(
    ("timeline", "holds"),
    [
        (kernels(), False),
        (kernels({"launch_s": np.nan}), False),
        (kernels({"launch_s": [0.0, 0.5]}), True),  # launches
        (kernels({"lag_s": [0.0, 0.1]}), True),  # pauses between kernels
        (kernels(host_step_s=2.5), True),  # what the host does behind its last launch
        (kernels({"lane": ["gpu", HOST], "launch_s": np.nan, "start_s": 0.0}, host_step_s=1.0), True),  # its own op
        (in_turn(np.ones(2), np.ones(2), idle_s=0.0), False),
        (in_turn(np.ones(2), np.ones(2), idle_s=0.1), True),
    ],
)
def test_whether_a_timeline_holds_time_of_a_host(timeline: StepTimeline, holds: bool) -> None:
    assert timeline.holds_host is holds


def test_the_hosts_own_time_is_between_its_waits_and_for_the_launches_beside() -> None:
    """It works 1 s, waits from 1 to 3 s, and goes on to its next step at 4 s; a launch at 6 s lies beyond that."""
    rows = {"op": [0, None], "lane": ["gpu", HOST], "start_s": [6.0, 1.0], "duration_s": [1.0, 2.0],
            "launch_s": [6.0, np.nan]}  # fmt: skip
    assert host_time(Events(TIMELINE.conform(pd.DataFrame(rows), "toy")), host_step_s=4.0) == pytest.approx(1 + 1 + 2)


def test_events_last_as_their_ops_do() -> None:
    timeline = in_turn(np.array([2.0, 4.0]), np.array([1.0, 0.5]), idle_s=1.0)
    assert timeline.durations_s(np.array([1.0, 8.0])).tolist() == [1.0, 4.0, 0.0]  # the wait is no op


def test_an_op_of_the_mean_step_that_the_timeline_lacks_counts_once() -> None:
    """1 s in the timeline, 0.25 s more in the mean step: together that step."""
    events = pd.DataFrame([{"op": 0, "lane": "gpu", "start_s": 0.0, "duration_s": 1.0, "launch_s": 0.0}])
    own_s = np.array([1.0, 0.25])
    timeline = as_profiled(Timeline(TIMELINE.conform(events, "t"), 0.0, 1.0), own_s, own_s, source_step_s=1.25)
    assert step(timeline, own_s) == pytest.approx(1.25)


def test_what_the_profile_lacks_runs_behind_it() -> None:
    time_s, op_s = np.array([1.0, 1.0, 0.0]), np.array([2.0, 1.0, 0.25])
    assert step(as_profiled(profiled(), time_s, op_s, source_step_s=2.0), op_s) == pytest.approx(3.25)


READS = np.array([True, False])


@pytest.mark.parametrize("by_host", [True, False])
def test_input_that_is_read_ahead_takes_the_longer_of_both(by_host: bool) -> None:
    op_s = np.array([0.5, 0.2])
    launched = dispatched(ops(("input", 1), ("gemm", 1)), op_s, np.ones(2), READS & by_host, dispatch_s=1e-5)
    assert step(launched, op_s) == pytest.approx(0.5 if by_host else 0.7, rel=1e-3)
    ahead = read_ahead(launched, READS)
    assert step(ahead, op_s) == pytest.approx(0.5)
    assert step(ahead, np.array([0.1, 0.2])) == pytest.approx(0.2)
    assert step(ahead, np.array([0.2001, 0.2])) == pytest.approx(0.2001)  # although it is behind by little


@pytest.mark.parametrize("order", [[0, 1], [1, 0]])
def test_the_host_waits_for_what_ran_beside_input_and_not_for_that(order: list[int]) -> None:
    op_s = np.array([0.5, 0.2])[order]
    ahead = read_ahead(in_turn(op_s, np.ones(2), idle_s=0.1), READS[order])
    assert step(ahead, op_s) == pytest.approx(0.5)
    assert step(ahead, np.array([0.25, 0.2])[order]) == pytest.approx(0.3)


def test_nothing_is_read_ahead_where_nothing_is_read() -> None:
    op_s = np.array([0.5, 0.2])
    timeline = in_turn(op_s, np.ones(2), idle_s=0.1)
    assert_frame_equal(read_ahead(timeline, np.zeros(2, dtype=bool)).events.table, timeline.events.table)


def test_no_ops_make_a_step_of_the_host_alone() -> None:
    none, no_ops = np.empty(0), ops().iloc[:0].assign(calls=np.empty(0))
    assert step(in_turn(none, none, idle_s=0.5), none) == pytest.approx(0.5)
    assert step(dispatched(no_ops, none, none, none.astype(bool), 1e-5), none) == 0.0
    nothing = Timeline(TIMELINE.empty(), host_step_s=1.0, step_s=1.0)
    assert step(as_profiled(nothing, none, none, source_step_s=2.0), none) == pytest.approx(2.0)


def test_ops_that_take_no_time_make_a_step_of_launches_and_idle_time() -> None:
    zeros = np.zeros(2)
    assert step(in_turn(zeros, np.ones(2), idle_s=0.5), zeros) == pytest.approx(0.5)
    assert step(in_turn(zeros, np.ones(2), idle_s=0.0), zeros) == 0.0
    assert step(launch(ops(("gemm", 1), ("gemm", 1)), zeros, 1e-5), zeros) == pytest.approx(2e-5)
    idle = Timeline(profiled().events.assign(start_s=0.0, duration_s=0.0, launch_s=0.0), host_step_s=0.0, step_s=0.0)
    assert step(as_profiled(idle, zeros, zeros, source_step_s=0.0), zeros) == 0.0


def test_what_a_timeline_without_ops_lacks_runs_all_the_same() -> None:
    op_s = np.array([2.0])
    waits = {"lane": ["host"], "start_s": 0.0, "duration_s": 1.0}
    timeline = Timeline(TIMELINE.conform(pd.DataFrame(waits), "toy"), host_step_s=1.0, step_s=1.0)
    assert step(as_profiled(timeline, np.zeros(1), op_s, source_step_s=1.0), op_s) == pytest.approx(2.0)


def test_a_timeline_without_launches_hides_none() -> None:
    time_s = np.array([1.0, 1.0])
    assert as_profiled(profiled(), time_s, time_s, source_step_s=2.0).launches
    events = profiled().events.assign(launch_s=[0.0, np.nan])
    unlaunched = Timeline(TIMELINE.conform(events, "toy"), host_step_s=2.0, step_s=2.0)
    assert not as_profiled(unlaunched, time_s, time_s, source_step_s=2.0).launches
