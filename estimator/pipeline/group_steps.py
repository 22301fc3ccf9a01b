"""The step of several devices that train together: that of one, replayed with the messages that they exchange."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pandas as pd

from estimator.core.notes import Note
from estimator.core.parallel import Split
from estimator.core.schema import COPIES
from estimator.core.types import Floats, RunPlan, StepTime, Workload
from estimator.model import SourceRun, TargetDevice, predict
from estimator.model.links import link_note, network_notes
from estimator.pipeline.micro_steps import BetweenStages, MicroBatch, MicroBatches
from estimator.pipeline.predicted_step import PredictedStep
from estimator.pipeline.recorded_group import recorded_messages, recorded_step
from estimator.rollup.gradient_places import drawn_places
from estimator.rollup.scaling import Group, GroupStep, Spreads, busiest_experts, lengthened, slowest_device, spreads_of
from estimator.work.compression import Compression
from estimator.work.gradients import divided_bucket
from estimator.work.messages import with_parameters
from estimator.work.parallel import Exchange, Ranks, exchange, messages_as_work, passed_on, tied_gradients


def assumed_links(predicted: PredictedStep, group: Group) -> Iterator[Note]:
    """What is taken of links that a group's messages cross and nothing tells: within a node, and between nodes."""
    device = predicted.target.device
    joined = joined_devices(predicted, group)
    if joined > 1:
        yield from link_note(device)
    if group.devices > joined:
        yield from network_notes(device)


def step_of_group(
    predicted: PredictedStep, one: StepTime, group: Group, split: Split, spreads: Spreads | None = None
) -> GroupStep:
    """The step of each of several devices; as :func:`steps_of_groups`."""
    return steps_of_groups(predicted, one, [group], split, spreads)[0]


def steps_of_groups(
    predicted: PredictedStep, one: StepTime, groups: Sequence[Group], split: Split, spreads: Spreads | None = None
) -> list[GroupStep]:
    """The step of each device of several groups that train together, in the network of the target.

    Args:
        predicted: the step of one device, before its replay.
        one: the same, of :func:`step_of_one`.
        groups: the devices of each training.
        split: how they share it.
        spreads: how far devices differ; None: as the profile tells.

    Raises EstimatorError where the profile does not tell what the devices exchange.
    """
    alone = MicroBatch(predicted, one, split)
    several = [group for group in dict.fromkeys(groups) if group.devices > 1]
    steps = _of_several(alone, several, spreads or spreads_of(predicted.profile)) if several else {}
    return [steps[group] if group in steps else _of_one(alone, group) for group in groups]


def _of_one(alone: MicroBatch, group: Group) -> GroupStep:
    """A group of one device, which sends nothing."""
    own = alone.own_step(group, alone.own_update(group))
    return GroupStep(own, 0.0 * own.total)


def _of_several(alone: MicroBatch, groups: Sequence[Group], spreads: Spreads) -> dict[Group, GroupStep]:
    """Groups of two devices and more."""
    predicted, split = alone.predicted, alone.split
    recorded = recorded_messages(predicted, split)
    if recorded is not None:
        own_steps = {group: alone.own_step(group, alone.own_update(group)) for group in groups}
        return {
            group: recorded_step(recorded, own, group, joined_devices(predicted, group), spreads)
            for group, own in own_steps.items()
        }
    by_bucket: dict[int | None, list[Group]] = {}
    for group in groups:
        by_bucket.setdefault(divided_bucket(split, group.copies), []).append(group)
    of_each = [_of_equal_messages(alone, same, spreads) for same in by_bucket.values()]
    return {group: step for steps in of_each for group, step in steps.items()}


def _of_equal_messages(alone: MicroBatch, groups: Sequence[Group], spreads: Spreads) -> dict[Group, GroupStep]:
    """Groups with the same sizes of messages: the timeline is laid out once, and replayed with the times of each."""
    predicted, split, plan = alone.predicted, alone.split, alone.predicted.plan
    sent = exchange(predicted.work.work, workload_of(predicted), split, groups[0].copies)
    tables = [sent.messages, *_messages_between_stages(alone)]
    kinds = np.cumsum([len(table) for table in tables])  # behind them what compression takes
    times_s = _times_of_groups(alone, pd.concat(tables, ignore_index=True), sent.compression, groups)
    load = busiest_experts(plan) if split.experts > 1 else np.ones(1 + plan.draws)
    micro = MicroBatches(alone, sent.messages, load)
    steps = {}
    for group, all_s in zip(groups, times_s, strict=True):
        update = alone.own_update(group)
        sent_s, passed_s, tied_s, coded_s = np.split(all_s, kinds, axis=1)
        sent_s = micro.with_load(_placed(sent_s, sent, plan))
        between = BetweenStages(passed_s.sum(axis=1), tied_s.sum(axis=1))
        total_s = micro.total_s(group, update, sent_s, between) + micro.coded_s(group, coded_s)
        slowest = slowest_device(group.devices, group.of_node, spreads, plan)
        step_time = lengthened(alone.own_step(group, update), total_s, slowest)
        steps[group] = GroupStep(step_time, micro.communication_s(group, sent_s, between), sent.notes)
    return steps


