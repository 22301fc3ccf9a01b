"""One profile on more and more devices of a machine: step, samples per second, efficiency, memory and power."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from estimator.core import units
from estimator.core.errors import EstimatorError
from estimator.core.parallel import Split
from estimator.core.types import Floats, MemoryUse, Profile, RunPlan, SystemSpec
from estimator.devices import load_system
from estimator.devices.board import power_limit
from estimator.pipeline import OneDevice, PredictedStep, one_device, predict_step, steps_of_groups
from estimator.pipeline.memory import Held, held_by_step
from estimator.profiles import read_profile
from estimator.profiles.layers.shards import divided
from estimator.reports import documents
from estimator.rollup import power
from estimator.rollup.scaling import Group, GroupStep, Scaling, describe_spread, efficiency, group_of

POWER = "power is that of the devices and of their nodes; a device that waits draws its idle power"


def scale(
    name: str, system_name: str, devices: Sequence[int], plan: RunPlan, split: Split, scaling: Scaling
) -> dict[str, Any]:
    """Predict a profile on each number of devices of a system, as a document; by default on powers of two.

    ``plan`` gives all but target and system. Its batch is that of one device, for strong scaling that of all of them.

    Raises EstimatorError for numbers that the system does not have, and for a batch that cannot be divided.
    """
    profile, system = read_profile(name), load_system(system_name)
    batch = plan.batch or profile.workload.batch_size
    per_node = int(system.devices_per_node.value)
    on_system = replace(plan, target=system.device, system=system_name)
    part = divided(profile, split)
    groups = [
        group_of(count, per_node, scaling, batch, split)
        for count in _counts(devices, system, split, batch if scaling == "strong" else None)
    ]
    sizes = {group.at_once for group in groups}
    alone = {size: _Alone(part, replace(on_system, batch=size), split) for size in sizes}
    whole = (part is profile and alone.get(batch)) or _Alone(profile, replace(on_system, batch=batch), split)
    steps = _steps(groups, alone, split)
    first, whole_s = alone[groups[0].at_once].predicted, whole.device.step.total
    return {
        "workload": profile.workload.name,
        "system": system.name,
        "device": first.target.device.name,
        "precision": first.work.precision,
        "parallel": str(split),
        "scaling": scaling,
        "host": first.scenario.name,
        "rows": [_row(group, steps[group], alone[group.at_once], system, whole_s, scaling) for group in groups],
        "notes": [
            f"{split}: {split.meaning}",
            describe_spread(),
            POWER,
        ],
        "warnings": _warnings(first, steps.values()),
    }


@dataclass(frozen=True)
class _Alone:
    """A device with one local batch: everything that does not depend on the number of devices."""

    profile: Profile
    plan: RunPlan
    split: Split

    @cached_property
    def predicted(self) -> PredictedStep:
        return predict_step(self.profile, self.plan)

    @cached_property
    def device(self) -> OneDevice:
        return one_device(self.predicted)

    @cached_property
    def held(self) -> Held | None:
        """What the step holds; None where nothing tells the parameters."""
        step = self.predicted
        try:
            return held_by_step(step.profile, step.plan, step.target.device, step.work)
        except EstimatorError:
            return None

    def memory(self, group: Group) -> MemoryUse | None:
        """What one device of a group holds."""
        if self.held is None:
            return None
        held = self.held.accumulated() if group.micro_batches > 1 else self.held
        return held.use(self.split.divisors(group.devices))


def _steps(groups: Sequence[Group], alone: dict[int | None, _Alone], split: Split) -> dict[Group, GroupStep]:
    """The step of every group; those with the same local batch together."""
    steps: dict[Group, GroupStep] = {}
    for size, one in alone.items():
        same = [group for group in groups if group.at_once == size]
        steps |= dict(zip(same, steps_of_groups(one.predicted, one.device.step, same, split), strict=True))
    return steps


def _counts(devices: Sequence[int], system: SystemSpec, split: Split, whole_batch: int | None) -> list[int]:
    """The numbers of devices asked for, without repeats; where none is, one copy of the model, twice as many, and so
    on to the whole machine, as far as the copies divide the whole batch.

    Raises EstimatorError where the machine has not so many, or too few for one copy.
    """
    most, of_copy = int(system.nodes.value * system.devices_per_node.value), split.model_devices
    if of_copy > most:
        raise EstimatorError(
            f"tensor × pipeline = {of_copy}: {system.name} has {most} devices; expected at most as many"
        )
    if not devices:
        copies = {most // of_copy, *(2**power for power in range((most // of_copy).bit_length()))}
        return sorted(of_copy * count for count in copies if (whole_batch or count) % count == 0)
    for count in devices:
        if not 1 <= count <= most:
            size = f"{system.name} has {int(system.nodes.value)} nodes of {int(system.devices_per_node.value)}"
            raise EstimatorError(f"devices {count}: {size}; expected a number from 1 to {most}")
    return sorted(set(devices))


def _warnings(first: PredictedStep, steps: Iterable[GroupStep]) -> list[str]:
    """What is to be known of the device, of its step alone and of its messages, each once."""
    of_one = (*first.target.notes, *first.scenario.notes, *first.work.notes, *first.prediction.warnings)
    return list(dict.fromkeys(note.text for note in (*of_one, *(note for step in steps for note in step.notes))))


def _row(
    group: Group, step: GroupStep, alone: _Alone, system: SystemSpec, whole_s: Floats, scaling: Scaling
) -> dict[str, Any]:
    """One number of devices; ``whole_s``: the step of one device with the whole model and its batch."""
    total, parts = step.step.total, group.devices if scaling == "strong" else group.model_devices
    use = alone.memory(group)
    rate = None if group.global_batch is None else documents.interval(group.global_batch / total, "all")
    return {
        "devices": group.devices,
        "nodes": group.nodes,
        "local_batch": group.local_batch,
        "global_batch": group.global_batch,
        "step_s": documents.interval(total, "all"),
        "samples_per_s": rate,
        "efficiency": documents.interval(efficiency(whole_s, total, parts), "all"),
        "communication_s": documents.interval(step.communication_s, "all"),
        "communication_exposed_s": documents.interval(step.step.communication_exposed, "all"),
        **_memory(use),
        **_power(group, step, alone, system),
        "warnings": _row_warnings(step, use),
    }


def _row_warnings(step: GroupStep, use: MemoryUse | None) -> list[str]:
    """What is to be known of one number of devices."""
    warnings = [note.text for note in step.notes]
    if use is not None and use.fits is False:
        needed, there = (units.show(size, "B", 3, binary=True) for size in (float(use.total[0]), use.capacity or 0.0))
        warnings.append(f"the step does not fit: it needs {needed} of {there}")
    return warnings


def _memory(use: MemoryUse | None) -> dict[str, Any]:
    """The parts of memory of one device [B], and whether it has room."""
    if use is None:
        return {"memory_bytes": None, "fits": None}
    return {"memory_bytes": documents.memory_parts(use), "fits": use.fits}


def _power(group: Group, step: GroupStep, alone: _Alone, system: SystemSpec) -> dict[str, Any]:
    """Power [W] and energy [J] of all devices and of their nodes in a step; null where the power is unknown."""
    one, total_s, limit = alone.device, step.step.total, power_limit(alone.predicted.target.device)
    if one.power_w is None or one.idle_w is None or limit is None:
        return {"power_w": None, "energy_j_per_step": None}
    device_w = power.waiting_power(one.power_w, one.idle_w, total_s - step.step.communication_exposed, total_s)
    ends_w = power.node_overhead(system.devices_per_node.value, limit.value, system)
    node_w = power.draw_overhead(ends_w, system.name, alone.plan.draws, alone.plan.seed)
    all_w = group.devices * device_w + group.nodes * node_w
    return {
        "power_w": documents.interval(all_w, "all"),
        "energy_j_per_step": documents.interval(all_w * total_s, "all"),
    }
