"""Groups of devices: their batches, the slowest of them, and what they make of a step."""

import numpy as np
import pytest

from estimator.core.errors import EstimatorError
from estimator.core.types import RunPlan, StepTime
from estimator.rollup.scaling import (
    Group,
    efficiency,
    expected_maximum,
    group_of,
    lengthened,
    slowest_device,
)

PLAN = RunPlan("v100", draws=200)


def step(total_s: float) -> StepTime:
    zeros = np.zeros(1 + PLAN.draws)
    return StepTime(zeros + total_s, *[zeros] * 6, zeros + total_s)


def test_weak_scaling_keeps_the_batch_of_each_device_and_strong_that_of_all() -> None:
    assert group_of(12, 8, "weak", 32) == Group(12, 2, 32, 384)
    assert group_of(16, 8, "strong", 64) == Group(16, 2, 4, 64)
    assert group_of(3, 8, "weak", None) == Group(3, 1, None, None)


def test_a_batch_that_cannot_be_divided_is_refused_with_what_can() -> None:
    with pytest.raises(EstimatorError, match=r"devices 5: the batch of 12 cannot .*; expected one of 1, 2, 3, 4, 6, 12"):
        group_of(5, 8, "strong", 12)


def test_the_largest_of_some_normal_numbers() -> None:
    rng = np.random.default_rng(0)
    for count in (2, 8, 64):
        drawn = rng.standard_normal((20_000, count)).max(axis=1).mean()
        assert expected_maximum(count) == pytest.approx(drawn, rel=0.03)
    assert expected_maximum(1) == 0.0


def test_more_devices_have_a_slower_one() -> None:
    spread = (0.01, 0.04, 0.1)
    two, many = (slowest_device(count, spread, PLAN) for count in (2, 1024))
    assert (many > two).all()
    assert (slowest_device(1, spread, PLAN) == 1.0).all()
    assert two[0] == pytest.approx(np.exp(0.04 * expected_maximum(2)))


def test_communication_is_exposed_as_far_as_it_lengthens_the_step() -> None:
    one, slowest = step(1.0), np.full(1 + PLAN.draws, 1.1)
    found = lengthened(one, np.full_like(one.total, 1.5), slowest)
    assert found.total[0] == pytest.approx(1.6)
    assert found.communication_exposed[0] == pytest.approx(0.6)
    assert sum(found.parts().values())[0] == pytest.approx(found.total[0])


def test_no_group_is_faster_than_one_device() -> None:
    found = lengthened(step(1.0), np.full(1 + PLAN.draws, 0.9), np.ones(1 + PLAN.draws))
    assert (found.total == 1.0).all()


def test_efficiency_compares_the_same_work_of_each_device() -> None:
    one, many = np.array([1.0]), np.array([1.25])
    assert efficiency(one, many, 8, "weak")[0] == pytest.approx(0.8)
    assert efficiency(one, many / 8, 8, "strong")[0] == pytest.approx(0.8)
