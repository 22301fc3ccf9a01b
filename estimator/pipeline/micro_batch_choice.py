"""How many samples the stages of a pipeline compute at once, where a split leaves that open."""

from __future__ import annotations

from functools import cache, partial

from estimator.core.parallel import Split
from estimator.pipeline.alone import EachAlone
from estimator.pipeline.group_steps import step_of_group
from estimator.profiles.layers.shards import stated_micro_batch
from estimator.rollup.micro_batches import with_micro_batch
from estimator.rollup.scaling import Group
from estimator.work.rebatch import TooLargeError


def chosen_micro_batch(each_alone: EachAlone, group: Group, split: Split) -> Group:
    """A group whose stages compute as many samples at once as the layers state, or as is fastest, and fits, where the
    split leaves that open. Steps are timed with all their messages, at nominal inputs.

    Raises EstimatorError as :meth:`EachAlone.of`, :func:`predict_step` and :func:`step_of_group` do.
    """
    nominal, stated = each_alone.nominal, stated_micro_batch(each_alone.profile)
    step_s = cache(partial(_step_s, nominal, split))
    return with_micro_batch(group, split, partial(_fits, nominal, split), step_s, stated)


def _fits(each_alone: EachAlone, split: Split, group: Group) -> bool:
    """Whether a device of a group has room for its share; True where nothing tells, False where it is beyond count."""
    try:
        return each_alone.of(split, group.at_once).has_room(split, group)
    except TooLargeError:
        return False


def _step_s(each_alone: EachAlone, split: Split, group: Group) -> float:
    """The step of a group [s]; the fewer samples at once, the less, where no target is known that could be timed."""
    if not each_alone.is_predictable:
        return float(group.at_once or 1)
    alone = each_alone.of(split, group.at_once)
    return float(step_of_group(alone.predicted, alone.device.step, group, split).step.total[0])
