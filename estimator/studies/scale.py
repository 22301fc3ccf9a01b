"""One profile on more and more devices of a machine: step, samples per second, efficiency, exposed communication."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

from estimator.core.errors import EstimatorError
from estimator.core.parallel import MEANINGS, Split
from estimator.core.types import RunPlan, StepTime, SystemSpec
from estimator.devices import load_system
from estimator.pipeline import PredictedStep, predict_step, step_of_group, step_of_one
from estimator.profiles import read_profile
from estimator.reports import documents
from estimator.rollup.scaling import DEVICE_SPREAD, Group, GroupStep, Scaling, efficiency, group_of

STRAGGLERS = (
    "a step of one device takes {1:.0f} % more or less than that of another ({0:.0f} to {2:.0f} %); the slowest counts"
)


def scale(
    name: str, system_name: str, devices: Sequence[int], plan: RunPlan, split: Split, scaling: Scaling
) -> dict[str, Any]:
    """Predict a profile on each number of devices of a system, as a document; by default on powers of two.

    ``plan`` gives all but target and system. Its batch is that of one device, for strong scaling that of all of them.

    Raises EstimatorError for numbers that the system does not have, and for a batch that cannot be divided.
    """
    profile, system = read_profile(name), load_system(system_name)
    batch = plan.batch or profile.workload.batch_size
    on_system = replace(plan, target=system.device, system=system_name)

    @cache
    def predicted(local_batch: int | None) -> PredictedStep:
        return predict_step(profile, replace(on_system, batch=local_batch))

    per_node = int(system.devices_per_node.value)
    groups = [group_of(count, per_node, scaling, batch) for count in _counts(devices, system)]

    @cache
    def one(local_batch: int | None) -> StepTime:
        return step_of_one(predicted(local_batch))

    steps = {
        group: step_of_group(predicted(group.local_batch), one(group.local_batch), group, split) for group in groups
    }
    first = predicted(groups[0].local_batch)
    return {
        "workload": profile.workload.name,
        "system": system.name,
        "device": first.target.device.name,
        "precision": first.work.precision,
        "parallel": str(split),
        "scaling": scaling,
        "host": first.scenario.name,
        "rows": [_row(group, steps[group], one(batch), scaling) for group in groups],
        "notes": [f"{split}: {MEANINGS[split.data]}", STRAGGLERS.format(*(100 * each for each in DEVICE_SPREAD))],
        "warnings": _warnings(first, steps.values()),
    }


def _warnings(first: PredictedStep, steps: Iterable[GroupStep]) -> list[str]:
    """What is to be known of the step of one device and of its messages, each once."""
    of_one = (*first.scenario.notes, *first.work.notes, *first.prediction.warnings)
    return list(dict.fromkeys(note.text for note in (*of_one, *(note for step in steps for note in step.notes))))


def _counts(devices: Sequence[int], system: SystemSpec) -> list[int]:
    """The numbers of devices asked for, without repeats; powers of two and the whole machine where none is."""
    most = int(system.nodes.value * system.devices_per_node.value)
    if not devices:
        return sorted({most, *(2**power for power in range(most.bit_length()))})
    for count in devices:
        if not 1 <= count <= most:
            size = f"{system.name} has {int(system.nodes.value)} nodes of {int(system.devices_per_node.value)}"
            raise EstimatorError(f"devices {count}: {size}; expected a number from 1 to {most}")
    return sorted(set(devices))


def _row(group: Group, step: GroupStep, one: StepTime, scaling: Scaling) -> dict[str, Any]:
    total = step.step.total
    rate = None if group.global_batch is None else documents.interval(group.global_batch / total, "all")
    return {
        "devices": group.devices,
        "nodes": group.nodes,
        "local_batch": group.local_batch,
        "global_batch": group.global_batch,
        "step_s": documents.interval(total, "all"),
        "samples_per_s": rate,
        "efficiency": documents.interval(efficiency(one.total, total, group.devices, scaling), "all"),
        "communication_s": documents.interval(step.communication_s, "all"),
        "communication_exposed_s": documents.interval(step.step.communication_exposed, "all"),
    }
