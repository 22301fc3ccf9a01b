"""One profile on more and more devices of a machine: step, samples per second, efficiency, memory and power."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from estimator.core import units
from estimator.core.errors import EstimatorError
from estimator.core.notes import LEFT_OPEN, Note, ranked, sentences, with_code
from estimator.core.parallel import Split
from estimator.core.types import MemoryUse, Profile, RunPlan, SystemSpec
from estimator.devices import announcements, system_warnings
from estimator.model import assumptions
from estimator.pipeline.alone import Alone, EachAlone
from estimator.pipeline.group import floor_of_group
from estimator.pipeline.group_steps import assumed_links
from estimator.pipeline.predicted_step import PredictedStep
from estimator.pipeline.recorded_group import recorded_messages
from estimator.profiles.layers.shards import stated_micro_batch
from estimator.reports import documents
from estimator.rollup import power
from estimator.rollup.micro_batches import micro_batch_note
from estimator.rollup.scaling import Group, GroupStep, Scaling, efficiency, spreads_of
from estimator.studies.scaled_steps import ScaledSteps, scaled_steps
from estimator.studies.timed_steps import below_floors, contradictions, what_they_change

POWER = "power includes the devices and the rest of their nodes; a device that waits draws its idle power"
TIMED_POWER = (
    "with timed steps the parts of a step keep their shares: power stays as predicted, and energy is that power over "
    "the corrected step"
)
NO_POWER = (
    "neither the device's file nor its system's tells its power limit: power and energy are not predicted, and power "
    "is taken not to lower its peaks"
)
STAGES = "memory is that of the first or the last stage, whichever needs more"


def scale(
    profile: Profile, system: SystemSpec, devices: Sequence[int], plan: RunPlan, splits: Sequence[Split],
    scaling: Scaling, timed_steps: str | Path | None = None,
) -> dict[str, Any]:  # fmt: skip
    """Predict a profile on each number of devices of a system, as a document; by default on powers of two.

    The rows of each split stand together.

    Args:
        profile: the profiled run.
        system: the machine.
        devices: how many of its devices.
        plan: all but target and network. Its batch is that of one device, for strong scaling that of all of them.
        splits: how they share the training; a repeated one counts once.
        scaling: what stays, each device's batch or the whole one.
        timed_steps: a CSV of TIMED_STEPS of the machine.

    Raises EstimatorError for numbers that the system does not have, for a batch that cannot be divided, and for timed
    steps as :func:`read_timed_steps` does, and with several splits.
    """
    splits = list(dict.fromkeys(splits))
    if timed_steps is not None and len(splits) > 1:
        raise EstimatorError(
            f"timed steps correct one way to divide a training, and {len(splits)} are asked for "
            f"({' and '.join(map(str, splits))}); give one of them"
        )
    limit = power.listed_limit(system)
    alone = EachAlone(profile, replace(plan, target=system.device, network=system.network, power_limit=limit))
    scaled = [scaled_steps(alone, system, devices, split, scaling, timed_steps) for split in splits]
    return _joined([_document(each) for each in scaled])


def _joined(documents: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The document of several splits: the rows of each in turn, and each sentence once."""

    def every(name: str) -> list[Any]:
        return [each for document in documents for each in document[name]]

    return documents[0] | {
        "parallel": " and ".join(document["parallel"] for document in documents),
        "rows": every("rows"),
        **{name: list(dict.fromkeys(every(name))) for name in ("notes", "warnings")},
    }


def _document(scaled: ScaledSteps) -> dict[str, Any]:
    """The steps of one split as a document."""
    first, split, timed, predicted = scaled.first, scaled.split, scaled.timed, scaled.predicted
    changes = [(predicted[group].step.total, scaled.steps[group].step.total) for group in scaled.groups]
    floors_s = {group: floor_of_group(scaled.alone[group.at_once].predicted, group, split) for group in timed.groups}
    of_batch = micro_batch_note(scaled.groups, split, stated_micro_batch(first.profile))
    notes = ranked((*_notes(scaled.system, first, scaled.steps), *of_batch, *scaled.advice))
    return {
        "workload": first.profile.workload.name,
        "system": scaled.system.name,
        "device": first.target.device.name,
        "precision": first.work.precision,
        "parallel": str(split),
        "scaling": scaled.scaling,
        "host": first.scenario.name,
        "timed_steps": len(timed.groups),
        "rows": [_row(scaled, group) for group in scaled.groups],
        "notes": [
            *sentences(notes, "left-open"),
            _how(first, split),
            str(spreads_of(first.profile)),
            POWER if first.target.device.power_limit else NO_POWER,
            *([STAGES] if split.pipeline > 1 else []),
            *what_they_change(timed, changes),
            *([TIMED_POWER] if timed.groups and first.target.device.power_limit else []),
            *sentences(notes, "assumption"),
        ],
        "warnings": [
            *sentences(notes, "warning"),
            *contradictions(timed, {group: step.step.total for group, step in predicted.items()}),
            *below_floors(timed, floors_s),
        ],
    }