def _messages_between_stages(alone: MicroBatch) -> tuple[pd.DataFrame, pd.DataFrame]:
    """MESSAGES that a stage passes on, and those in which both ends add up the gradients of a tied table of tokens."""
    predicted, split, elements = alone.predicted, alone.split, alone.heaviest.tied
    passed = passed_on(predicted.work.work, split)
    if not elements:
        return passed, passed.iloc[:0]
    return passed, tied_gradients(predicted.work.work, predicted.profile.workload, elements, split)


def _times_of_groups(
    alone: MicroBatch, messages: pd.DataFrame, how: Compression, groups: Sequence[Group]
) -> list[Floats]:
    """Samples of the times of MESSAGES in each group, and behind them of what compression takes there [s]."""
    predicted, split = alone.predicted, alone.split
    works = [
        work
        for group in groups
        for work in (
            messages_as_work(messages, ranks_of_kinds(predicted, group, split)),
            *how.work(split.weight_holders(group.copies)),
        )
    ]
    return np.split(message_times(predicted, pd.concat(works, ignore_index=True)), len(groups), axis=1)


def workload_of(predicted: PredictedStep) -> Workload:
    """The workload, with the parameters whose gradients the profile's messages hold where it tells none itself."""
    return with_parameters(predicted.profile.workload, predicted.work.work)


def _placed(times_s: Floats, sent: Exchange, plan: RunPlan) -> Floats:
    """Samples of the times of messages [s]; where nothing tells when gradients are made, that is drawn."""
    if sent.assumed_places is None:
        return times_s
    buckets = sent.messages["bucket"].fillna(-1).to_numpy(dtype=np.int64)
    operators = sent.messages["operator"].to_numpy(dtype=object)
    return drawn_places(times_s, operators, buckets, sent.assumed_places, plan)


def message_times(predicted: PredictedStep, messages: pd.DataFrame) -> Floats:
    """Samples of the times of messages in the target's network [s]."""
    target = TargetDevice(predicted.target.device, predicted.target.measurements)
    return predict(messages, SourceRun(), target, predicted.plan).samples


def joined_devices(predicted: PredictedStep, group: Group) -> int:
    """How many devices of a group their own links join; those of a node where nothing says more."""
    network = predicted.target.device.network
    return min((network.linked_devices if network else None) or group.of_node, group.devices)


def ranks_of_kinds(predicted: PredictedStep, group: Group, split: Split) -> dict[str, Ranks]:
    """Who sends the messages of each kind, how many of them their own links join, and how many such groups share the
    node's way to others: the parts of a product are neighbours, then the stages of a pipeline, then the copies, first
    those that share experts or states.
    """
    node, copy, copies = joined_devices(predicted, group), split.model_devices, group.copies
    sharing, stage = split.sharing(copies), split.stage_devices
    ranks_and_distance = {
        "tensor": (split.tensor, 1),
        "context": (split.context, split.tensor),
        "stages": (split.pipeline, stage),
        COPIES: (copies, copy),
        "experts": (split.experts, copy),
        "like_experts": (copies // split.experts, copy * split.experts),
        "shards": (sharing, copy),
        "like_shards": (copies // sharing, copy * sharing),
    }
    of_kinds = {kind: _in_nodes(*each, node, group.devices) for kind, each in ranks_and_distance.items()}
    if split.context > 1:
        of_kinds[COPIES] = _in_all_copies(of_kinds["context"], of_kinds[COPIES], node)
    inside = of_kinds["stages"].per_node == split.pipeline
    of_kinds["stages"] = Ranks(2, 2 if inside else 1, min(stage, node))  # neighbours
    return of_kinds


def _in_all_copies(part: Ranks, copies: Ranks, node: int) -> Ranks:
    """The ranks of these parts of all copies together, in nodes of so many devices."""
    joined = part.per_node * copies.per_node
    return Ranks(part.ranks * copies.ranks, joined, max(1, node // joined))


def _in_nodes(ranks: int, apart: int, node: int, devices: int) -> Ranks:
    """The ranks of a message, so many devices apart, in nodes of so many devices."""
    together = apart * ranks
    if together < node < devices and node % together:  # some lie across two nodes, and all wait for these
        return Ranks(ranks, -(-ranks // 2), apart)
    joined = max(1, min(ranks, node // apart))
    return Ranks(ranks, joined, max(1, node // joined))
