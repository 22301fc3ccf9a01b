"""Several profiles on several devices."""

import pytest

from estimator.core.errors import UnfitError
from estimator.core.types import Estimate, Profile, RunPlan
from estimator.profiles import read_profile
from estimator.studies.compare import Unfit, compare


@pytest.mark.slow
def test_every_profile_by_every_plan_profile_by_profile(p1b3: Profile) -> None:
    plans = [RunPlan("v100", draws=0), RunPlan("a100", draws=0, batch=10)]
    actual = compare([p1b3, read_profile("nt3")], plans)
    assert [(each.profile.workload.name, each.plan) for each in actual if isinstance(each, Estimate)] == [
        (name, plan) for name in ("p1b3", "nt3") for plan in plans
    ]


def test_a_device_that_cannot_run_it_is_left_out_with_the_reason(p1b3: Profile) -> None:
    plans = [RunPlan("tpu-v4", draws=0), RunPlan("v100", draws=0)]
    unfit, estimated = compare([p1b3], plans)
    assert isinstance(unfit, Unfit)
    assert (unfit.workload, unfit.target, unfit.fits) == ("p1b3", "tpu-v4", None)
    assert isinstance(estimated, Estimate)
    with pytest.raises(UnfitError, match="tpu-v4 gives no peak for fp32"):
        compare([p1b3], plans[:1])


@pytest.mark.slow
def test_a_batch_that_does_not_fit_is_noted_as_such(p1b3: Profile) -> None:
    plans = [RunPlan("k20x", draws=0, batch=10**8), RunPlan("k20x", draws=0)]
    unfit, _ = compare([p1b3], plans)
    assert isinstance(unfit, Unfit)
    assert unfit.fits is False
