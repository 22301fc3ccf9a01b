"""What each of several devices must hold."""

import pytest

from estimator.core.parallel import Split, read_split
from estimator.core.types import RunPlan
from estimator.pipeline.group_memory import memory_of_group
from estimator.profiles import read_profile


def test_buckets_are_there_where_copies_exchange() -> None:
    profile, plan = read_profile("gpt2"), RunPlan("a100-sxm4-80gb", batch=8, draws=20)
    copies = {devices: memory_of_group(profile, plan, Split(), devices).parts["buckets"][0] for devices in (1, 2, 8)}
    assert copies[1] == 0 < copies[2] == copies[8]
    assert memory_of_group(profile, plan, Split(tensor=2, pipeline=2), 4).parts["buckets"][0] == 0
    shared = memory_of_group(profile, plan, Split("zero3"), 8).parts["buckets"][0]
    assert 0 < shared < copies[8]


@pytest.mark.parametrize("split", ["data", "zero1", "zero2", "zero3", "zero1,tensor=2,pipeline=2", "zero3,micro=2"])
def test_from_two_copies_on_more_devices_never_hold_more_each(split: str) -> None:
    profile, plan, parts = read_profile("gpt2"), RunPlan("a100-sxm4-80gb", batch=8, draws=0), read_split(split)
    held = [memory_of_group(profile, plan, parts, copies * parts.model_devices).total[0] for copies in (2, 4, 8, 64)]
    assert held == sorted(held, reverse=True)
