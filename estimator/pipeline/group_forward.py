"""The forward pass of devices that train together, as a validation runs it: that of one micro-batch, with messages."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from estimator.core.parallel import Split
from estimator.core.types import Estimate, Floats
from estimator.pipeline.alone import step_of_one
from estimator.pipeline.group_steps import message_times, ranks_of_kinds
from estimator.pipeline.micro_steps import MicroBatch
from estimator.pipeline.step import predict_step
from estimator.rollup.scaling import Group
from estimator.work.parallel import messages_among_parts, messages_as_work, passed_on


@dataclass(frozen=True)
class GroupForward:
    """One micro-batch through the whole model, with the messages among its parts, and to the next stage [s]."""

    micro_s: Floats
    pass_on_s: Floats


def forward_of_group(step: Estimate, group: Group, split: Split) -> GroupForward:
    """The forward pass of an estimated step of a group.

    It is replayed with the messages among parts: most wait for an op, and the next op for them, but keys and values go
    around while attention runs. Weights that copies of the model gather (zero3) are not counted. Raises EstimatorError
    where the profile has no forward pass.
    """
    predicted = predict_step(step.profile, replace(step.plan, mode="inference"))
    work, alone = predicted.work.work, step_of_one(predicted)
    inside, passed = messages_among_parts(work), passed_on(work, split)
    messages = pd.concat([inside, passed], ignore_index=True)
    if messages.empty:
        return GroupForward(alone.total, 0.0 * alone.total)
    times_s = message_times(predicted, messages_as_work(messages, ranks_of_kinds(predicted, group, split)))
    inside_s, passed_s = np.split(times_s, [len(inside)], axis=1)
    micro_s = MicroBatch(predicted, alone, split).laid_out(inside).total_s(inside_s)
    return GroupForward(micro_s, passed_s.sum(axis=1))
