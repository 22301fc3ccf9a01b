import dataclasses

import numpy as np
import pytest

from estimator.core.interval import Z, bounds
from estimator.core.types import Profile, RunPlan, Timeline, Workload
from estimator.pipeline.step import estimate
from estimator.profiles import canonical
from estimator.rollup import step
from estimator.rollup.host import HostScenario
from estimator.rollup.parts import PARTS
from estimator.rollup.target_timeline import in_turn
from tests.conftest import make_ops
from tests.rollup.timelines import random_timeline
from tests.rollup.toy_steps import OPS, predicted, profile, replayed


def test_overlap_and_idle_time_carry_over_to_the_target() -> None:
    estimated = estimate(profile(wall_step_s=1.0, busy_step_s=0.5), RunPlan("k20x", draws=3))
    assert estimated.step.unmodelled[0] == pytest.approx(0.5)
    assert estimated.step.host[0] == pytest.approx(0.5)
    assert estimated.step.total[0] == pytest.approx(estimated.source_step_s)


def test_on_its_own_device_a_step_varies_as_the_profiled_steps() -> None:
    ran = dataclasses.replace(profile(wall_step_s=1.25), device="v100", step_spread=0.1)
    low, mid, high = bounds(estimate(ran, RunPlan("v100", draws=4000)).step.total)
    assert mid == 1.25
    assert [low / mid, high / mid] == pytest.approx([np.exp(-0.1 * Z), np.exp(0.1 * Z)], rel=0.02)


@pytest.mark.parametrize("lanes", [1, 3])
def test_on_its_own_device_the_kernels_alone_are_as_long_as_the_sources(lanes: int) -> None:
    events, host_step_s = random_timeline(1, lanes)
    rows = [{"op": f"op {i}", "op_type": "Mystery", "time_s": time_s} for i, time_s in enumerate(events["duration_s"])]
    ops = canonical.to_ops(make_ops(*rows), "toy")
    timeline = Timeline(events, host_step_s, step_s=float((events["start_s"] + events["duration_s"]).max()))
    ran = Profile(ops, Workload(name="toy"), "v100", "toy", wall_step_s=timeline.step_s, timeline=timeline)
    estimated = estimate(ran, RunPlan("v100", draws=0, host="none"))
    assert estimated.source_step_s == pytest.approx(estimated.step.total[0])
    assert estimated.source_step_s == pytest.approx(estimated.kernels_s[0])


def test_each_part_of_a_step_by_hand() -> None:
    actual = replayed(0.5, idle_s=0.25)
    expected = {part: sum((op[3] - op[4]) / 2 for op in OPS if op[5] == part) for part in PARTS}
    expected |= {"latency": sum(op[4] for op in OPS) / 2, "host": expected["host"] + 0.25}
    assert {part: samples[0] for part, samples in actual.step.parts().items()} == pytest.approx(expected)
    assert actual.step.total == pytest.approx(np.array([45.5, 91]) / 2 + [0.25, 0.75])
    assert sum(actual.step.parts().values()) == pytest.approx(actual.step.total)
    assert actual.kernels_s == pytest.approx(np.array([42.5, 85]) / 2)  # without the ops of the host and of input
    assert actual.overlap == pytest.approx(np.full(len(OPS), 0.5))
    assert actual.running_s == pytest.approx([42.5, 85.0])  # without host and input, concurrent or not


def test_another_stack_makes_no_op_shorter_than_its_floor_and_changes_no_prediction() -> None:
    floor_s = np.array([7.0, *[0.0] * (len(OPS) - 1)])  # of the first op, which takes 8 s
    prediction = dataclasses.replace(predicted(), floor_s=floor_s)
    before = prediction.samples.copy(), prediction.launch.copy()
    timeline = in_turn(prediction.samples[0], np.ones(len(OPS)), 0.0)
    halved = HostScenario("none", prediction.run, kernels=np.array([0.5, 0.5]))
    time_s, launch_s = step.times_in_step(prediction, timeline, halved)
    assert time_s[:, 0].tolist() == [7.0, 8.0]
    assert time_s[:, 1].tolist() == [3.5, 7.0]
    assert launch_s[:, 1].tolist() == [0.5, 1.0]
    for kept, now in zip(before, (prediction.samples, prediction.launch), strict=True):
        assert (kept == now).all()


def test_the_time_of_products_alone() -> None:
    slower = HostScenario("profile", np.ones(2), kernels=np.array([1.0, 2.0]))
    assert step.matrix_time(predicted(), np.full(len(OPS), 0.5), slower).tolist() == [15, 60]
