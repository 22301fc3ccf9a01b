"""What a device must hold: the recipe from a profile to bytes, and to a refusal."""

import pytest

from estimator.core.errors import EstimatorError
from estimator.core.parallel import DeviceShare
from estimator.core.types import RunPlan
from estimator.pipeline.memory import memory
from estimator.pipeline.step import estimate
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


def test_the_largest_batch_fits_and_the_next_one_is_refused() -> None:
    profile = read_profile("resnet50")
    largest = memory(profile, RunPlan("v100", batch=8)).largest_batch
    assert largest is not None
    assert memory(profile, RunPlan("v100", batch=largest)).fits
    with pytest.raises(EstimatorError, match=f"a batch of {largest} would fit"):
        estimate(profile, RunPlan("v100", batch=4 * largest))
