"""Toy steps: a profile of two ops that no reader knows, and ten predicted ops of every kind."""

import dataclasses

import numpy as np
import pandas as pd

from estimator.core.types import Prediction, Profile, Workload
from estimator.profiles import canonical
from estimator.rollup.host import HostScenario
from estimator.rollup.step import ReplayedStep, replay_step
from estimator.rollup.target_timeline import in_turn
from tests.conftest import make_ops


def profile(**known: float) -> Profile:
    ops = canonical.to_ops(
        make_ops({"op_type": "Mystery", "time_s": 0.6}, {"op_type": "Mystery", "time_s": 0.4}), "toy"
    )
    return dataclasses.replace(Profile(ops, Workload(name="toy"), None, "toy"), **known)  # type: ignore[arg-type]


OPS = [  # class, bound, method, time, launch, and the part of the step that it belongs to
    ("gemm", "compute", "roofline", 8.0, 1.0, "compute"),
    ("gemm", "memory", "roofline", 7.0, 1.0, "memory"),
    ("gemm", "latency", "roofline", 6.0, 2.0, "compute"),
    ("elementwise", "latency", "roofline", 5.0, 2.0, "memory"),
    ("elementwise", "memory", "unchanged", 4.0, 0.0, "unmodelled"),
    ("collective", None, "unchanged", 3.0, 0.0, "communication_exposed"),
    ("host", None, "unchanged", 2.0, 0.0, "host"),
    ("input", None, "unchanged", 1.0, 0.0, "input"),
    ("unmodelled", None, "unchanged", 0.5, 0.0, "unmodelled"),
    ("convolution", None, "measured", 9.0, 0.0, "compute"),
]


def predicted() -> Prediction:
    ops = pd.DataFrame([op[:3] for op in OPS], columns=["op_class", "bound", "method"], dtype="string[python]")
    numbers = np.array([op[3:5] for op in OPS])
    samples, launch = (np.vstack([column, 2 * column]) for column in numbers.T)
    ops = ops.assign(placement=["/host:CPU:0", "gpu"] * 5, time_s=1.0, shared_s=np.nan)
    return Prediction(ops, samples, launch, np.zeros(len(OPS)), np.zeros(len(OPS)), np.array([1.0, 3.0]), 1.0, {})


def replayed(share: float, idle_s: float) -> ReplayedStep:
    """The ops in turn, each for a share of its time."""
    prediction = predicted()
    timeline = in_turn(prediction.samples[0], np.full(len(OPS), share), idle_s)
    return replay_step(prediction, timeline, HostScenario("profile", prediction.run))
