"""The recipes, each of which reads like the method section of a paper: a step, its memory, many devices.

They alone know the order of the stages.
"""

from estimator.pipeline.group import (
    OneDevice,
    assumed_links,
    estimate_group,
    one_device,
    step_of_group,
    step_of_one,
    steps_of_groups,
)
from estimator.pipeline.listed_power import with_listed_power
from estimator.pipeline.memory import memory, memory_of_group
from estimator.pipeline.step import PredictedStep, estimate, predict_step, step_schedule

__all__ = [
    "OneDevice",
    "PredictedStep",
    "assumed_links",
    "estimate",
    "estimate_group",
    "memory",
    "memory_of_group",
    "one_device",
    "predict_step",
    "step_of_group",
    "step_of_one",
    "step_schedule",
    "steps_of_groups",
    "with_listed_power",
]
