"""WORK × source × target → PREDICTION: the time of each op on a device that nobody can touch yet."""

from estimator.model.assumptions import assumptions, specifications
from estimator.model.ladder import SourceRun, TargetDevice
from estimator.model.prediction import predict

__all__ = ["SourceRun", "TargetDevice", "assumptions", "predict", "specifications"]
