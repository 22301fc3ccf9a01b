"""WORK × source × target → PREDICTION: predict the time of each op on the target."""

from estimator.model.assumptions import assumptions, specifications
from estimator.model.ladder import SourceRun, TargetDevice, refuse_unsupported
from estimator.model.peak_times import peak_times
from estimator.model.prediction import predict

__all__ = ["SourceRun", "TargetDevice", "assumptions", "peak_times", "predict", "refuse_unsupported", "specifications"]
