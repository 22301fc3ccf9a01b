"""The step of a group from that of one micro-batch: several in a row, or through the stages of a pipeline."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from estimator.core.parallel import Split
from estimator.core.types import Flags, Floats, StepTime
from estimator.pipeline.step import PredictedStep
from estimator.rollup.exchange import Exchange, without_exchange
from estimator.rollup.pipeline_parallel import MicroStep, accumulated, exposed_reduction, pipelined
from estimator.rollup.scaling import Group
from estimator.work.weights import updates

AHEAD = "embeddings/"  # how the names of ops that stand before the blocks begin


def update_time(predicted: PredictedStep, one: StepTime) -> Floats:
    """The update of all weights [s], of which a step has one, however many micro-batches it has."""
    updating = updates(predicted.work.work).to_numpy(dtype=bool)
    return np.asarray(np.minimum(predicted.prediction.samples[:, updating].sum(axis=1), one.total))


def own_step(one: StepTime, update_s: Floats, group: Group, split: Split) -> StepTime:
    """What one device of a group computes in a step, without messages and without waiting for others."""
    count, stages = group.micro_batches, split.pipeline
    if count == stages == 1:
        return one
    longer = accumulated(one.total - update_s, update_s, count) / stages / one.total
    return StepTime(**{name: part * longer for name, part in vars(one).items()})


@dataclass(frozen=True)
class MicroBatches:
    """One micro-batch on one device of a group, with messages, and how the group repeats it."""

    predicted: PredictedStep
    update_s: Floats
    together: Exchange
    split: Split

    def total_s(self, group: Group, own_s: Floats, data: Flags, pass_on_s: Floats) -> Floats:
        """The step with all messages [s].

        Args:
            group: the devices.
            own_s: the time of each message (draws × messages) [s].
            data: which messages pass among copies of the model.
            pass_on_s: the time to send the results of a micro-batch to the next stage [s].
        """
        count, update_s = group.micro_batches, self.update_s
        passes_s = self.together.total_s(own_s * ~data) - update_s
        if self.split.pipeline > 1:
            reduced_s = own_s[:, data].sum(axis=1) / self.split.pipeline
            of_stage_s = passes_s / self.split.pipeline
            exposed_s = exposed_reduction(reduced_s, of_stage_s, int(data.sum()))
            return pipelined(self._parts(passes_s), self.split.pipeline, count, pass_on_s) + exposed_s
        whole_s = self.together.total_s(own_s)
        if self.split.data == "zero3":  # weights are gathered for each micro-batch
            return accumulated(whole_s - update_s, update_s, count)
        return whole_s + (count - 1) * passes_s

    def communication_s(self, group: Group, own_s: Floats, data: Flags, pass_on_s: Floats) -> Floats:
        """The time of all messages that one device sends in a step [s]; as :meth:`total_s`."""
        count, stages = group.micro_batches, self.split.pipeline
        among_copies_s, inside_s = own_s[:, data].sum(axis=1), own_s[:, ~data].sum(axis=1)
        often = count if self.split.data == "zero3" else 1
        return np.asarray((often * among_copies_s + count * inside_s) / stages + 2.0 * count * pass_on_s)

    def _parts(self, passes_s: Floats) -> MicroStep:
        """Both passes by where they stand, as their ops' times."""
        ops, samples = self.predicted.work.work, without_exchange(self.predicted.prediction).samples
        updating, inside = updates(ops).to_numpy(dtype=bool), ops["block"].notna().to_numpy(dtype=bool)
        before = ~inside & ops["op"].str.startswith(AHEAD).to_numpy(dtype=bool)
        before_s, inside_s, behind_s = (
            samples[:, rows & ~updating].sum(axis=1) for rows in (before, inside, ~inside & ~before)
        )
        share = passes_s / (before_s + inside_s + behind_s)
        return MicroStep(share * before_s, share * inside_s, share * behind_s, self.update_s)
