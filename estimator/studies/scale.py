"""One profile on more and more devices of a machine: step, samples per second, efficiency, memory and power.

Where steps of the machine were timed, all others are predicted given these.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from estimator.core import units
from estimator.core.errors import EstimatorError
from estimator.core.notes import LEFT_OPEN, Note, ranked, sentences, with_code
from estimator.core.parallel import WHOLE, Split
from estimator.core.types import Floats, MemoryUse, Profile, RunPlan, SystemSpec
from estimator.devices import announcements, system_warnings
from estimator.model import assumptions
from estimator.pipeline.alone import Alone, EachAlone
from estimator.pipeline.group import floor_of_group
from estimator.pipeline.group_steps import assumed_links, steps_of_groups
from estimator.pipeline.micro_batch_choice import chosen_micro_batch
from estimator.pipeline.predicted_step import PredictedStep
from estimator.pipeline.recorded_group import recorded_messages
from estimator.pipeline.smaller_groups import smaller_group_note
from estimator.profiles.layers.shards import stated_micro_batch
from estimator.reports import documents
from estimator.rollup import power
from estimator.rollup.micro_batches import micro_batch_note
from estimator.rollup.scaling import Group, GroupStep, Scaling, efficiency, group_of, refuse_fewer, spreads_of
from estimator.studies.timed_steps import (
    TimedSteps,
    below_floors,
    contradictions,
    given_timed,
    read_timed_steps,
    what_they_change,
)
from estimator.work.messages import RecordedRanks
from estimator.work.on_target import ranks_of
from estimator.work.rebatch import TooLargeError

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
    scaled = [_scale_split(alone, system, devices, split, scaling, timed_steps) for split in splits]
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


@dataclass(frozen=True)
class _Scaled:
    """The steps of groups of devices that share a training in one way; ``predicted`` before any was timed."""

    system: SystemSpec
    split: Split
    scaling: Scaling
    of_copy: int  # ranks of the profile that hold one copy of the model
    whole_s: Floats  # step of one device with its batch and the whole model, or of those ranks
    groups: Sequence[Group]
    timed: TimedSteps
    alone: Mapping[int | None, Alone]  # by the samples that a copy computes at once
    predicted: Mapping[Group, GroupStep]
    steps: Mapping[Group, GroupStep]
    advice: tuple[Note, ...]  # on the split

    @property
    def first(self) -> PredictedStep:
        """The step of a device of the first group by itself."""
        return self.alone[self.groups[0].at_once].predicted


def _scale_split(
    each_alone: EachAlone, system: SystemSpec, devices: Sequence[int], split: Split, scaling: Scaling,
    timed_steps: str | Path | None,
) -> _Scaled:  # fmt: skip
    """The steps of one split. Raises EstimatorError as :func:`scale` does."""
    profile, plan = each_alone.profile, each_alone.plan
    batch = plan.batch or profile.workload.batch_size
    ranks = ranks_of(profile)
    per_node = int(system.devices_per_node.value)
    grouped = partial(_grouped, each_alone, per_node=per_node, split=split, of_copy=ranks.of_copy)
    counts = _counts(devices, system, split, ranks, batch if scaling == "strong" else None)
    groups = [grouped(count, scaling=scaling, batch=batch) for count in counts]
    timed = read_timed_steps(timed_steps, partial(_timed_group, system, grouped, scaling, batch), split)
    every = list(dict.fromkeys([*groups, *timed.groups]))
    alone = {size: each_alone.of(split, size) for size in {each.at_once for each in every}}
    predicted = _steps(every, alone, split)
    whole_s = _whole_s(each_alone, batch)
    steps, whole_s = _given(predicted, whole_s, Group(1, 1, batch, batch), timed, plan.seed)
    advice = tuple(smaller_group_note(each_alone, max(groups, key=lambda group: group.devices), split))
    return _Scaled(system, split, scaling, ranks.of_copy, whole_s, groups, timed, alone, predicted, steps, advice)


def _whole_s(each_alone: EachAlone, batch: int | None) -> Floats:
    """The step of one device with the whole model and batch [s]. Raises EstimatorError as :meth:`EachAlone.of` does."""
    try:
        return each_alone.of(WHOLE, batch).device.step.total
    except TooLargeError as error:
        raise TooLargeError(f"{error}, as efficiency compares with one device that computes all samples") from error


def _document(scaled: _Scaled) -> dict[str, Any]:
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


def _timed_group(
    system: SystemSpec,
    grouped: Callable[..., Group],
    scaling: Scaling,
    batch: int | None,
    row: Mapping[str, int | None],
) -> Group:
    """The devices of a timed step, whose batch is as predicted where the row gives none.

    Raises EstimatorError where the machine has no such group.
    """
    (devices,) = _counts([int(row["devices"] or 0)], system, WHOLE, RecordedRanks(), None)
    if row["local_batch"]:
        group = grouped(devices, scaling="weak", batch=row["local_batch"])
        if row["global_batch"] not in (None, group.global_batch):
            raise EstimatorError(
                f"global_batch is {row['global_batch']}, but {group.copies} x local_batch {row['local_batch']} is "
                f"{group.global_batch}; keep one of the two"
            )
        return group
    if row["global_batch"]:
        return grouped(devices, scaling="strong", batch=row["global_batch"])
    return grouped(devices, scaling=scaling, batch=batch)


def _given(
    steps: Mapping[Group, GroupStep], whole_s: Floats, whole: Group, timed: TimedSteps, seed: int
) -> tuple[dict[Group, GroupStep], Floats]:
    """The steps of groups, and that of one device with the whole model and batch, given timed steps."""
    samples_s = given_timed({whole: whole_s, **{group: step.step.total for group, step in steps.items()}}, timed, seed)
    corrected = {group: replace(step, step=step.step.to(samples_s[group])) for group, step in steps.items()}
    return corrected, samples_s[whole]


def _grouped(each_alone: EachAlone, devices: int, *, split: Split, **how: Any) -> Group:
    """So many devices, as :func:`group_of` has them, whose stages compute as many samples at once as is fastest."""
    return chosen_micro_batch(each_alone, group_of(devices, split=split, **how), split)


def _steps(groups: Sequence[Group], alone: dict[int | None, Alone], split: Split) -> dict[Group, GroupStep]:
    """The step of every group; those with the same local batch together."""
    steps: dict[Group, GroupStep] = {}
    for size, one in alone.items():
        same = [group for group in groups if group.at_once == size]
        steps |= dict(zip(same, steps_of_groups(one.predicted, one.device.step, same, split), strict=True))
    return steps


def _counts(
    devices: Sequence[int], system: SystemSpec, split: Split, ranks: RecordedRanks, whole_batch: int | None
) -> list[int]:
    """The numbers of devices asked for, without repeats; where none is, one copy of the model, twice as many, and so
    on to the whole machine, as far as the copies and their micro-batches divide the whole batch.

    Raises EstimatorError where the machine has not so many, or too few for one copy.
    """
    most = int(system.nodes.value * system.devices_per_node.value)
    of_copy = split.least_devices * ranks.of_copy
    if of_copy > most:
        raise EstimatorError(
            f"{split.written_devices} = {of_copy}: {system.name} has {most} devices; expected at most as many"
        )
    if not devices:
        least = split.least_batch * split.experts
        copies = _usual_copies(most // of_copy, split.shard or 1)
        counts = (of_copy * n for n in copies if whole_batch is None or whole_batch % (n * least) == 0)
        return sorted(count for count in counts if count >= ranks.parts)
    for count in devices:
        if not 1 <= count <= most:
            nodes = int(system.nodes.value)
            size = f"{system.name} has {nodes} node{'s' * (nodes > 1)} of {int(system.devices_per_node.value)}"
            raise EstimatorError(f"devices {count}: {size}; expected a number from 1 to {most}, or more nodes")
        refuse_fewer(count, ranks.parts)
    return sorted(set(devices))


def _usual_copies(most: int, shard: int) -> set[int]:
    """Copies of the model, where nothing says how many: one, twice as many and so on, and the most of a machine.

    From ``shard`` copies on they are whole groups of so many, which share the states.
    """
    powers = [2**power for power in range(most.bit_length())]
    counts = {*powers, *(shard * count for count in powers), most // shard * shard}
    return {count for count in counts if 0 < count <= most and count % min(shard, count) == 0}


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


def _row(scaled: _Scaled, group: Group) -> dict[str, Any]:
    """One number of devices."""
    step, alone = scaled.steps[group], scaled.alone[group.at_once]
    total = step.step.total
    parts = (group.devices if scaled.scaling == "strong" else group.model_devices) / scaled.of_copy
    use = alone.memory(scaled.split, group)
    rate = None if group.global_batch is None else documents.interval(group.global_batch / total, "all")
    return {
        "parallel": str(scaled.split),
        "devices": group.devices,
        "nodes": group.nodes,
        "local_batch": group.local_batch,
        "global_batch": group.global_batch,
        "micro_batch": group.at_once,
        "step_s": documents.interval(total, "all"),
        "samples_per_s": rate,
        "efficiency": documents.interval(efficiency(scaled.whole_s, total, parts), "all"),
        "communication_s": documents.interval(step.communication_s, "all"),
        "communication_exposed_s": documents.interval(step.step.communication_exposed, "all"),
        **_memory(use),
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


def _memory(use: MemoryUse | None) -> dict[str, Any]:
    """The parts of memory of one device [B], and whether it has room."""
    if use is None:
        return {"memory_bytes": None, "fits": None}
    return {"memory_bytes": documents.memory_parts(use), "fits": use.fits}


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
