"""What each of several devices that train together must hold."""

from __future__ import annotations

import dataclasses

from estimator.core.notes import Note
from estimator.core.parallel import Split
from estimator.core.types import MemoryUse, Profile, RunPlan
from estimator.pipeline.memory import memory
from estimator.profiles.layers.shards import divided, experts_share
from estimator.rollup.scaling import group_of


def memory_of_group(profile: Profile, plan: RunPlan, split: Split, devices: int) -> MemoryUse:
    """What each of several devices must hold; the plan's batch is that of a copy of the model.

    Raises EstimatorError where nothing tells the parameters, and where the split does not divide model, batch or
    devices.
    """
    batch = plan.batch or profile.workload.batch_size
    group = group_of(devices, devices, "weak", batch, split)
    at_once = dataclasses.replace(plan, batch=split.micro_batch or plan.batch)
    share = split.share(devices, group.micro_batches, experts_share(profile, split))
    use = memory(divided(profile, split), at_once, share)
    if devices == 1:
        return use
    note = Note("parallel", f"each of {devices} devices, {split}: {split.meaning}")
    return dataclasses.replace(use, notes=(*use.notes, note))
