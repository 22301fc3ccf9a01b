"""The forward pass of devices that train together."""

import numpy as np
import pytest

from estimator.core.parallel import Split, read_split
from estimator.core.types import Profile, RunPlan
from estimator.pipeline.group import estimate_group
from estimator.pipeline.group_forward import GroupForward, forward_of_group
from estimator.pipeline.step import estimate
from estimator.profiles import read_profile
from estimator.profiles.layers.shards import divided
from estimator.rollup.scaling import group_of

PLAN = RunPlan("a100-sxm4-80gb", system="selene", draws=20)


def forward(written: str, devices: int = 8) -> GroupForward:
    split, profile = read_split(written), read_profile("gpt2")
    group = group_of(devices, 8, "weak", 8, split)
    return forward_of_group(estimate_group(profile, PLAN, group, split), group, split)


def alone(batch: int, profile: Profile | None = None) -> float:
    plan = RunPlan("a100-sxm4-80gb", batch=batch, mode="inference", draws=0)
    return float(estimate(profile or read_profile("gpt2"), plan).step.total[0])


@pytest.mark.slow
def test_copies_of_a_model_exchange_nothing_in_it() -> None:
    actual = forward("data")
    assert actual.micro_s[0] == pytest.approx(alone(8))
    assert not actual.pass_on_s.any()
    assert actual.micro_s.shape == actual.pass_on_s.shape == (1 + PLAN.draws,)


@pytest.mark.slow
def test_it_is_that_of_a_micro_batch() -> None:
    assert forward("data,micro=2").micro_s[0] == pytest.approx(alone(2))


@pytest.mark.slow
def test_parts_of_a_product_add_up_their_results() -> None:
    """Each computes a share of the products, and sends 24 sums of 8 × 1024 tokens of 768 numbers in bf16."""
    actual, part = forward("tensor=4", 4), divided(read_profile("gpt2"), read_split("tensor=4"))
    share_s, sent = alone(8, part), 24 * 8 * 1024 * 768 * 2 * 1.5  # bytes of a ring of four devices
    assert share_s < alone(8)
    assert sent / 300e9 < actual.micro_s[0] - share_s < 3 * sent / 300e9
    assert not actual.pass_on_s.any()


@pytest.mark.slow
def test_keys_and_values_go_around_while_attention_runs() -> None:
    """12 messages of 8 × 1024 tokens of 2 × 768 numbers in bf16 are hidden as far as attention takes as long."""
    actual, part = forward("context=4", 4), divided(read_profile("gpt2"), read_split("context=4"))
    own_s, sent = alone(8, part), 12 * 8 * 1024 * 2 * 768 * 2 * 0.75
    assert own_s <= actual.micro_s[0] < own_s + sent / 300e9


@pytest.mark.slow
def test_stages_hand_their_results_on() -> None:
    actual, whole = forward("pipeline=4,micro=2"), forward("data,micro=2")
    assert np.allclose(actual.micro_s, whole.micro_s)
    assert 0 < actual.pass_on_s[0] < actual.micro_s[0]


@pytest.mark.slow
def test_of_one_device_it_is_that_of_its_estimate() -> None:
    split, profile = Split(), read_profile("vgg16")
    group = group_of(1, 8, "weak", 32, split)
    actual = forward_of_group(estimate_group(profile, PLAN, group, split), group, split)
    plan = RunPlan("a100-sxm4-80gb", batch=32, mode="inference", draws=0)
    assert actual.micro_s[0] == pytest.approx(estimate(profile, plan).step.total[0])
