"""The step of a group from that of one micro-batch: several in a row, or through the stages of a pipeline."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import pandas as pd

from estimator.core.attributes import EXPERTS_LOAD, has_attribute
from estimator.core.parallel import Split
from estimator.core.schema import MESSAGES, among_copies
from estimator.core.types import Flags, Floats, Prediction, StepTime
from estimator.pipeline.predicted_step import PredictedStep
from estimator.profiles.layers.blocks import EMBEDDINGS, HEAD, OUTSIDE
from estimator.profiles.layers.shards import HeaviestStage, experts_share, heaviest_stage
from estimator.rollup import step
from estimator.rollup.exchange import StepWithMessages, exchange_of, replayed_s, with_times, without_exchange
from estimator.rollup.pipeline_parallel import MicroStep, accumulated, exposed_reduction, pipelined
from estimator.rollup.scaling import Group
from estimator.rollup.step import times_in_step
from estimator.rollup.target_timeline import StepTimeline
from estimator.work.weights import updates


@dataclass(frozen=True)
class OwnUpdate:
    """A device's share of the update of weights: the times of its ops on their lanes (draws × ops) [s], None where it
    has all of it; and both passes with it, without messages [s].
    """

    op_s: Floats | None
    whole_s: Floats


@dataclass(frozen=True)
class MicroBatch:
    """One micro-batch on one device, without recorded messages: with the update of weights, or both passes alone."""

    predicted: PredictedStep
    one: StepTime
    split: Split

    @cached_property
    def of_experts(self) -> float:
        """The share of a copy's parameters that are those of its experts."""
        return experts_share(self.predicted.profile, self.split)

    @cached_property
    def heaviest(self) -> HeaviestStage:
        """The stage with the most parameters, whose reduction and update end last."""
        return heaviest_stage(self.predicted.profile, self.split)

    def own_update(self, group: Group) -> OwnUpdate:
        """The share of the update of one device of a group: the host launches all ops, for its share of the weights."""
        owners = self.split.owners(group.copies, self.of_experts) if self.split.divides_update else 1.0
        if owners == 1:
            return OwnUpdate(None, self.one.total)
        update, predicted = self._update, self.predicted
        update = replace(update, samples=update.launch + (update.samples - update.launch) / owners)
        op_s, _ = times_in_step(update, predicted.timeline, predicted.scenario)
        whole_s = self.with_update(self._alone, op_s).total_s(np.empty((len(op_s), 0)))
        return OwnUpdate(op_s, np.clip(whole_s, self.passes_s, self.one.total))

    def laid_out(self, messages: pd.DataFrame) -> StepWithMessages:
        """Both passes and the whole update, with MESSAGES."""
        predicted = self.predicted
        return exchange_of(without_exchange(predicted.prediction), predicted.timeline, messages, predicted.scenario)

    def with_update(self, whole: StepWithMessages, op_s: Floats | None) -> StepWithMessages:
        """A step of :meth:`laid_out` in which the ops of the update take these times (draws × ops) [s]."""
        return whole if op_s is None else whole.with_ops(np.flatnonzero(self._updating), op_s)

    @cached_property
    def passes(self) -> tuple[Prediction, StepTimeline]:
        """Its ops and their timeline without the update. A profile's own timeline keeps the launches of it."""
        whole = without_exchange(self.predicted.prediction)
        left = with_times(whole, self._updating, np.zeros((len(whole.samples), int(self._updating.sum()))))
        left = replace(left, ops=left.ops.assign(calls=left.ops["calls"].mask(self._updating, 0.0)))
        predicted = self.predicted
        return left, step.step_timeline(predicted.profile, left, predicted.scenario, predicted.overlap)

    @cached_property
    def passes_s(self) -> Floats:
        """Both passes [s]."""
        return np.minimum(replayed_s(*self.passes, self.predicted.scenario), self.one.total)

    def own_step(self, group: Group, update: OwnUpdate) -> StepTime:
        """What one device of a group computes in a step, without messages and without waiting for others."""
        count, whole_s = group.micro_batches, update.whole_s
        all_s = accumulated(self.passes_s, whole_s, count) if count > 1 else whole_s
        return self.one.to(all_s / self.split.pipeline)

    @cached_property
    def _alone(self) -> StepWithMessages:
        return self.laid_out(MESSAGES.empty())

    @cached_property
    def _updating(self) -> Flags:
        return np.asarray(updates(self.predicted.work.work), dtype=bool)

    @cached_property
    def _update(self) -> Prediction:
        """The ops of the update alone."""
        whole, rows = self.predicted.prediction, self._updating
        return replace(
            whole, ops=whole.ops[rows], samples=whole.samples[:, rows], launch=whole.launch[:, rows],
            floor_s=whole.floor_s[rows],
        )  # fmt: skip


@dataclass(frozen=True)
class BetweenStages:
    """The time to send the results of a micro-batch to the next stage, and to add up the gradients of a tied table of
    tokens, which both ends have (draws) [s]; 0 without stages.
    """

    pass_on_s: Floats
    tied_s: Floats


