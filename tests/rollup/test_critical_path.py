"""Where a replayed step goes: its parts add up to it, and what was critical is what holds it up."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from estimator.core.schema import HOST, TIMELINE
from estimator.rollup.critical_path import CriticalPath, critical_path
from estimator.rollup.timeline import Events, replay, step_s
from tests.rollup.timelines import random_timeline

LONE = {"op": 0, "lane": "gpu", "start_s": 1.5, "duration_s": 2.0, "launch_s": 1.0, "delay_s": 0.5}
WAIT = {"lane": HOST, "start_s": 1.2, "duration_s": 2.4, "after": 0, "lag_s": 0.1}


def walked(rows: pd.DataFrame, factor: np.ndarray, pace: float, host_step_s: float) -> tuple[float, CriticalPath]:
    events, paces = Events(rows), np.array([pace])
    clocks = replay(events, factor[None], paces, host_step_s)
    return float(step_s(clocks)[0]), critical_path(events, clocks, factor[None], paces, host_step_s)


@pytest.mark.slow
@settings(max_examples=80, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    lanes=st.integers(1, 4),
    pace=st.floats(0.0, 3.0),
    tick_s=st.sampled_from([0.0, 1e-5, 1e-4]),
)
def test_parts_add_up_to_the_step(seed: int, lanes: int, pace: float, tick_s: float) -> None:
    rows, host_step_s = random_timeline(seed, lanes, tick_s=tick_s)
    factor = np.random.default_rng(seed).exponential(size=len(rows))
    step, path = walked(rows, factor, pace, host_step_s)
    assert path.of_op_s.sum() + path.start_s + path.host_s == pytest.approx(step, rel=1e-9)
    assert path.of_op_s.min() >= 0


def test_a_host_that_waits_for_its_only_op_has_four_parts() -> None:
    rows = TIMELINE.conform(pd.DataFrame([LONE, WAIT]), "toy")
    step, path = walked(rows, np.ones(1), 1.0, host_step_s=4.0)
    assert step == pytest.approx(4.0)
    assert [path.of_op_s[0], path.start_s] == pytest.approx([2.0, 0.5])
    assert path.host_s == pytest.approx(1.0 + 0.1 + 0.4)  # before the launch, to wake up, and behind the wait


def test_a_step_of_the_host_alone_is_its_ops() -> None:
    row = {"op": [0], "lane": HOST, "start_s": 0.0, "duration_s": 2.0}
    total, path = walked(TIMELINE.conform(pd.DataFrame(row), "toy"), np.ones(1), 1.0, 2.0)
    assert [total, path.of_op_s[0]] == pytest.approx([2.0, 2.0])


def test_of_two_lanes_only_the_longer_is_critical() -> None:
    first = {"op": 0, "lane": "a", "start_s": 0.0, "duration_s": 1.0, "launch_s": 0.0}
    rows = TIMELINE.conform(pd.DataFrame([first, {**first, "op": 1, "lane": "b"}]), "toy")
    step, path = walked(rows, np.array([3.0, 2.0]), 1.0, host_step_s=0.0)
    assert step == pytest.approx(3.0)
    assert path.of_op_s.tolist() == pytest.approx([3.0, 0.0])


def test_an_op_of_the_host_counts_as_itself_but_for_what_the_step_before_hides() -> None:
    reads = {"op": 0, "lane": HOST, "start_s": 0.0, "duration_s": 2.0}
    runs = {"op": 1, "lane": "gpu", "start_s": 2.0, "duration_s": 1.0, "launch_s": 2.0}
    rows = TIMELINE.conform(pd.DataFrame([reads, runs]), "toy")
    step, path = walked(rows, np.ones(2), 1.0, host_step_s=2.0)
    assert step == pytest.approx(2.0)
    assert path.of_op_s.tolist() == pytest.approx([1.0, 1.0])
