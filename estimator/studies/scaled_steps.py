"""The steps of a profile on more and more devices of a machine that share its training in one way.

Where steps of the machine were timed, all others are predicted given these.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from estimator.core.errors import EstimatorError
from estimator.core.notes import Note
from estimator.core.parallel import WHOLE, Split
from estimator.core.types import Floats, SystemSpec
from estimator.pipeline.alone import Alone, EachAlone
from estimator.pipeline.group_steps import steps_of_groups
from estimator.pipeline.micro_batch_choice import chosen_micro_batch
from estimator.pipeline.predicted_step import PredictedStep
from estimator.pipeline.smaller_groups import smaller_group_note
from estimator.rollup.scaling import Group, GroupStep, Scaling, group_of, refuse_fewer
from estimator.studies.timed_steps import TimedSteps, given_timed, read_timed_steps
from estimator.work.messages import RecordedRanks
from estimator.work.on_target import ranks_of
from estimator.work.rebatch import TooLargeError

Grouped = Callable[[int, Scaling, int | None], Group]  # devices, what stays, and that batch → the group


@dataclass(frozen=True)
class ScaledSteps:
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


def scaled_steps(
    each_alone: EachAlone, system: SystemSpec, devices: Sequence[int], split: Split, scaling: Scaling,
    timed_steps: str | Path | None,
) -> ScaledSteps:  # fmt: skip
    """The steps of one split on each number of devices; by default on powers of two.

    Stages of a pipeline compute as many samples at once as is fastest.

    Raises EstimatorError for numbers that the system does not have, for a batch that cannot be divided, and for timed
    steps as :func:`read_timed_steps` does.
    """
    profile, plan = each_alone.profile, each_alone.plan
    batch, ranks = plan.batch or profile.workload.batch_size, ranks_of(profile)

    def grouped(count: int, scaling: Scaling, batch: int | None) -> Group:
        group = group_of(count, int(system.devices_per_node.value), scaling, batch, split, ranks.of_copy)
        return chosen_micro_batch(each_alone, group, split)

    counts = _counts(devices, system, split, ranks, batch if scaling == "strong" else None)
    groups = [grouped(count, scaling, batch) for count in counts]
    timed = read_timed_steps(timed_steps, partial(_timed_group, system, grouped, scaling, batch), split)
    every = list(dict.fromkeys([*groups, *timed.groups]))
    alone = {size: each_alone.of(split, size) for size in {each.at_once for each in every}}
    predicted = _steps(every, alone, split)
    whole_s = _whole_s(each_alone, batch)
    steps, whole_s = _given(predicted, whole_s, Group(1, 1, batch, batch), timed, plan.seed)
    advice = tuple(smaller_group_note(each_alone, max(groups, key=lambda group: group.devices), split))
    return ScaledSteps(system, split, scaling, ranks.of_copy, whole_s, groups, timed, alone, predicted, steps, advice)


def _whole_s(each_alone: EachAlone, batch: int | None) -> Floats:
    """The step of one device with the whole model and batch [s]. Raises EstimatorError as :meth:`EachAlone.of` does."""
    try:
        return each_alone.of(WHOLE, batch).device.step.total
    except TooLargeError as error:
        raise TooLargeError(f"{error}, as efficiency compares with one device that computes all samples") from error


def _timed_group(
    system: SystemSpec, grouped: Grouped, scaling: Scaling, batch: int | None, row: Mapping[str, int | None]
) -> Group:
    """The devices of a timed step, whose batch is as predicted where the row gives none.

    Raises EstimatorError where the machine has no such group.
    """
    (devices,) = _counts([int(row["devices"] or 0)], system, WHOLE, RecordedRanks(), None)
    if row["local_batch"]:
        group = grouped(devices, "weak", row["local_batch"])
        if row["global_batch"] not in (None, group.global_batch):
            raise EstimatorError(
                f"global_batch is {row['global_batch']}, but {group.copies} x local_batch {row['local_batch']} is "
                f"{group.global_batch}; keep one of the two"
            )
        return group
    if row["global_batch"]:
        return grouped(devices, "strong", row["global_batch"])
    return grouped(devices, scaling, batch)


def _given(
    steps: Mapping[Group, GroupStep], whole_s: Floats, whole: Group, timed: TimedSteps, seed: int
) -> tuple[dict[Group, GroupStep], Floats]:
    """The steps of groups, and that of one device with the whole model and batch, given timed steps."""
    samples_s = given_timed({whole: whole_s, **{group: step.step.total for group, step in steps.items()}}, timed, seed)
    corrected = {group: replace(step, step=step.step.to(samples_s[group])) for group, step in steps.items()}
    return corrected, samples_s[whole]


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