def _notes(system: SystemSpec, first: PredictedStep, steps: Mapping[Group, GroupStep]) -> tuple[Note, ...]:
    """What is to be known of the device, of its step alone and of its messages, each once."""
    of_one = (
        *first.target.notes,
        *announcements(system),
        *with_code("system-check", system_warnings(system)),
        *first.scenario.notes,
        *first.work.notes,
        *first.prediction.warnings,
        *_left_open(first),
    )
    of_groups = (note for group, step in steps.items() for note in (*step.notes, *assumed_links(first, group)))
    return ranked((*of_one, *of_groups))


def _left_open(first: PredictedStep) -> list[Note]:
    """What the device's file leaves open, but its power limit, of which NO_POWER tells."""
    notes = assumptions(first.prediction.ops, first.target.device, first.evidence, first.source_device)
    return [note for note in notes if note.code in LEFT_OPEN and note.code != "power-limit-unknown"]


def _how(first: PredictedStep, split: Split) -> str:
    """How the devices share the training, in words."""
    recorded = recorded_messages(first, split)
    return f"{split}: {split.meaning}" if recorded is None else recorded.describe()


def _row(scaled: ScaledSteps, group: Group) -> dict[str, Any]:
    """One number of devices."""
    step, alone = scaled.steps[group], scaled.alone[group.at_once]
    total = step.step.total
    parts = (group.devices if scaled.scaling == "strong" else group.model_devices) / scaled.of_copy
    use = alone.memory(scaled.split, group)
    rate = None if group.global_batch is None else group.global_batch / total
    return {
        "parallel": str(scaled.split),
        "devices": group.devices,
        "nodes": group.nodes,
        "local_batch": group.local_batch,
        "global_batch": group.global_batch,
        "micro_batch": group.at_once,
        "step_s": documents.interval(total, "all"),
        "samples_per_s": documents.interval(rate, "all"),
        "efficiency": documents.interval(efficiency(scaled.whole_s, total, parts), "all"),
        "communication_s": documents.interval(step.communication_s, "all"),
        "communication_exposed_s": documents.interval(step.step.communication_exposed, "all"),
        "memory_bytes": documents.memory_parts(use),
        "fits": use.fits if use else None,
        **_power(group, step, alone, scaled.system),
        "warnings": _row_warnings(step, use),
        "timed_s": scaled.timed.time_s(group),
    }


def _row_warnings(step: GroupStep, use: MemoryUse | None) -> list[str]:
    """What is to be known of one number of devices."""
    warnings = [note.text for note in step.notes]
    if use is not None and use.fits is False:
        needed, there = (units.show(size, "B", 3, binary=True) for size in (float(use.total[0]), use.capacity or 0.0))
        warnings.append(f"the step does not fit: it needs {needed} of {there}")
    return warnings


def _power(group: Group, step: GroupStep, alone: Alone, system: SystemSpec) -> dict[str, Any]:
    """Power [W] and energy [J] of all devices and of their nodes in a step; null where the power is unknown.

    Devices of these nodes that the training does not use are idle.
    """
    one, total_s, limit = alone.device, step.step.total, alone.predicted.target.device.power_limit
    if one.power_w is None or one.idle_w is None or limit is None:
        return {"power_w": None, "energy_j_per_step": None}
    device_w = power.waiting_power(one.power_w, one.idle_w, total_s - step.step.communication_exposed, total_s)
    ends_w = power.node_overhead(system.devices_per_node.value, limit.value, system)
    node_w = power.draw_overhead(ends_w, system.name, alone.plan.draws, alone.plan.seed)
    unused = group.nodes * int(system.devices_per_node.value) - group.devices
    all_w = group.devices * device_w + unused * one.idle_w + group.nodes * node_w
    return {
        "power_w": documents.interval(all_w, "all"),
        "energy_j_per_step": documents.interval(all_w * total_s, "all"),
    }
