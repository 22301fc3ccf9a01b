"""The step of a group from that of one micro-batch: several in a row, or through the stages of a pipeline."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd

from estimator.core.parallel import EXPERTS_LOAD, Split
from estimator.core.schema import among_copies
from estimator.core.types import Flags, Floats, StepTime
from estimator.pipeline.step import PredictedStep
from estimator.profiles.layers.blocks import EMBEDDINGS
from estimator.profiles.layers.shards import experts_share
from estimator.rollup.exchange import StepWithMessages, without_exchange
from estimator.rollup.pipeline_parallel import MicroStep, accumulated, exposed_reduction, pipelined
from estimator.rollup.scaling import Group
from estimator.work.shapes import has_attribute
from estimator.work.weights import updates


def update_time(predicted: PredictedStep, one: StepTime) -> Floats:
    """The update of all weights [s], of which a step has one, however many micro-batches it has."""
    updating = updates(predicted.work.work).to_numpy(dtype=bool)
    return np.asarray(np.minimum(predicted.prediction.samples[:, updating].sum(axis=1), one.total))


def share_of_update(update_s: Floats, group: Group, split: Split, of_experts: float) -> Floats:
    """The update of what one copy of the model updates [s]; ``of_experts``: share of its parameters."""
    return update_s / split.owners(group.copies, of_experts) if split.divides_update else update_s


def own_step(one: StepTime, update_s: Floats, group: Group, split: Split, of_experts: float) -> StepTime:
    """What one device of a group computes in a step, without messages and without waiting for others."""
    own_update_s = share_of_update(update_s, group, split, of_experts)
    whole_s = accumulated(one.total - update_s, own_update_s, group.micro_batches) / split.pipeline
    return one.to(whole_s)


@dataclass(frozen=True)
class MicroBatches:
    """One micro-batch on one device of a group, with MESSAGES among copies and parts, and how the group repeats it."""

    predicted: PredictedStep
    update_s: Floats
    together: StepWithMessages
    messages: pd.DataFrame
    split: Split
    load: Floats  # tokens of the busiest part of the experts over the mean

    def with_load(self, times_s: Floats) -> Floats:
        """The times of messages (draws × messages), those to experts with as many tokens as the busiest get [s]."""
        to_experts = np.asarray(self.messages["among"] == "experts", dtype=bool)
        return np.where(to_experts, self.load[:, None] * times_s, times_s)

    @cached_property
    def _waiting_s(self) -> Floats:
        """How much longer the busiest part of the experts computes for one micro-batch than the mean [s]."""
        ops = self.predicted.work.work
        of_experts = has_attribute(ops, EXPERTS_LOAD)
        return np.asarray((self.load - 1.0) * self.predicted.prediction.samples[:, of_experts].sum(axis=1))

    @cached_property
    def _of_experts(self) -> float:
        """The share of a copy's parameters that are those of its experts."""
        return experts_share(self.predicted.profile, self.split)

    @property
    def among_copies(self) -> Flags:
        """Which messages pass among copies of the model."""
        return among_copies(self.messages)

    def total_s(self, group: Group, times_s: Floats, pass_on_s: Floats) -> Floats:
        """The step with all messages [s].

        Args:
            group: the devices.
            times_s: the time of each message (draws × messages) [s].
            pass_on_s: the time to send the results of a micro-batch to the next stage [s].
        """
        count = group.micro_batches
        update_s = share_of_update(self.update_s, group, self.split, self._of_experts)
        if self.split.pipeline > 1:
            passes_s = self._passes_s(times_s * ~self.among_copies)
            parts = self._parts(passes_s, update_s)
            stages, runs = self.split.pipeline, self.split.interleave
            return pipelined(parts, stages, count, pass_on_s, runs) + self._exposed(passes_s, times_s)
        last_s = self._passes_s(times_s)
        if count == 1 or self.split.gathers_weights:  # for each micro-batch
            return accumulated(last_s, update_s, count)
        return (count - 1) * self._passes_s(times_s * ~self.among_copies) + last_s + update_s

    def _passes_s(self, times_s: Floats) -> Floats:
        """Both passes of one micro-batch with messages that take these times [s]; each call replays the step."""
        return self.together.total_s(times_s) - self.update_s + self._waiting_s

    def _exposed(self, passes_s: Floats, times_s: Floats) -> Floats:
        """What messages among the copies of a stage add [s]; gathered weights follow the update, and are not hidden."""
        stages, gathers = self.split.pipeline, np.asarray(self.messages["holds"] == "weights", dtype=bool)
        reduces = self.among_copies & ~gathers
        reduced_s, gathered_s = (times_s[:, some].sum(axis=1) / stages for some in (reduces, gathers))
        return np.asarray(exposed_reduction(reduced_s, passes_s / stages, int(reduces.sum())) + gathered_s)

    def coded_s(self, group: Group, times_s: Floats) -> Floats:
        """What compression of gradients takes of one device in a step [s], by the times of its ops in one exchange."""
        if group.copies == 1:
            return 0.0 * self.update_s
        often = group.micro_batches if self.split.gathers_weights else 1
        return np.asarray(often * times_s.sum(axis=1) / self.split.pipeline)

    def communication_s(self, group: Group, times_s: Floats, pass_on_s: Floats) -> Floats:
        """The time of all messages that one device sends in a step [s]; as :meth:`total_s`."""
        count, stages, data = group.micro_batches, self.split.pipeline, self.among_copies
        among_copies_s, inside_s = times_s[:, data].sum(axis=1), times_s[:, ~data].sum(axis=1)
        often = count if self.split.gathers_weights else 1
        sent = 2.0 * count * self.split.interleave if stages > 1 else 0.0
        return np.asarray((often * among_copies_s + count * inside_s) / stages + sent * pass_on_s)

    def _parts(self, passes_s: Floats, update_s: Floats) -> MicroStep:
        """Both passes by where they stand, as their ops' times."""
        ops, samples = self.predicted.work.work, without_exchange(self.predicted.prediction).samples
        updating = updates(ops).to_numpy(dtype=bool)
        inside = ops["block"].notna().to_numpy(dtype=bool) & ~updating
        before = ops["op"].str.contains(f"{EMBEDDINGS}/", regex=False).to_numpy(dtype=bool) & ~inside & ~updating
        behind = ~updating & ~inside & ~before
        before_s, inside_s, behind_s = (samples[:, rows].sum(axis=1) for rows in (before, inside, behind))
        share = passes_s / (before_s + inside_s + behind_s)
        return MicroStep(share * before_s, share * inside_s, share * behind_s, update_s)