@dataclass(frozen=True)
class MicroBatches:
    """One micro-batch on one device of a group, with MESSAGES among copies and parts, and how the group repeats it."""

    alone: MicroBatch
    messages: pd.DataFrame
    load: Floats  # tokens of the busiest part of the experts over the mean

    def with_load(self, times_s: Floats) -> Floats:
        """The times of messages (draws × messages), those to experts with as many tokens as the busiest get [s]."""
        to_experts = np.asarray(self.messages["among"] == "experts", dtype=bool)
        return np.where(to_experts, self.load[:, None] * times_s, times_s)

    @cached_property
    def _waiting_s(self) -> Floats:
        """How much longer the busiest part of the experts computes for one micro-batch than the mean [s]."""
        predicted = self.alone.predicted
        of_experts = has_attribute(predicted.work.work, EXPERTS_LOAD)
        return np.asarray((self.load - 1.0) * predicted.prediction.samples[:, of_experts].sum(axis=1))

    @property
    def split(self) -> Split:
        """How the training is divided."""
        return self.alone.split

    @property
    def among_copies(self) -> Flags:
        """Which messages pass among copies of the model."""
        return among_copies(self.messages)

    def total_s(self, group: Group, update: OwnUpdate, times_s: Floats, between: BetweenStages) -> Floats:
        """The step with all messages [s].

        Args:
            group: the devices.
            update: the share of each of them.
            times_s: the time of each message (draws × messages) [s].
            between: the times of messages from stage to stage.
        """
        count = group.micro_batches
        inside_s = times_s * ~self.among_copies
        if self.split.pipeline > 1:
            passes_s = self._passes_s(inside_s)
            parts = self._parts(passes_s, self.alone.heaviest.share * (update.whole_s - self.alone.passes_s))
            stages, runs = self.split.pipeline, self.split.interleave
            whole_s = pipelined(parts, stages, count, between.pass_on_s, runs, self.alone.heaviest.blocks)
            return whole_s + self._exposed(passes_s, times_s) + between.tied_s
        last_s = self.alone.with_update(self._whole, update.op_s).total_s(times_s) + self._waiting_s
        if count == 1:
            return last_s
        return accumulated(self._passes_s(times_s if self.split.gathers_weights else inside_s), last_s, count)

    def _passes_s(self, times_s: Floats) -> Floats:
        """Both passes of one micro-batch with messages that take these times [s]; each call replays the step."""
        return self._passes.total_s(times_s) + self._waiting_s

    @cached_property
    def _passes(self) -> StepWithMessages:
        return exchange_of(*self.alone.passes, self.messages, self.alone.predicted.scenario)

    @cached_property
    def _whole(self) -> StepWithMessages:
        return self.alone.laid_out(self.messages)

    def _exposed(self, passes_s: Floats, times_s: Floats) -> Floats:
        """What messages among the copies of a stage add [s]; gathered weights follow the update, and are not hidden."""
        share, gathers = self._stage_share, np.asarray(self.messages["holds"] == "weights", dtype=bool)
        reduces = self.among_copies & ~gathers
        reduced_s, gathered_s = (times_s[:, some] @ share[some] for some in (reduces, gathers))
        passes_s = passes_s * self.alone.heaviest.blocks
        return np.asarray(exposed_reduction(reduced_s, passes_s, float(share[reduces].sum())) + gathered_s)

    @cached_property
    def _stage_share(self) -> Floats:
        """How much of each message among copies the heaviest stage sends; experts are in blocks."""
        experts = np.asarray(self.messages["among"] == "like_experts", dtype=bool)
        return np.where(experts, self.alone.heaviest.blocks, self.alone.heaviest.share_of_copied)

    def coded_s(self, group: Group, times_s: Floats) -> Floats:
        """What compression of gradients takes of one device in a step [s], by the times of its ops in one exchange."""
        if self.split.weight_holders(group.copies) == 1:
            return np.zeros(len(times_s))
        often = group.micro_batches if self.split.gathers_weights else 1
        return np.asarray(often * times_s.sum(axis=1) * self.alone.heaviest.share)

    def communication_s(self, group: Group, times_s: Floats, between: BetweenStages) -> Floats:
        """The time of all messages that a device of the heaviest stage sends in a step [s]; as :meth:`total_s`."""
        count, stages, data = group.micro_batches, self.split.pipeline, self.among_copies
        among_copies_s = times_s[:, data] @ self._stage_share[data]
        inside_s = times_s[:, ~data].sum(axis=1) * self.alone.heaviest.blocks
        often = count if self.split.gathers_weights else 1
        sent = 2.0 * count * self.split.interleave if stages > 1 else 0.0
        between_s = sent * between.pass_on_s + between.tied_s
        return np.asarray(often * among_copies_s + count * inside_s + between_s)

    def _parts(self, passes_s: Floats, update_s: Floats) -> MicroStep:
        """Both passes by where they stand, as their ops' times; casts without a place are spread over the blocks."""
        ops, samples = self.alone.predicted.work.work, self.alone.passes[0].samples
        updating = updates(ops).to_numpy(dtype=bool)
        outside = ops["block"].isna().to_numpy(dtype=bool) & ~updating
        before, behind = (
            outside & ops["op"].str.contains(scopes).to_numpy(dtype=bool)
            for scopes in (f"{EMBEDDINGS}/", f"{HEAD}/|{OUTSIDE}/")
        )
        inside = ~updating & ~before & ~behind
        before_s, inside_s, behind_s = (samples[:, rows].sum(axis=1) for rows in (before, inside, behind))
        share = passes_s / (before_s + inside_s + behind_s)
        return MicroStep(share * before_s, share * inside_s, share * behind_s, update_s)
