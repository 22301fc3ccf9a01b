"""The forward pass of an estimated step of training: what validating on one batch takes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

from estimator.core.errors import EstimatorError, within
from estimator.core.notes import sentences
from estimator.core.types import Estimate
from estimator.pipeline.step import estimate
from estimator.work import select_pass


def estimate_forward(step: Estimate) -> Estimate:
    """The forward pass alone of a step of training. Raises EstimatorError where the profile has none."""
    with within_validation(step):
        return estimate(step.profile, replace(step.plan, mode="inference"))


@contextmanager
def within_validation(step: Estimate) -> Iterator[None]:
    """Faults of a validation say so. Raises EstimatorError for a profile of inference."""
    with within("validation (asked for by validation_samples)"):
        if step.profile.workload.mode == "inference":
            raise EstimatorError(f"{step.profile.where}: holds inference; expected a profile of training")
        yield


def forward_origin(ops: str, step: Estimate) -> str:
    """The origin of a validation's forward time: the ops of the training step, and which of them run in it."""
    return "; ".join([f"forward {ops}", *sentences(select_pass(step.profile, "inference")[1])])
