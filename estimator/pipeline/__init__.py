"""The recipes, each of which reads like the method section of a paper: a step, its memory, many devices.

They alone know the order of the stages.
"""

from estimator.pipeline.group import step_of_group, step_of_one
from estimator.pipeline.memory import memory
from estimator.pipeline.step import PredictedStep, estimate, predict_step

__all__ = ["PredictedStep", "estimate", "memory", "predict_step", "step_of_group", "step_of_one"]
