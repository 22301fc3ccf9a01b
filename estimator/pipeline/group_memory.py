"""What each of several devices that train together must hold."""

from __future__ import annotations

import dataclasses

from estimator.core.notes import Note
from estimator.core.parallel import DIVIDED, DataWord, Split
from estimator.core.types import MemoryUse, Profile, RunPlan
from estimator.pipeline.alone import EachAlone
from estimator.pipeline.memory import memory_of_parts
from estimator.pipeline.micro_batch_choice import chosen_micro_batch
from estimator.pipeline.stages import parts_of
from estimator.profiles.layers.shards import OF_PIPELINES, divided, stated_micro_batch
from estimator.rollup.micro_batches import micro_batch_note
from estimator.rollup.scaling import Group, group_of

LEVELS: tuple[DataWord, ...] = ("data", *DIVIDED)  # each of which divides more than the one before


def memory_of_group(profile: Profile, plan: RunPlan, split: Split, devices: int) -> MemoryUse:
    """What each of several devices must hold; the plan's batch is that of a copy of the model.

    Raises EstimatorError where nothing tells the parameters, and where the split does not divide model, batch or
    devices.
    """
    batch = plan.batch or profile.workload.batch_size
    asked = group_of(devices, devices, "weak", batch, split)
    group = chosen_micro_batch(EachAlone(profile, plan), asked, split)
    use = _memory_of_each(profile, plan, group, split)
    if split.leaves_micro_batch:  # a larger batch has more micro-batches
        use = dataclasses.replace(use, largest_batch=None)
    if devices == 1:
        return use
    note = Note("parallel", f"each of {devices} devices, {split}: {split.meaning}")
    of_batch = micro_batch_note([group], split, stated_micro_batch(profile))
    return dataclasses.replace(use, notes=(*use.notes, note, *of_batch))


def fitting_split(profile: Profile, plan: RunPlan, group: Group, split: Split) -> Split | None:
    """The first split that fits: copies share more and more of the states, and then also compute one sample at once.

    None where none fits.
    """
    words = () if split.data not in LEVELS or split.top else LEVELS[LEVELS.index(split.data) + 1 :]
    wider = [dataclasses.replace(split, data=word) for word in words if split.pipeline == 1 or word in OF_PIPELINES]
    single = [dataclasses.replace(each, micro_batch=1) for each in (split, *wider)]
    tried = [(each, group.micro_batch) for each in wider]
    tried += [(each, 1) for each in single if group.at_once not in (None, 1)]
    groups = ((each, dataclasses.replace(group, micro_batch=size)) for each, size in tried)
    return next((each for each, other in groups if _memory_of_each(profile, plan, other, each).fits), None)


def _memory_of_each(profile: Profile, plan: RunPlan, group: Group, split: Split) -> MemoryUse:
    """What each device of a group must hold. Raises EstimatorError as :func:`memory_of_group` does."""
    at_once = dataclasses.replace(plan, batch=group.micro_batch or plan.batch)
    return memory_of_parts(parts_of(divided(profile, split), split, group), at_once)
