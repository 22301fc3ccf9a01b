"""Estimate several profiles on several devices."""

from __future__ import annotations

from collections.abc import Sequence

from estimator.core.types import Estimate, RunPlan
from estimator.pipeline import estimate
from estimator.profiles import read_profile


def compare(profiles: Sequence[str], targets: Sequence[str], plan: RunPlan) -> list[Estimate]:
    """Estimate every profile on every target, profile by profile; ``plan`` gives all but the target."""
    loaded = [read_profile(name) for name in profiles]
    plans = [RunPlan(**{**vars(plan), "target": target}) for target in targets]
    return [estimate(profile, target_plan) for profile in loaded for target_plan in plans]
