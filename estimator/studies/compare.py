"""Estimate several profiles on several devices."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from estimator.core.types import Estimate, Profile, RunPlan
from estimator.pipeline import estimate


def compare(profiles: Iterable[Profile], plans: Sequence[RunPlan]) -> list[Estimate]:
    """Estimate every profile by every plan, profile by profile; a plan for each device.

    Raises EstimatorError as :func:`estimate` does.
    """
    return [estimate(profile, plan) for profile in profiles for plan in plans]
