"""Whether copies of a model that share the states of training in smaller groups would take a shorter step.

Where many share them, each gather of weights goes round all of these, and takes a latency of each hop.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pandas as pd

from estimator.core.notes import Note
from estimator.core.parallel import Split
from estimator.core.schema import COPIES
from estimator.pipeline.alone import Alone, EachAlone
from estimator.pipeline.group_steps import joined_devices, message_times, ranks_of_kinds, step_of_group, workload_of
from estimator.pipeline.predicted_step import PredictedStep
from estimator.rollup.scaling import Group, divisors
from estimator.work.parallel import exchange, messages_as_work

MUCH_EXPOSED = 0.1  # of a step: less is not worth another split
SHORTER = 0.95  # of a step: another split is named that takes at most so much
NODES = (1, 8, 64)  # that a tried group fills at most: it has the largest divisor of the copies that fits


def smaller_group_note(each_alone: EachAlone, group: Group, split: Split) -> Iterator[Note]:
    """A note on the split with the shortest step, where the messages of all that share the states are mostly latency.

    Steps are those at nominal inputs. None where the split is fastest as it is, or no smaller group has room.

    Raises EstimatorError as :meth:`EachAlone.of` and :func:`step_of_group` do.
    """
    if not split.divides_update or split.experts > 1 or split.context > 1 or group.copies <= 2:
        return
    known = each_alone.of(split, group.at_once)  # predicted already, while nominal steps cost a prediction
    sizes = _sizes(known, group, split)
    if not sizes or not _is_mostly_latency(known.predicted, group, split):
        return
    alone = each_alone.nominal.of(split, group.at_once)
    asked_s, exposed_s = _step_s(alone, group, split)
    if exposed_s < MUCH_EXPOSED * asked_s:
        return
    steps_s = {size: _step_s(alone, group, replace(split, shard=size))[0] for size in sizes}
    size = min(steps_s, key=lambda each: steps_s[each])
    if steps_s[size] < SHORTER * asked_s:
        yield _note(group, split, size, asked_s, steps_s[size])


def _note(group: Group, split: Split, size: int, asked_s: float, shorter_s: float) -> Note:
    text = (
        f"{split}: on {group.devices} devices {split.sharing(group.copies)} copies share the states, and the time of "
        f"their messages is mostly latency; with '{replace(split, shard=size)}' a step would be "
        f"{asked_s / shorter_s:.3g} times as fast"
    )
    return Note("states-shared-by-many", text, subject=str(split), share=1.0 - shorter_s / asked_s)


def _sizes(alone: Alone, group: Group, split: Split) -> list[int]:
    """Fewer copies than share the states now, each time the most that some nodes hold and that divide all copies.

    They have room for their larger share of the states.
    """
    of_node = joined_devices(alone.predicted, group)
    held = (of_node * nodes // group.model_devices for nodes in NODES)
    dividing = divisors(group.copies)
    sizes = {max((size for size in dividing if size <= most), default=1) for most in held}
    fewer = [size for size in sorted(sizes) if 1 < size < split.sharing(group.copies)]
    return [size for size in fewer if alone.has_room(replace(split, shard=size), group)]


def _step_s(alone: Alone, group: Group, split: Split) -> tuple[float, float]:
    """The step of a group, and what of it messages and waits for others add [s]."""
    step = step_of_group(alone.predicted, alone.device.step, group, split).step
    return float(step.total[0]), float(step.communication_exposed[0])


def _is_mostly_latency(predicted: PredictedStep, group: Group, split: Split) -> bool:
    """Whether twice the bytes would make the messages that share the states less than half as long again."""
    nominal = replace(predicted, plan=replace(predicted.plan, draws=0))
    shared, ranks = _shared_messages(predicted, group, split), ranks_of_kinds(predicted, group, split)
    once_s, twice_s = (
        message_times(nominal, messages_as_work(shared.assign(bytes=factor * shared["bytes"]), ranks)).sum()
        for factor in (1.0, 2.0)
    )
    return bool(twice_s < 1.5 * once_s)


def _shared_messages(predicted: PredictedStep, group: Group, split: Split) -> pd.DataFrame:
    """MESSAGES in which copies gather and reduce what they share."""
    sent = exchange(predicted.work.work, workload_of(predicted), split, group.copies).messages
    shares = sent["operator"].isin(["all_gather", "reduce_scatter"]) & sent["among"].isin([COPIES, "shards"])
    return sent[shares].reset_index(drop=True)
