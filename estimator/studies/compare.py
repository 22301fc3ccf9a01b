"""Estimate several profiles on several devices."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from estimator.core.errors import UnfitError
from estimator.core.types import Estimate, Profile, RunPlan
from estimator.devices.sides import planned_device
from estimator.pipeline.step import estimate


@dataclass(frozen=True)
class Unfit:
    """A profile that a device cannot run, and why."""

    workload: str
    target: str
    why: str
    fits: bool | None  # in its memory; None where that is not the reason


def compare(profiles: Iterable[Profile], plans: Sequence[RunPlan]) -> list[Estimate | Unfit]:
    """Estimate every profile by every plan, profile by profile; a plan for each device.

    Raises UnfitError where no device can run any of the profiles, and EstimatorError as :func:`estimate` does.
    """
    results = [_estimate_or_reason(profile, plan) for profile in profiles for plan in plans]
    reasons = [result.why for result in results if isinstance(result, Unfit)]
    if reasons and len(reasons) == len(results):
        raise UnfitError(*dict.fromkeys(reasons))
    return results


def _estimate_or_reason(profile: Profile, plan: RunPlan) -> Estimate | Unfit:
    try:
        return estimate(profile, plan)
    except UnfitError as error:
        return Unfit(profile.workload.name, planned_device(plan, plan.target).name, "; ".join(error.faults), error.fits)
