"""Every shipped system is a target."""

import pytest

from estimator.core.types import Profile, RunPlan
from estimator.devices.specs.catalogue import all_systems
from estimator.pipeline.step import estimate


@pytest.mark.slow
@pytest.mark.parametrize("device", sorted({system.device for system in all_systems()}))
def test_a_step_in_the_frameworks_own_format_is_estimated(device: str, p1b3: Profile) -> None:
    actual = estimate(p1b3, RunPlan(device, precision="auto", draws=0))
    assert actual.precision in ("fp32", "tf32", "bf16")
    assert actual.step.total[0] > 0
