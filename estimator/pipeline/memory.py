"""What a device must hold to run a profiled step: from its work to bytes, and whether these fit."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING

from estimator.core.errors import EstimatorError
from estimator.core.notes import Note
from estimator.core.parallel import ALONE, DeviceShare
from estimator.core.schema import MATRIX
from estimator.core.types import DeviceSpec, MemoryUse, Profile, RunPlan, StepTensors, Variables, Workload
from estimator.devices import announcements
from estimator.devices.sides import planned_device
from estimator.model import refuse_unsupported
from estimator.rollup import memory as memory_rollup
from estimator.rollup.memory_fit import check_fits, exceeds
from estimator.work import WorkOnTarget, count_work, select_pass, step_tensors, step_variables, tensors_at_two_batches
from estimator.work.framework_defaults import has_library_layers, product_format, replaces_tf32
from estimator.work.joined_layers import join_in_place
from estimator.work.on_target import matrix_precision
from estimator.work.precision import without_tf32
from estimator.work.rebatch import TooLargeError

if TYPE_CHECKING:
    import pandas as pd

Part = tuple[Profile, DeviceShare]  # what one device runs, and what it holds of it


@dataclass(frozen=True)
class Held:
    """What a step, or a stage of it, holds, before devices divide it: its tensors at a batch or two, and variables."""

    at_batches: tuple[tuple[int, StepTensors], ...] = field(repr=False)
    variables: Variables
    workload: Workload
    device: DeviceSpec | None
    plan: RunPlan
    convolves: bool  # whether a step has convolutions

    def use(self, share: DeviceShare) -> MemoryUse:
        """The memory of one device, of its share of the training, with the batch of all its micro-batches.

        With several, the largest batch is not known: more of them may keep more, and larger ones do.
        """
        if share.micro_batches == 1:
            return self._at_once(self.at_batches, share)
        accumulated = [
            (batch, memory_rollup.with_accumulated(tensors, self.variables)) for batch, tensors in self.at_batches
        ]
        use = self._at_once(accumulated, share)
        batch = use.batch and use.batch * share.micro_batches
        return dataclasses.replace(use, batch=batch, largest_batch=None)

    def _at_once(self, at_batches: Sequence[tuple[int, StepTensors]], share: DeviceShare) -> MemoryUse:
        """The same, with the batch that the device computes at once."""
        return memory_rollup.memory_use(
            at_batches, self.variables, self.workload, self.device, self.plan, share, convolves=self.convolves
        )


def memory(profile: Profile, plan: RunPlan) -> MemoryUse:
    """What a device must hold to train a profiled run, and the largest batch that it has room for.

    Args:
        profile: the run.
        plan: batch, mode and precision, and the target; without a target's name, the tensors alone.

    Raises EstimatorError where nothing tells the parameters, and where the device lacks the precision.
    """
    return memory_of_parts([(profile, ALONE)], plan)


def memory_of_parts(parts: Sequence[Part], plan: RunPlan) -> MemoryUse:
    """What a device must hold that runs the part that needs most; as :func:`memory`."""
    held = [held_by_profile(profile, plan) for profile, _ in parts]
    use = largest_use(held, [share for _, share in parts])
    return dataclasses.replace(use, notes=(*announcements(held[0].device), *use.notes))


def largest_use(held: Sequence[Held], shares: Sequence[DeviceShare]) -> MemoryUse:
    """The memory of that stage of a pipeline which needs most, with the largest batch that all have room for."""
    uses = [each.use(share) for each, share in zip(held, shares, strict=True)]
    if len(uses) == 1:
        return uses[0]
    most, end = max(zip(uses, (share.end for share in shares), strict=True), key=lambda each: float(each[0].total[0]))
    batches = [use.largest_batch for use in uses if use.largest_batch is not None]
    note = Note("memory-of-stage", f"the parts of memory are those of the pipeline's {end} stage, which needs most")
    return dataclasses.replace(most, largest_batch=min(batches, default=None), notes=(*most.notes, note))


def held_by_stages(stages: Sequence[Profile], plan: RunPlan, whole: Callable[[], Held]) -> list[Held] | None:
    """What a step holds, or each of several stages of it, at the plan's batch alone; None where nothing tells the
    parameters. Raises TooLargeError where the batch is too large to be counted.

    Args:
        stages: of the step; one, where no pipeline divides it.
        plan: of the run.
        whole: what the whole step holds, where it is one stage.
    """
    try:
        if len(stages) == 1:
            return [whole()]
        return [held_by_profile(stage, plan, batches=1) for stage in stages]
    except TooLargeError:
        raise
    except EstimatorError:
        return None


def held_by_profile(profile: Profile, plan: RunPlan, batches: int = 2) -> Held:
    """What a profiled run holds at two batches, or at one, where its largest batch is not asked for.

    Raises EstimatorError as :func:`memory` does.
    """
    device = planned_device(plan, plan.target) if plan.target else None
    ran, _ = select_pass(profile, plan.mode)
    asked = plan.precision if device is None else product_format(plan.precision, ran.workload, device).precision
    counted = count_work(ran.ops, ran.workload, ran.where)
    contradicted = tuple(note for note in counted.notes if note.code == "batch-contradicted")
    by_library = device is not None and has_library_layers(ran.workload, device)
    joined = join_in_place(counted.work, by_library=by_library).work
    work = without_tf32(joined, replace=device is not None and replaces_tf32(device)).work
    variables = step_variables(work, ran.workload, asked or matrix_precision(work, ran.workload))
    variables = dataclasses.replace(variables, notes=(*contradicted, *variables.notes))
    if device is not None and device.specifications == "known":
        products = work.loc[work["op_class"].isin(MATRIX), "precision"]
        refuse_unsupported(device, {asked} if asked else set(products))
    at_batches = islice(tensors_at_two_batches(work, ran.workload, plan.batch, asked), batches)
    known = tuple((batch, _as_known(tensors, ran)) for batch, tensors in at_batches)
    return Held(known, variables, ran.workload, device, plan, _convolves(work))


def held_by_step(ran: Profile, plan: RunPlan, device: DeviceSpec, work: WorkOnTarget) -> Held:
    """What a step at the plan's batch holds. Raises EstimatorError where nothing tells the parameters.

    Args:
        ran: the pass of the profile that runs.
        plan: of the run.
        device: of the plan's target.
        work: of the whole step.
    """
    batch = plan.batch or ran.workload.batch_size
    workload = ran.workload.model_copy(update={"batch_size": batch})
    variables = step_variables(work.held, workload, work.precision)
    asked = product_format(plan.precision, workload, device).precision
    at_batch = ((batch or 0, _as_known(step_tensors(work.held, workload, asked), ran)),)
    return Held(at_batch, variables, workload, device, plan, _convolves(work.held))


def _convolves(work: pd.DataFrame) -> bool:
    return bool(work["op_class"].eq("convolution").any())


def _as_known(tensors: StepTensors, ran: Profile) -> StepTensors:
    """The tensors of a step; where nothing ran, their flow is a plan."""
    is_planned = tensors.evidence == "flow" and not ran.ran
    return dataclasses.replace(tensors, evidence="plan") if is_planned else tensors


def check_memory(
    parts: Sequence[Part], ran: Profile, plan: RunPlan, device: DeviceSpec, work: WorkOnTarget
) -> tuple[MemoryUse | None, tuple[Note, ...]]:
    """What the step holds on the device, and notes on whether that has room. Raises DoesNotFitError.

    Args:
        parts: what the device may run: the whole step, or one of several stages of it.
        ran, plan, device, work: as for :func:`held_by_step`.
    """
    held = held_by_stages([stage for stage, _ in parts], plan, partial(held_by_step, ran, plan, device, work))
    if held is None:
        text = "nothing tells the parameters: whether the step fits memory is not checked"
        return None, (Note("memory-unchecked", text),)
    shares = [share for _, share in parts]
    use = memory_rollup.shared_by(largest_use(held, shares), plan.trainings, plan.sharing)
    if exceeds(use) and plan.trainings == 1:
        use = memory_of_parts(parts, plan)
    of_stage = tuple(note for note in use.notes if note.code == "memory-of-stage")
    return use, (*of_stage, *check_fits(use, device, ran.workload))
