"""The step of several devices: one timeline, replayed with the messages of each number of them."""

from functools import cache

import numpy as np
import pytest

from estimator.core.interval import bounds
from estimator.core.parallel import read_split
from estimator.core.types import Network, Profile, RunPlan, Workload
from estimator.pipeline.alone import step_of_one
from estimator.pipeline.group_steps import assumed_links, ranks_of_kinds, step_of_group, steps_of_groups
from estimator.pipeline.predicted_step import PredictedStep
from estimator.pipeline.step import predict_step
from estimator.profiles import read_profile
from estimator.profiles.layers.shards import divided
from estimator.rollup import gradient_places
from estimator.rollup.scaling import NO_SPREAD, Group
from estimator.work.parallel import Ranks
from tests.conftest import make_ops

PLAN = RunPlan("v100", batch=32, system="summit", draws=50)


@cache
def predicted() -> PredictedStep:
    return predict_step(read_profile("vgg16"), PLAN)


@cache
def in_unknown_network() -> PredictedStep:
    return predict_step(read_profile("resnet50"), RunPlan("a10", batch=32, draws=400))


def group(devices: int) -> Group:
    return Group(devices, -(-devices // 6), 32, 32 * devices)


@pytest.mark.slow
def test_groups_together_are_those_one_by_one() -> None:
    one, data = step_of_one(predicted()), read_split("data")
    counts = (1, 6, 96, 1536)
    together = steps_of_groups(predicted(), one, [group(count) for count in counts], data)
    for count, actual in zip(counts, together, strict=True):
        alone = step_of_group(predicted(), one, group(count), data)
        assert np.allclose(actual.step.total, alone.step.total)
        assert np.allclose(actual.communication_s, alone.communication_s)


def test_what_is_exposed_is_what_messages_add() -> None:
    one = step_of_one(predicted())
    actual = step_of_group(predicted(), one, group(96), read_split("data"), NO_SPREAD)
    assert np.allclose(actual.step.total - actual.step.communication_exposed, one.total)
    assert (actual.step.communication_exposed <= actual.communication_s + 1e-9).all()
    assert actual.step.communication_exposed[0] > 0


@pytest.mark.parametrize("split", ["data", "zero1", "zero3", "parameter-server"])
def test_the_wider_the_places_of_gradients_the_wider_the_interval(split: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a step whose time alone is known."""
    ops = make_ops({"op_type": "Mystery", "time_s": 0.1}, *[{"op_type": "Mystery", "time_s": 0.0125}] * 16)
    ops = ops.assign(phase=["forward"] + ["backward"] * 16)
    profile = Profile(ops=ops, workload=Workload(name="t", parameters=10**9), device="v100-sxm2-16gb", format="csv")
    step = predict_step(profile, RunPlan("v100", system="summit", draws=400))
    one, widths, mids = step_of_one(step), [], []
    for exponent in ((1.0, 1.0, 1.0), (0.3, 1.0, 3.0), (0.026, 1.0, 4.9)):
        monkeypatch.setattr(gradient_places, "EXPONENT", exponent)
        low, mid, high = bounds(step_of_group(step, one, group(96), read_split(split), NO_SPREAD).step.total)
        widths.append(high / low)
        mids.append(mid)
    assert widths[0] <= widths[1] <= widths[2]
    assert widths[0] < widths[2]
    assert mids[0] == mids[1] == mids[2]


@pytest.mark.slow
@pytest.mark.parametrize("split", ["data", "parameter-server"])  # others divide the update
def test_more_devices_in_an_unknown_network_make_no_step_shorter(split: str) -> None:
    """Of one device a node, of which nothing else is known; the middle, and both ends as nearly as draws tell."""
    step = in_unknown_network()
    groups = [Group(count, count, 32, 32 * count) for count in (1, 2, 4, 16, 256, 2048)]
    actual = steps_of_groups(step, step_of_one(step), groups, read_split(split))
    assert actual[-1].step.communication_exposed[0] > 0
    low, mid, high = np.array([bounds(each.step.total) for each in actual]).T
    assert (np.diff(mid) >= 0).all()
    assert (low[1:] >= 0.98 * low[:-1]).all()
    assert (high[1:] >= 0.98 * high[:-1]).all()


def test_parts_of_a_product_that_lie_across_two_nodes_wait_for_the_network() -> None:
    """Nodes of six devices hold one copy of four and half of the next one."""
    split, whole = read_split("tensor=4"), read_profile("gpt2")
    step = predict_step(divided(whole, split), RunPlan("v100", batch=4, precision="fp16", draws=10))
    one, eight = step_of_one(step), Group(8, 2, 4, 8, model_devices=4)
    aligned, across = (
        step_of_group(step.in_network(Network(linked_devices=joined)), one, eight, split).communication_s[0]
        for joined in (4, 6)
    )
    assert across > 1.5 * aligned


@pytest.mark.slow
def test_an_unknown_network_that_no_message_crosses_is_not_noted() -> None:
    """A pod's own links join the devices of many nodes."""
    step = in_unknown_network().in_network(Network(linked_devices=64))
    noted = [{note.code for note in assumed_links(step, group(devices))} for devices in (64, 65)]
    assert ["network-assumed" in codes for codes in noted] == [False, True]


def test_copies_that_share_states_are_neighbours() -> None:
    split = read_split("zero3,shard=6")
    ranks = ranks_of_kinds(predicted(), group(60), split)
    assert ranks["shards"] == Ranks(6, 6, 1)  # a node of Summit
    assert ranks["like_shards"] == Ranks(10, 1, 6)


def test_devices_that_share_tokens_stand_between_parts_of_products_and_stages() -> None:
    """Nodes of Summit have six devices: a node holds the parts of a product, and half of those that share tokens."""
    split = read_split("tensor=2,context=6,pipeline=2")
    ranks = ranks_of_kinds(predicted(), Group(96, 16, 4, 16, model_devices=24), split)
    assert ranks["tensor"] == Ranks(2, 2, 3)
    assert ranks["context"] == Ranks(6, 3, 2)
    assert ranks["stages"] == Ranks(2, 1, 6)
    assert ranks["data"] == Ranks(24, 3, 2)  # in each of 4 copies, 6


@pytest.mark.parametrize("shard", [60, 600])
def test_all_copies_may_share_the_states(shard: int) -> None:
    some, every = (
        step_of_group(predicted(), step_of_one(predicted()), group(60), read_split(f"zero3{of}")).step.total
        for of in (f",shard={shard}", "")
    )
    assert some.tolist() == every.tolist()


def test_one_device_sends_nothing() -> None:
    one = step_of_one(predicted())
    actual = step_of_group(predicted(), one, group(1), read_split("data"))
    assert actual.step.total == pytest.approx(one.total)
    assert not actual.communication_s.any()
    assert not actual.communication_s.any()
