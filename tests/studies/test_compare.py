"""Several profiles on several devices."""

from estimator.core.types import Profile, RunPlan
from estimator.profiles import read_profile
from estimator.studies.compare import compare


def test_every_profile_by_every_plan_profile_by_profile(p1b3: Profile) -> None:
    plans = [RunPlan("v100", draws=0), RunPlan("a100", draws=0, batch=10)]
    found = compare([p1b3, read_profile("nt3")], plans)
    assert [(each.profile.workload.name, each.plan) for each in found] == [
        (name, plan) for name in ("p1b3", "nt3") for plan in plans
    ]
