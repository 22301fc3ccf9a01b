"""The estimate of a training on several devices, and its limits."""

from dataclasses import replace

import pytest

from estimator.core.interval import bounds
from estimator.core.parallel import read_split
from estimator.core.types import RunPlan
from estimator.devices import load_system
from estimator.pipeline.group import estimate_group
from estimator.pipeline.step import estimate
from estimator.profiles import read_profile
from estimator.rollup.power import listed_limit
from estimator.rollup.scaling import Group, group_of

PLAN = RunPlan("v100", batch=32, system="summit", draws=50)


def group(devices: int) -> Group:
    return Group(devices, -(-devices // 6), 32, 32 * devices)


@pytest.mark.slow
@pytest.mark.parametrize("written", ["data", "data,micro=4", "data,micro=1"])
def test_a_group_draws_about_what_its_device_does_at_the_batch_that_it_computes_at_once(written: str) -> None:
    profile, split, limit = read_profile("gpt2"), read_split(written), listed_limit(load_system("alps"))
    plan = RunPlan("gh200-96gb", draws=0, batch=32, power_limit=limit)
    in_group = estimate_group(profile, plan, group_of(2, 4, "weak", 32, split), split).power_w
    by_itself = estimate(profile, replace(plan, batch=split.micro_batch or 32)).power_w
    assert in_group is not None
    assert by_itself is not None
    assert 0.8 * by_itself[0] < in_group[0] <= by_itself[0]


@pytest.mark.slow
def test_what_the_frameworks_format_gives_names_the_batch_that_a_device_computes_at_once() -> None:
    """The step of a group has several of it, and messages and waits."""
    split = read_split("data,micro=25")
    actual = estimate_group(read_profile("p1b3"), RunPlan("a100", draws=0), group_of(8, 8, "weak", 100, split), split)
    (text,) = [note.text for note in actual.notes if note.code == "precision-by-default"]
    assert ": a step of batch 25 of one device would then take " in text


@pytest.mark.slow
def test_the_limits_of_a_group_hold_its_step() -> None:
    actual = estimate_group(read_profile("vgg16"), PLAN, group(96), read_split("data"))
    low, _, high = bounds(actual.step.total)
    assert actual.floor_s <= low
    assert high <= actual.ceiling_s


@pytest.mark.slow
@pytest.mark.parametrize(("written", "devices"), [("data,micro=2", 1), ("zero1,pipeline=2,micro=2", 4)])
def test_kernels_products_and_floor_are_those_of_all_micro_batches(written: str, devices: int) -> None:
    """As far as a device runs them; there is no host that could slow them down."""
    split, profile = read_split(written), read_profile("gpt2")
    actual = {}
    for batch in (8, 16):
        plan = RunPlan("h100", batch=batch, host="none", draws=20)
        actual[batch] = estimate_group(profile, plan, group_of(devices, 8, "weak", batch, split), split)
        own_s = actual[batch].step.total - actual[batch].step.communication_exposed
        assert actual[batch].kernels_s == pytest.approx(own_s)
        assert (actual[batch].floor_s < actual[batch].kernels_s).all()
        assert (actual[batch].matrix_step_s < actual[batch].kernels_s).all()
    assert actual[16].floor_s == pytest.approx(2 * actual[8].floor_s)
    once = estimate(profile, RunPlan("h100", batch=2, host="none", draws=20))
    assert actual[16].matrix_step_s == pytest.approx(8 / split.pipeline * once.matrix_step_s, rel=0.3)
