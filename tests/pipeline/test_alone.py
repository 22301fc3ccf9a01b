"""A device by itself, with each local batch and each split that divides the model."""

from __future__ import annotations

import numpy as np
import pytest

from estimator.core.parallel import read_split
from estimator.core.types import RunPlan
from estimator.pipeline.alone import EachAlone, one_device, step_of_one
from estimator.pipeline.step import estimate, predict_step
from estimator.profiles import read_profile

PLAN = RunPlan("v100-sxm2-16gb", batch=32, draws=50)


@pytest.mark.slow
def test_one_device_has_the_step_of_its_estimate() -> None:
    predicted = predict_step(read_profile("vgg16"), PLAN)
    actual, alone = estimate(read_profile("vgg16"), PLAN), one_device(predicted)
    assert np.allclose(alone.step.total, actual.step.total)
    assert np.allclose(step_of_one(predicted).total, actual.step.total)
    assert alone.power_w is not None
    assert actual.power_w is not None
    assert alone.power_w[0] == pytest.approx(actual.power_w[0])
    assert alone.idle_w is not None
    assert 0 < alone.idle_w < alone.power_w[0]


def test_splits_that_leave_the_whole_model_share_a_device() -> None:
    each = EachAlone(read_profile("gpt2"), PLAN)
    assert each.of(read_split("data"), 8) is each.of(read_split("zero3"), 8)
    assert each.of(read_split("data"), 8) is not each.of(read_split("data"), 4)
    assert each.of(read_split("tensor=2"), 8) is not each.of(read_split("tensor=4"), 8)
