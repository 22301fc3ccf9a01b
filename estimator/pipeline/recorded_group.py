"""The step of several devices whose messages the profile itself recorded: these, among another number of copies.

The profile tells what its ranks exchanged, when, and what waited for it. On another number of devices the messages
among copies of the model keep their bytes and their places in the step, and take the time of so many copies. Those
among parts of a model stay as they are.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from estimator.core import units
from estimator.core.parallel import WHOLE, Split
from estimator.core.schema import MODELLED, among_copies
from estimator.core.types import Flags, Floats, RunPlan, StepTime
from estimator.model import SourceRun, TargetDevice, predict
from estimator.model.proportional import ratio_of_step
from estimator.pipeline.predicted_step import PredictedStep
from estimator.rollup.exchange import replayed_s, with_times, without_exchange
from estimator.rollup.scaling import Group, GroupStep, Spreads, lengthened, slowest_device
from estimator.work.messages import RecordedRanks, recorded_ranks, sent_by_devices

ROUNDING = 1e-12  # relative, of a replayed step


@dataclass(frozen=True)
class RecordedMessages:
    """A predicted step, the ranks of its profile, and which of its ops are messages among copies of the model."""

    predicted: PredictedStep
    ranks: RecordedRanks
    among_copies: Flags

    @property
    def count(self) -> int:
        """How many of them a step has."""
        return round(float(self.predicted.work.work.loc[self.among_copies, "calls"].sum()))

    def describe(self) -> str:
        """A sentence on what becomes of the profile's messages."""
        work, ranks = self.predicted.work.work, self.ranks
        sizes = work.loc[self.among_copies, "bytes"]
        bytes_ = sizes.sum(min_count=self.count and 1)
        size = f" ({units.show(float(bytes_), 'B', 3)})" if bytes_ > 0 else ""
        texts = [f"the profile is of one of {ranks.world} ranks"]
        if self.among_copies.any():
            texts.append(
                f"its {self.count} messages{size} a step among {ranks.copies} copies of the model keep their bytes, "
                "and are timed for the predicted number of copies"
            )
        if ranks.parts > 1:
            texts.append(f"messages among parts of a model stay as they are, among {ranks.parts} ranks")
        if sizes.isna().any():
            texts.append(f"{int(sizes.isna().sum())} of them have unknown bytes, inferred from their time")
        return "; ".join(texts)


def recorded_messages(predicted: PredictedStep, split: Split) -> RecordedMessages | None:
    """The messages of the profile, where they are those of the split; None where they are to be made."""
    work, profile = predicted.work.work, predicted.profile
    ranks = recorded_ranks(work, profile)
    rows = sent_by_devices(work) & among_copies(work)
    if split != WHOLE or ranks.world == 1 or not (rows.any() or profile.workload.mode == "inference"):
        return None
    return RecordedMessages(predicted, ranks, rows)


def recorded_step(recorded: RecordedMessages, own: StepTime, group: Group, joined: int, spreads: Spreads) -> GroupStep:
    """The step of each device of a group.

    Args:
        recorded: the profile's messages.
        own: the step of one device without messages among copies.
        group: the devices.
        joined: how many of them their own links join.
        spreads: how far devices differ. The profile holds what its own ranks waited for each other.
    """
    predicted, plan = recorded.predicted, recorded.predicted.plan
    times_s = _times(recorded, group, joined)
    together = with_times(without_exchange(predicted.prediction), recorded.among_copies, times_s)
    total_s = replayed_s(together, predicted.timeline, predicted.scenario)
    total_s = np.where(np.isclose(total_s, own.total, rtol=ROUNDING, atol=0.0), own.total, total_s)
    more = _more_devices(recorded, group, spreads, plan)
    sent = np.asarray(predicted.work.work["op_class"] == "collective", dtype=bool)
    return GroupStep(lengthened(own, total_s, more), together.samples[:, sent].sum(axis=1))


def _times(recorded: RecordedMessages, group: Group, joined: int) -> Floats:
    """Samples of the time of each message among the copies of a group (draws × messages) [s]."""
    predicted, rows, ranks = recorded.predicted, recorded.among_copies, recorded.ranks
    as_profiled = predicted.prediction.samples[:, rows]
    if group.copies == 1 or not rows.any():
        return 0.0 * as_profiled
    if group.copies == ranks.copies and predicted.same_device and not predicted.work.changed:
        return as_profiled
    work, profiled = predicted.work.work[rows], predicted.work.profiled
    of_node = max(1, joined // ranks.of_copy)
    taken = (work["ranks"].astype(float) * group.copies / ranks.copies).round().clip(lower=1).astype("Int64")
    sized = work.assign(
        ranks=taken,
        ranks_per_node=np.minimum(taken.to_numpy(dtype=int), of_node),
        groups_at_once=max(1, joined // of_node),
    )
    own = profiled.iloc[np.flatnonzero(rows)]  # ops that the target adds come behind all others
    run = SourceRun(predicted.source_device, None, own, predicted.profile.step_spread, _wait_ratio(predicted))
    target = TargetDevice(predicted.target.device, predicted.target.measurements)
    return predict(sized, run, target, predicted.plan).samples


def _wait_ratio(predicted: PredictedStep) -> Floats:
    """Low end, mid and high end of what ranks compute, target / source, by ops that are modelled or were measured."""
    ops, prediction = predicted.work.work, predicted.prediction
    busy_s, method = prediction.samples[0] - prediction.launch[0], prediction.ops["method"]
    known = method.isin((*MODELLED, "measured")) & (ops["op_class"] != "collective")
    return ratio_of_step(ops["time_s"].to_numpy(dtype=float)[known], busy_s[known])


def _more_devices(recorded: RecordedMessages, group: Group, spreads: Spreads, plan: RunPlan) -> Floats:
    """How many times as long the slowest of a group takes as that of the profile's ranks; 1 for fewer devices.

    The ranks are taken to have filled nodes of as many devices as the group's.
    """
    world = recorded.ranks.world
    there = slowest_device(world, min(world, group.of_node), spreads, plan)
    return np.maximum(slowest_device(group.devices, group.of_node, spreads, plan) / there, 1.0)
