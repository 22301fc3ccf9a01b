"""No step is above its ceiling or below its floor, whatever the host does and whatever lane its ops are on."""

import dataclasses

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from estimator.core.types import InputTime, Prediction, Timeline
from estimator.rollup.host import HostScenario
from estimator.rollup.step import replay_step
from estimator.rollup.step_bounds import ceiling_s, floor_s
from estimator.rollup.target_timeline import StepTimeline, as_profiled, dispatched, in_turn
from tests.rollup.timelines import random_timeline

COUNT = 40
CLASSES = ("gemm", "elementwise", "input", "host")


def predicted(seed: int) -> Prediction:
    """Ops with a floor and a ceiling around their nominal times."""
    rng = np.random.default_rng(seed)
    ops = pd.DataFrame({"op_class": rng.choice(CLASSES, COUNT), "bound": "memory", "method": "roofline"})
    ops = ops.assign(placement="gpu", time_s=rng.exponential(2e-5, COUNT), calls=rng.integers(1, 4, COUNT) * 1.0)
    samples = ops["time_s"].to_numpy()[None] * np.array([[1.0], [1.1], [0.95]])
    launch = np.full_like(samples, 1e-7)
    floor, ceiling = 0.5 * samples[0], 2.0 * samples[0]
    return Prediction(ops, samples, launch, floor, ceiling, np.ones(3), 1.0, {})


def timeline(kind: str, seed: int, prediction: Prediction) -> StepTimeline:
    op_s = prediction.samples[0]
    if kind == "in turn":
        return in_turn(op_s, np.random.default_rng(seed).uniform(0.1, 1.0, COUNT), idle_s=1e-4)
    if kind == "dispatched":
        return dispatched(prediction.ops, op_s, 1e-5)
    events, host_step_s = random_timeline(seed, lanes=1 + seed % 3, count=COUNT)
    time_s = np.zeros(COUNT)
    np.add.at(time_s, events["op"].dropna().astype(int), events["duration_s"][events["op"].notna()])
    own = Timeline(events, host_step_s, host_step_s)
    return as_profiled(own, time_s, op_s, source_step_s=host_step_s)


@settings(max_examples=60, deadline=None)
@given(
    st.sampled_from(["in turn", "dispatched", "as profiled"]),
    st.integers(0, 10**6),
    st.sampled_from([0.0, 0.5, 1.0, 4.0]),
    st.sampled_from(["carried", "overlapped", "none"]),
)
def test_a_step_lies_between_its_floor_and_its_ceiling(kind: str, seed: int, pace: float, waits: InputTime) -> None:
    prediction = predicted(seed)
    replayed_timeline = timeline(kind, seed, prediction)
    scenario = HostScenario("toy", np.full(3, pace), kernels=np.array([1.0, 0.2, 1.5]), input=waits)
    found = replay_step(prediction, replayed_timeline, scenario)
    low, high = floor_s(prediction, replayed_timeline), ceiling_s(prediction, replayed_timeline, scenario)
    assert low <= found.kernels_s.min() * (1 + 1e-9)
    assert low <= found.step.total.min() * (1 + 1e-9)
    assert found.step.total[0] <= high * (1 + 1e-9)


def test_the_ceiling_grows_with_the_host_and_the_floor_does_not() -> None:
    prediction = predicted(1)
    own = dispatched(prediction.ops, prediction.samples[0], 1e-5)
    none, slow = (ceiling_s(prediction, own, HostScenario("toy", np.full(3, pace))) for pace in (0.0, 2.0))
    assert none == pytest.approx(prediction.ceiling_s.sum())
    assert slow - none == pytest.approx(2 * own.host_s)
    assert floor_s(dataclasses.replace(prediction, floor_s=np.zeros(COUNT)), own) == pytest.approx(0)
