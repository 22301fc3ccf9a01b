"""Timelines in the order of the program, and the profile's own with what the target runs beside."""

import numpy as np
import pandas as pd
import pytest

from estimator.core.schema import TIMELINE
from estimator.core.types import Floats, Timeline
from estimator.rollup.target_timeline import StepTimeline, as_profiled, dispatched, in_turn
from estimator.rollup.timeline import Events, replay, step_s


def step(timeline: StepTimeline, samples: Floats, pace: float = 1.0) -> float:
    clocks = replay(Events(timeline.events), timeline.factor(samples[None]), np.array([pace]), timeline.host_step_s)
    return float(step_s(clocks)[0]) * timeline.scale


def ops(*rows: tuple[str, float]) -> pd.DataFrame:
    """Ops of a class and so many calls."""
    return pd.DataFrame(rows, columns=["op_class", "calls"])


def test_ops_in_turn_take_their_shares_and_the_idle_time() -> None:
    op_s = np.array([2.0, 4.0])
    timeline = in_turn(op_s, np.array([1.0, 0.5]), idle_s=1.0)
    assert step(timeline, op_s) == pytest.approx(5.0)
    assert step(timeline, 2 * op_s, pace=3.0) == pytest.approx(11.0)
    assert timeline.scale == 1.0


def test_launches_hold_up_short_ops_and_none_of_the_long_ones() -> None:
    op_s = np.array([1e-6, 1e-6, 1e-6])
    timeline = dispatched(ops(("gemm", 1), ("gemm", 3), ("gemm", 100)), op_s, dispatch_s=1e-5)
    assert step(timeline, op_s) == pytest.approx(104e-5)
    assert step(timeline, 1e4 * op_s) == pytest.approx(0.03)


def test_an_op_that_another_one_took_in_is_not_launched() -> None:
    timeline = dispatched(ops(("gemm", 1), ("elementwise", 0)), np.array([1e-6, 0.0]), dispatch_s=1e-5)
    assert step(timeline, np.array([1e-6, 0.0])) == pytest.approx(1e-5)


def test_input_is_read_before_the_rest_is_launched() -> None:
    op_s = np.array([0.5, 1e-6])
    timeline = dispatched(ops(("input", 1), ("gemm", 1)), op_s, dispatch_s=1e-5)
    assert step(timeline, op_s) == pytest.approx(0.5 + 1e-5)


def test_an_op_of_the_host_that_never_ran_holds_up_nothing() -> None:
    op_s = np.array([1e-6, 0.5, 0.0, 1e-6])
    timeline = dispatched(ops(("gemm", 1), ("host", 1), ("host", 0), ("gemm", 1)), op_s, dispatch_s=1e-5)
    assert step(timeline, op_s) == pytest.approx(0.5 + 2e-5)


def profiled() -> Timeline:
    rows = {"op": [0, 1], "lane": "gpu", "start_s": [0.0, 1.0], "duration_s": [1.0, 1.0], "launch_s": [0.0, 0.5]}
    return Timeline(TIMELINE.conform(pd.DataFrame(rows), "toy"), host_step_s=1.0, step_s=2.0)


def test_a_profiles_own_times_give_its_mean_step() -> None:
    time_s = np.array([1.1, 1.1])  # the mean is longer than the step that the timeline is of
    assert step(as_profiled(profiled(), time_s, time_s, source_step_s=2.2), time_s) == pytest.approx(2.2)


def test_what_the_profile_lacks_runs_behind_it() -> None:
    time_s, op_s = np.array([1.0, 1.0, 0.0]), np.array([2.0, 1.0, 0.25])
    assert step(as_profiled(profiled(), time_s, op_s, source_step_s=2.0), op_s) == pytest.approx(3.25)


def test_a_timeline_without_launches_hides_none() -> None:
    time_s = np.array([1.0, 1.0])
    assert as_profiled(profiled(), time_s, time_s, source_step_s=2.0).launches
    events = profiled().events.assign(launch_s=[0.0, np.nan])
    unlaunched = Timeline(TIMELINE.conform(events, "toy"), host_step_s=2.0, step_s=2.0)
    assert not as_profiled(unlaunched, time_s, time_s, source_step_s=2.0).launches
