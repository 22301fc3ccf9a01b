"""The forward pass of an estimated step of training: what validating on one batch takes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

from estimator.core.errors import EstimatorError, within
from estimator.core.notes import sentences
from estimator.core.types import Estimate
from estimator.pipeline.group_forward import forward_of_group
from estimator.pipeline.step import estimate
from estimator.studies.given import Given
from estimator.studies.size import Size
from estimator.studies.study import UnitOfWork
from estimator.studies.unit import group_of_unit, shares_in_turn, split_of
from estimator.work import select_pass

NOT_GATHERED = "; weights that copies of the model gather are not counted"


def estimate_forward(step: Estimate) -> Estimate:
    """The forward pass alone of a step of training. Raises EstimatorError where the profile has none."""
    with _validation(step):
        return estimate(step.profile, replace(step.plan, mode="inference"))


@contextmanager
def _validation(step: Estimate) -> Iterator[None]:
    """Faults of a validation say so. Raises EstimatorError for a profile of inference."""
    with within("validation (without validation_samples there is none)"):
        if step.profile.workload.mode == "inference":
            raise EstimatorError(f"{step.profile.where}: is of inference, which has nothing to validate")
        yield


def given_forward(unit: UnitOfWork, step: Estimate, size: Size, ops: str) -> Iterator[Given]:
    """The forward pass of a unit's validation: on one device, or of a micro-batch of those that train together.

    ``ops``: what the step consists of, in words. Raises EstimatorError where the profile has no forward pass.
    """
    with _validation(step):
        origin = forward_origin(ops, step)
    if unit.devices is None:
        name = "forward_alone_s" if shares_in_turn(unit) else "forward_s"
        yield Given(name, "forward pass", estimate_forward(step).step.total, "s", "device", origin, "sum of its parts")
    else:
        yield from _of_group(unit, unit.devices, step, size, origin)


def _of_group(unit: UnitOfWork, devices: int, step: Estimate, size: Size, origin: str) -> Iterator[Given]:
    """The forward pass of a micro-batch on several devices, and how these repeat it."""
    group, split = group_of_unit(unit, devices, step.profile, size), split_of(unit)
    with _validation(step):
        forward = forward_of_group(step, group, split)
    parallel, left_out = f"parallel {split}", NOT_GATHERED if split.gathers_weights else ""
    label, formula = "forward pass of a micro-batch", "sum of its parts, and of the messages among parts of the model"
    yield Given("forward_micro_s", label, forward.micro_s, "s", "device", origin + left_out, formula)
    yield Given("pass_on_s", "results of a micro-batch to the next stage", forward.pass_on_s, "s", "device", parallel)
    yield Given("micro_batches", "micro-batches of a copy's batch", group.micro_batches, "1", "device", parallel)
    yield Given("stages", "stages of the pipeline", split.pipeline, "1", "device", parallel)
    yield Given("stage_runs", "runs of blocks of a stage", split.interleave, "1", "device", parallel)


def forward_origin(ops: str, step: Estimate) -> str:
    """The origin of a validation's forward time: the ops of the training step, and which of them run in it."""
    return "; ".join([f"forward {ops}", *sentences(select_pass(step.profile, "inference")[1])])
