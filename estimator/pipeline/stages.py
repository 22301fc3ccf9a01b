"""The stages of a pipeline, as the parts of a profile that one device runs each, and its share of what it holds."""

from __future__ import annotations

from estimator.core.parallel import DeviceShare, Split
from estimator.core.types import Profile
from estimator.pipeline.memory import Part
from estimator.profiles.layers.shards import divided, experts_share
from estimator.rollup.scaling import Group


def parts_of(part: Profile, split: Split, group: Group) -> list[Part]:
    """The parts of a step of which each device runs one, and its share; ``part``: as of :func:`divided`."""
    return list(zip(stages_of(part, split), shares_of(part, split, group), strict=True))


def stages_of(part: Profile, split: Split) -> list[Profile]:
    """The ends of a pipeline; the part itself where there is none."""
    return [part if end is None else divided(part, split, end) for end in split.ends]


def shares_of(part: Profile, split: Split, group: Group) -> list[DeviceShare]:
    """What a device of each of :func:`stages_of` holds."""
    return [split.share(group.devices, group.micro_batches, experts_share(part, split, end), end) for end in split.ends]
