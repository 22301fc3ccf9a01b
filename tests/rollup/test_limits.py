"""A step lies between its floor and its ceiling, whatever its host and its input do."""

from dataclasses import replace
from itertools import pairwise, product

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from estimator.core.interval import bounds
from estimator.core.scenarios import Host, Input
from estimator.core.types import Estimate, Floats, Profile, RunPlan, Timeline, Workload
from estimator.pipeline.step import estimate
from estimator.profiles import canonical
from estimator.rollup.host import HostScenario
from estimator.rollup.limits import step_limits
from estimator.rollup.target_timeline import in_turn
from tests.conftest import make_ops
from tests.rollup.timelines import random_timeline
from tests.rollup.toy_steps import OPS, predicted

ROUNDING = 1e-9
HOSTS: tuple[Host, ...] = (None, "profile", "none", 0.25, 4.0)
INPUTS: tuple[Input, ...] = (None, "carried", "overlapped", "none")
KINDS = (
    {"op_type": "MatMul", "m": 512, "n": 512, "k": 512},
    {"op_type": "Relu", "bytes": 2e7, "flop": 5e6},
    {"op_type": "Mystery"},
    {"op_type": "Fetch", "op_class": "input"},
    {"op_type": "Wait", "op_class": "host"},
)


def random_profile(seed: int, placement: str, *, launched: bool) -> Profile:
    """A profile of ops of all kinds, some of no time; ``launched``: with a timeline of them on three lanes."""
    rng = np.random.default_rng(seed)
    events, host_step_s = random_timeline(seed, 3, count=20)
    time_s = rng.exponential(2e-3, 20) * (rng.random(20) < 0.9)
    if launched:
        time_s = events.groupby("op")["duration_s"].sum().to_numpy()
    rows = [{**KINDS[rng.integers(len(KINDS))], "time_s": time, "placement": placement} for time in time_s]
    ops = canonical.to_ops(make_ops(*rows), "toy")
    timeline = Timeline(events, host_step_s, host_step_s) if launched else None
    wall_s = host_step_s if launched else float(time_s.sum()) * rng.uniform(0.8, 3.0)
    workload = Workload(name="toy", framework="TensorFlow")
    return Profile(ops, workload, None, "toy", wall_step_s=wall_s, timeline=timeline)


def scenarios(profile: Profile, target: str) -> dict[tuple[Host, Input], Estimate]:
    return {
        (host, reads): estimate(profile, RunPlan(target, draws=20, host=host, input=reads))
        for host, reads in product(HOSTS, INPUTS)
    }


def test_the_ceiling_has_all_ops_in_turn_at_the_slowest_stack() -> None:
    prediction = replace(predicted(), ceiling_s=np.arange(1.0, 1.0 + len(OPS)))
    slower = HostScenario("profile", np.ones(2), kernels=np.array([1.0, 3.0]))
    timeline = in_turn(prediction.samples[0], np.ones(len(OPS)), 0.0)
    total_s = np.zeros(2)
    assert step_limits(prediction, timeline, slower, total_s)[1] == pytest.approx(3.0 * sum(range(1, 1 + len(OPS))))


PROFILES = st.tuples(st.integers(0, 10**6), st.sampled_from(["/host:CPU:0", "gpu:0"]), st.booleans())


@settings(max_examples=6, phases=set(Phase) - {Phase.shrink})  # each takes a second
@given(made=PROFILES, target=st.sampled_from(["v100", "epyc-7763"]))
@pytest.mark.slow
def test_every_scenarios_step_lies_between_its_limits(made: tuple[int, str, bool], target: str) -> None:
    seed, placement, launched = made
    actual = scenarios(random_profile(seed, placement, launched=launched), target)
    for each in actual.values():
        low, mid, high = bounds(each.step.total)
        assert each.floor_s <= min(low, mid) * (1 + ROUNDING)
        assert max(mid, high) <= each.ceiling_s * (1 + ROUNDING)
        assert sum(each.step.parts().values()) == pytest.approx(each.step.total)
        assert sum(each.evidence.values()) == pytest.approx(1.0)
        assert each.overlap @ each.prediction.samples[0] <= mid * (1 + ROUNDING), "no launch that is hidden counts"
    alone = actual["none", None]
    assert alone.step.total == pytest.approx(alone.kernels_s)
    for each in actual.values():
        assert each.kernels_s == pytest.approx(alone.kernels_s)
        assert rises([each.kernels_s, each.step.total])
    for reads in INPUTS[1:]:
        assert rises([actual[host, reads].step.total for host in ("none", 0.25, None, 4.0)])
    for host in HOSTS:
        assert rises([actual[host, reads].step.total for reads in ("none", "overlapped", "carried")])


def rises(steps: list[Floats]) -> bool:
    """Whether no step is below the one before it, in any draw."""
    return all((less <= more * (1 + ROUNDING)).all() for less, more in pairwise(steps))
