"""What a device must hold: the recipe from a profile to bytes, and to a refusal."""

import pytest

from estimator.core.errors import EstimatorError
from estimator.core.parallel import DeviceShare, Split, read_split
from estimator.core.types import RunPlan
from estimator.pipeline import estimate, memory
from estimator.pipeline.memory import memory_of_group
from estimator.profiles import read_profile


def test_memory_grows_with_the_batch_and_not_with_inference() -> None:
    profile = read_profile("resnet50")
    small, large = (memory(profile, RunPlan("v100", batch=batch, draws=20)) for batch in (8, 64))
    assert large.total[0] > small.total[0]
    assert large.parts["parameters"][0] == small.parts["parameters"][0]
    forward = memory(profile, RunPlan("v100", batch=64, mode="inference", draws=20))
    assert forward.total[0] < large.total[0]


def test_a_split_divides_its_parts() -> None:
    profile, plan = read_profile("resnet50"), RunPlan("v100", batch=8, draws=20)
    whole, part = memory(profile, plan), memory(profile, plan, DeviceShare({"parameters": 4.0}))
    assert part.parts["parameters"][0] == pytest.approx(whole.parts["parameters"][0] / 4)


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


def test_the_largest_batch_fits_and_the_next_one_is_refused() -> None:
    profile = read_profile("resnet50")
    largest = memory(profile, RunPlan("v100", batch=8)).largest_batch
    assert largest is not None
    assert memory(profile, RunPlan("v100", batch=largest)).fits
    with pytest.raises(EstimatorError, match=f"a batch of {largest} would fit"):
        estimate(profile, RunPlan("v100", batch=4 * largest))
