"""Power of a device without a limit of its own, from the listed power of its machine."""

import dataclasses

import pytest

from estimator.core.parallel import read_split
from estimator.core.types import Profile, RunPlan
from estimator.devices import load_system
from estimator.pipeline.group import estimate_group
from estimator.pipeline.listed_power import with_listed_power
from estimator.pipeline.step import estimate
from estimator.profiles import read_profile
from estimator.rollup import power
from estimator.rollup.scaling import group_of


def test_a_device_without_a_limit_has_its_machines(p1b3: Profile) -> None:
    own, system = estimate(p1b3, RunPlan("gh200-96gb", draws=200)), load_system("jupiter-booster")
    assert own.power_w is None
    found = with_listed_power(own, system)
    assert found.power_w is not None
    assert found.power_limit is not None
    assert system.power is not None
    assert found.power_limit.value == pytest.approx(system.power.value / (4 * system.nodes.value * (0.9 + 0.33)))
    assert 50 < found.power_w[0] < found.power_limit.value
    assert (found.step.total == own.step.total).all()
    assert any("W are derived from the listed power of jupiter-booster" in text for text in found.assumptions)


def test_its_interval_is_wider_than_that_of_a_known_limit(p1b3: Profile) -> None:
    listed = with_listed_power(estimate(p1b3, RunPlan("gh200-96gb")), load_system("alps")).power_w
    known = estimate(p1b3, RunPlan("h100-sxm5-80gb")).power_w
    assert listed is not None
    assert known is not None
    assert (listed / listed[0]).std() > (known / known[0]).std()


def test_nothing_changes_where_the_limit_is_known_or_no_list_tells(p1b3: Profile) -> None:
    known = estimate(p1b3, RunPlan("v100", draws=10))
    assert with_listed_power(known, load_system("summit")) is known
    unknown = estimate(p1b3, RunPlan("gh200-96gb", draws=10))
    assert with_listed_power(unknown, None) is unknown


def test_the_limit_and_the_nodes_together_make_the_listed_power() -> None:
    system = load_system("alps")
    limit = power.listed_limit(system)
    assert limit is not None
    assert system.power is not None
    low, mid, high = power.node_overhead(4, limit.value, system)
    assert low < mid < high
    assert 2688 * (4 * power.RUN_OF_LIST * limit.value + mid) == pytest.approx(system.power.value)


@pytest.mark.parametrize("written", ["data", "data,micro=4", "data,micro=1"])
def test_a_group_draws_about_what_its_device_does_at_the_batch_that_it_computes_at_once(written: str) -> None:
    split, plan = read_split(written), RunPlan("gh200-96gb", draws=0, batch=32)
    profile, system = read_profile("gpt2"), load_system("alps")
    group = estimate_group(profile, plan, group_of(2, 4, "weak", 32, split), split)
    alone = estimate(profile, dataclasses.replace(plan, batch=split.micro_batch or 32))
    in_group, by_itself = (with_listed_power(each, system).power_w for each in (group, alone))
    assert in_group is not None
    assert by_itself is not None
    assert 0.8 * by_itself[0] < in_group[0] <= by_itself[0]
