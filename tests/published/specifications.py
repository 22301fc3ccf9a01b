"""What is predicted of published layers from a shipped device file alone, without its measurements."""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from estimator.core import physics
from estimator.core.schema import MEASUREMENTS
from estimator.core.types import Floats, RunPlan, Workload
from estimator.devices import load_device
from estimator.model import SourceRun, TargetDevice, predict
from estimator.work import count_work
from tests.conftest import make_ops

NONE = MEASUREMENTS.conform(pd.DataFrame(columns=["op_class", "precision", "time_s"]), "no measurements")
Ops = Sequence[Mapping[str, object]]


def counted(ops: Ops) -> pd.DataFrame:
    """WORK of fp32 ops."""
    return count_work(make_ops(*ops), Workload(name="published", precision="fp32")).work


def predicted(device: str, ops: Ops) -> pd.DataFrame:
    """PREDICTION of the ops, at nominal specifications."""
    target = TargetDevice(load_device(device), NONE)
    return predict(counted(ops), SourceRun(), target, RunPlan(device, draws=0)).ops


def limits(device: str, ops: Ops) -> tuple[Floats, Floats]:
    """What peak, and what bandwidth allow at best [s], op by op."""
    work, spec = counted(ops), load_device(device)
    peak, bandwidth = spec.peak["fp32"].vector, spec.memory_bandwidth
    assert peak
    assert bandwidth
    flop, bytes_ = (work[name].to_numpy(dtype=float) for name in ("flop", "bytes"))
    return physics.ideal_time(flop, 0.0, peak.value, 1.0), physics.ideal_time(0.0, bytes_, 1.0, bandwidth.value)


def miss(actual: Floats, published: Floats) -> Floats:
    """The factor between them, whichever is more."""
    return np.asarray(np.exp(np.abs(np.log(actual / published))))
