"""What a device must hold to run a profiled step: from its work to bytes, and whether these fit."""

from __future__ import annotations

from estimator.core.errors import EstimatorError
from estimator.core.notes import Note
from estimator.core.types import DeviceSpec, MemoryUse, Profile, RunPlan
from estimator.devices import load_device
from estimator.rollup import memory as memory_of_parts
from estimator.work import WorkOnTarget, count_work, select_pass, step_tensors, step_variables, tensors_at_two_batches
from estimator.work.framework_defaults import product_format
from estimator.work.on_target import matrix_precision


def memory(profile: Profile, plan: RunPlan, split: memory_of_parts.Split | None = None) -> MemoryUse:
    """What a device must hold to train a profiled run, and the largest batch that it has room for.

    Args:
        profile: the run.
        plan: batch, mode and precision, and the target; without a target's name, the tensors alone.
        split: by which number a parallel training divides each part.

    Raises EstimatorError where nothing tells the parameters.
    """
    device = load_device(plan.target) if plan.target else None
    ran, _ = select_pass(profile, plan.mode)
    asked = plan.precision if device is None else product_format(plan.precision, ran.workload, device).precision
    work = count_work(ran.ops, ran.workload, ran.where).work
    variables = step_variables(work, ran.workload, asked or matrix_precision(work, ran.workload))
    at_batches = tuple(tensors_at_two_batches(work, ran.workload, plan.batch, asked))
    return memory_of_parts.memory_use(at_batches, variables, ran.workload, device, plan, split or {})


def check_memory(
    profile: Profile,
    ran: Profile,
    plan: RunPlan,
    device: DeviceSpec,
    work: WorkOnTarget,
    split: memory_of_parts.Split,
) -> tuple[MemoryUse | None, tuple[Note, ...]]:
    """What the step holds on the device, and notes on whether that has room. Raises DoesNotFitError."""
    batch = plan.batch or ran.workload.batch_size
    workload = ran.workload.model_copy(update={"batch_size": batch})
    try:
        variables = step_variables(work.resized, workload, work.precision)
    except EstimatorError:
        text = "nothing tells the parameters: whether the step fits memory is not checked"
        return None, (Note("memory-unchecked", text),)
    asked = product_format(plan.precision, workload, device).precision
    at_batch = ((batch or 0, step_tensors(work.resized, workload, asked)),)
    use = memory_of_parts.memory_use(at_batch, variables, workload, device, plan, split)
    use = memory_of_parts.shared_by(use, plan.trainings)
    if memory_of_parts.exceeds(use) and plan.trainings == 1:
        use = memory(profile, plan, split)
    return use, memory_of_parts.check_fits(use, device, workload)
