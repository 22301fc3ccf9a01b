"""Samples of the time of each op: what is drawn, and what is not."""

from dataclasses import replace

import numpy as np
import pytest

from estimator.core.types import Floats, RunPlan, Workload
from estimator.model import SourceRun, TargetDevice
from estimator.model.ladder import estimate_op_times
from estimator.model.measured_times import USUAL_STD
from estimator.model.sampling import sampler
from estimator.work import count_work
from tests.conftest import make_device, make_ops
from tests.model.toy import ROW, SHAPE, table

PLAN = RunPlan("toy", draws=200)
WORK = count_work(
    make_ops(
        {"op_type": "MatMul", **SHAPE},
        {"op_type": "MatMul", "m": 64, "n": 64, "k": 64},
        {"op_type": "Const", "time_s": 1e-3},
        {"op_type": "Mystery", "time_s": 1e-3},
        {"op_type": "Mystery", "time_s": 2e-3},
        {"op_type": "Relu", "time_s": 2e-3},
    ),
    Workload(name="toy"),
).work


def samples(step_spread: float = 0.0, plan: RunPlan = PLAN) -> tuple[Floats, Floats]:
    """Samples of a measured op, a modelled one, host work and three ops without shapes: times, and launches."""
    target = TargetDevice(make_device(), table(ROW))
    source = make_device(name="source", memory_bandwidth="100 GB/s")
    times = estimate_op_times(WORK, SourceRun(source, step_spread=step_spread), target)
    return sampler(WORK, times, target.device, plan)(slice(None))


def test_a_carried_time_is_no_draw_and_a_measured_one_without_ends_spreads_as_usual() -> None:
    time, launch = samples()
    assert np.ptp(time[:, 2]) == 0
    assert np.log(time[1:, 0]).std() == pytest.approx(USUAL_STD, rel=0.3)
    assert np.log(time[1:, 1]).std() > USUAL_STD
    assert (launch[:, [0, 2]] == 0).all()
    assert (launch[:, 1] > 0).all()


def test_a_carried_time_moves_with_the_sources_run() -> None:
    time, _ = samples(step_spread=0.1)
    assert np.log(time[1:, 2] / time[0, 2]).std() == pytest.approx(0.1, rel=0.2)


def test_ops_that_one_rate_binds_are_wrong_together() -> None:
    logs = np.log(samples()[0][1:, 3:])
    together, apart = np.corrcoef(logs.T)[0, 1:]
    assert together == pytest.approx(1.0)
    assert abs(apart) < 0.3


def test_some_ops_have_the_samples_that_they_have_among_all() -> None:
    target = TargetDevice(make_device(), table(ROW))
    draw = sampler(WORK, estimate_op_times(WORK, SourceRun(), target), target.device, PLAN)
    assert np.allclose(draw(slice(1, 6))[0], draw(slice(None))[0][:, 1:], rtol=1e-12)


def test_entry_0_is_the_time_at_nominal_inputs() -> None:
    assert samples()[0][0] == pytest.approx(samples(plan=RunPlan("toy", draws=0))[0][0])


def test_without_a_bandwidth_nothing_bounds_a_modelled_time() -> None:
    """Measured ops give the time of others on a device whose bandwidth is unknown."""
    target = TargetDevice(make_device(), table(ROW))
    times = estimate_op_times(WORK, SourceRun(), target)
    unbound = replace(times.kernels, lower_bound_s=np.full(len(WORK), np.nan))
    actual = sampler(WORK, replace(times, kernels=unbound), target.device, PLAN)(slice(None))[0]
    assert np.isfinite(actual).all()
