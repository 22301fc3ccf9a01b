"""The estimate of a training on several devices: of each of them, its step with all messages and waits."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

from estimator.core.interval import bounds
from estimator.core.notes import Note, ranked
from estimator.core.parallel import Split
from estimator.core.types import Estimate, Profile, RunPlan
from estimator.pipeline.alone import EachAlone
from estimator.pipeline.group_memory import fitting_split
from estimator.pipeline.group_steps import assumed_links, step_of_group
from estimator.pipeline.micro_batch_choice import chosen_micro_batch
from estimator.pipeline.predicted_step import PredictedStep
from estimator.pipeline.recorded_group import recorded_messages
from estimator.pipeline.smaller_groups import smaller_group_note
from estimator.pipeline.stages import parts_of
from estimator.pipeline.step import estimate_predicted
from estimator.profiles.layers.shards import stated_micro_batch
from estimator.rollup import power
from estimator.rollup.exchange import without_exchange
from estimator.rollup.limits import step_floor
from estimator.rollup.memory_fit import DoesNotFitError
from estimator.rollup.micro_batches import micro_batch_note
from estimator.rollup.scaling import Group, spreads_of
from estimator.work.weights import updates


def estimate_group(profile: Profile, plan: RunPlan, group: Group, split: Split) -> Estimate:
    """The estimate of a training on several devices: of each of them, its step with all messages and waits.

    Evidence stays that of one device by itself. Its kernels and products take the share of its own step that they take
    of one micro-batch; the ceiling reaches the high end of the step.

    Raises EstimatorError as :func:`estimate` and :func:`step_of_group` do.
    """
    each_alone = EachAlone(profile, plan)
    group = chosen_micro_batch(each_alone, group, split)
    of_one = each_alone.of(split, group.at_once)
    part, predicted, alone = of_one.profile, of_one.predicted, of_one.device
    together = step_of_group(predicted, alone.step, group, split)
    with _advised(profile, plan, group, split):
        estimated = estimate_predicted(part, predicted, parts_of(part, split, group))
    power_w, own_s = estimated.power_w, together.step.total - together.step.communication_exposed
    if alone.power_w is not None and alone.idle_w is not None:
        power_w = power.waiting_power(alone.power_w, alone.idle_w, own_s, together.step.total)
    advice = smaller_group_note(each_alone, group, split)
    notes = ranked((*estimated.notes, *together.notes, *_notes(predicted, group, split), *advice))
    own_share = own_s / alone.step.total
    return dataclasses.replace(
        estimated,
        step=together.step,
        kernels_s=estimated.kernels_s * own_share,
        matrix_step_s=estimated.matrix_step_s * own_share,
        floor_s=floor_of_group(predicted, group, split),
        ceiling_s=max(group.micro_batches * estimated.ceiling_s, float(bounds(together.step.total)[2])),
        power_w=power_w,
        notes=notes,
        copies=group.copies,
        of_group=True,
    )


def floor_of_group(predicted: PredictedStep, group: Group, split: Split) -> float:
    """The least time that each device of a group takes for both passes of a step, by its rates [s]."""
    passes_s = np.where(updates(predicted.work.work), 0.0, without_exchange(predicted.prediction).floor_s)
    return step_floor(passes_s, predicted.timeline) * group.micro_batches / split.pipeline


@contextmanager
def _advised(profile: Profile, plan: RunPlan, group: Group, split: Split) -> Iterator[None]:
    """A refusal for want of memory names a split that would fit. Raises DoesNotFitError."""
    try:
        yield
    except DoesNotFitError as error:
        fitting = fitting_split(profile, plan, group, split) if plan.trainings == 1 else None
        if fitting is None:
            raise
        raise DoesNotFitError(f"{error}, or write 'parallel: \"{fitting}\"', which fits") from error


def _notes(predicted: PredictedStep, group: Group, split: Split) -> Iterator[Note]:
    """How the devices share the training, how far they differ, and links that nothing tells."""
    recorded = recorded_messages(predicted, split)
    if recorded is not None:
        yield Note("ranks-replaced", recorded.describe())
    if group.devices > 1:
        how = f"{split}: {split.meaning}" if recorded is None else "with the profile's own messages"
        yield Note("parallel", f"{group.devices} devices, {how}")
        yield Note("stragglers", str(spreads_of(predicted.profile)))
    yield from assumed_links(predicted, group)
    yield from micro_batch_note([group], split, stated_micro_batch(predicted.profile))
