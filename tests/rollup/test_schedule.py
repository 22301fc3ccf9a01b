"""When the ops of a replayed step run, and which of them the step waits for."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from estimator.core.schema import HOST, TIMELINE
from estimator.core.types import Prediction
from estimator.rollup.host import HostScenario
from estimator.rollup.schedule import replayed_schedule
from estimator.rollup.step import replay_step
from estimator.rollup.target_timeline import StepTimeline, in_turn
from estimator.rollup.timeline import Events
from tests.rollup.timelines import random_timeline
from tests.rollup.toy_steps import OPS, predicted

ONES = HostScenario("profile", np.ones(2))


def named(prediction: Prediction) -> Prediction:
    ops = prediction.ops.assign(op=[f"op{row}" for row in range(len(prediction.ops))])
    return Prediction(**{**vars(prediction), "ops": ops})


def carried(op_s: np.ndarray) -> Prediction:
    """Ops that take these times on the target, without launches."""
    ops = pd.DataFrame(
        {"op": [f"op{row}" for row in range(len(op_s))], "op_class": "unmodelled", "method": "unchanged"}
    )
    ops = ops.astype("string[python]").assign(bound=pd.NA, placement=pd.NA, time_s=op_s, shared_s=np.nan)
    zeros = np.zeros((2, len(op_s)))
    return Prediction(ops, np.vstack([op_s, op_s]), zeros, zeros[0], zeros[0], np.ones(2), 1.0, {})


def test_ops_in_turn_follow_one_another_and_are_all_critical() -> None:
    prediction = named(predicted())
    timeline = in_turn(prediction.samples[0], np.full(len(OPS), 0.5), idle_s=1.0)
    table = replayed_schedule(prediction, timeline, HostScenario("profile", prediction.run))
    device, wait = table[table["lane"] != HOST], table[table["lane"] == HOST]
    assert device["op"].tolist() == prediction.ops["op"].tolist()
    assert device["row"].tolist() == list(range(len(OPS)))
    assert device["start_s"].iloc[0] == 0
    assert device["start_s"].iloc[1:].to_numpy() == pytest.approx(device["end_s"].iloc[:-1].to_numpy())
    assert device["critical_s"].to_numpy() == pytest.approx((device["end_s"] - device["start_s"]).to_numpy())
    assert wait["op"].isna().all()
    assert wait["critical_s"].tolist() == [0]


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 10**6), lanes=st.integers(1, 4), faster=st.sampled_from([1.0, 0.3, 2.5]))
def test_events_of_a_lane_follow_each_other_and_critical_ones_make_the_step(
    seed: int, lanes: int, faster: float
) -> None:
    rows, host_step_s = random_timeline(seed, lanes)
    op_s = np.ones(int(rows["op"].max()) + 1)
    prediction, timeline = carried(faster * op_s), StepTimeline(Events(rows), host_step_s, op_s, scale=2.0)
    table = replayed_schedule(prediction, timeline, ONES)
    step = replay_step(prediction, timeline, ONES).step
    for _, lane in table.groupby("lane"):
        assert (lane["start_s"].to_numpy()[1:] >= lane["end_s"].to_numpy()[:-1] - 1e-9).all()
    assert table["start_s"].iloc[0] == 0
    assert table["critical_s"].sum() == pytest.approx(step.total[0] - step.host[0] - step.latency[0])
    durations = faster * rows["duration_s"].to_numpy(dtype=float)[rows["op"].notna()]
    assert (table["end_s"] - table["start_s"])[table["op"].notna()].sum() == pytest.approx(2.0 * durations.sum())


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 10**6), lanes=st.integers(1, 3))
def test_a_step_with_its_own_times_runs_as_it_was_recorded(seed: int, lanes: int) -> None:
    """The host waits for the device at odd seeds, so that nothing is left over from the step before."""
    rows, host_step_s = random_timeline(2 * seed + 1, lanes)
    op_s = np.ones(int(rows["op"].max()) + 1)
    table = replayed_schedule(carried(op_s), StepTimeline(Events(rows), host_step_s, op_s), ONES)
    ran = rows[rows["op"].notna()].sort_values("op")
    shown = table[table["row"].notna()].sort_values("row")
    shift_s = float(shown["start_s"].iloc[0] - ran["start_s"].iloc[0])
    assert shown["start_s"].to_numpy() == pytest.approx(ran["start_s"].to_numpy(dtype=float) + shift_s, abs=1e-9)


def test_a_device_that_lags_by_whole_steps_is_shown_beside_its_host() -> None:
    launches = {"op": [0, 1], "lane": ["gpu", HOST], "start_s": [0.1, 0.2], "duration_s": [5.0, 0.3]}
    rows = pd.DataFrame({**launches, "launch_s": [0.0, np.nan]})
    timeline = StepTimeline(Events(TIMELINE.conform(rows, "toy")), 1.0, np.ones(2))
    table = replayed_schedule(carried(np.ones(2)), timeline, ONES)
    assert table["start_s"].min() == 0
    assert table["end_s"].max() < 2 * 5.0
    assert table.set_index("row")["critical_s"].to_dict() == pytest.approx({0: 5.0, 1: 0.0})


def test_nothing_ran() -> None:
    rows = TIMELINE.conform(pd.DataFrame({"op": [], "lane": [], "start_s": [], "duration_s": []}), "toy")
    table = replayed_schedule(carried(np.ones(0)), StepTimeline(Events(rows), 1.0, np.ones(0)), ONES)
    assert table.empty
