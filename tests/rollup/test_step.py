import dataclasses

import numpy as np
import pytest

from estimator.core.interval import Z, bounds
from estimator.core.types import Profile, RunPlan, Workload
from estimator.pipeline import estimate
from estimator.profiles import canonical
from estimator.rollup import step
from estimator.rollup.target_timeline import ON_DEVICE
from tests.conftest import make_ops


def profile(**known: float) -> Profile:
    ops = canonical.to_ops(
        make_ops({"op_type": "Mystery", "time_s": 0.6}, {"op_type": "Mystery", "time_s": 0.4}), "toy"
    )
    return dataclasses.replace(Profile(ops, Workload(name="toy"), None, "toy"), **known)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("times", "overlap", "idle", "coverage", "total"),
    [
        ({}, 1.0, 0.0, None, 1.0),
        ({"wall_step_s": 1.25}, 1.0, 0.25, 0.8, 1.25),
        ({"wall_step_s": 1.0, "busy_step_s": 0.5}, 0.5, 0.5, 0.5, 1.0),
        ({"wall_step_s": 0.5}, 0.5, 0.0, 1.0, 0.5),  # ops ran at once: their sum is above the wall time
        ({"busy_step_s": 0.7}, 0.7, 0.0, None, 0.7),
    ],
)
def test_overlap_idle_time_coverage_and_step_time(
    times: dict[str, float], overlap: float, idle: float, coverage: float | None, total: float
) -> None:
    toy_profile = profile(**times)
    assert step.overlap_factor(toy_profile) == pytest.approx(overlap)
    assert step.idle_time(toy_profile) == pytest.approx(idle)
    assert step.coverage(toy_profile) == (None if coverage is None else pytest.approx(coverage))
    assert step.source_step_time(toy_profile) == pytest.approx(total)


def test_overlap_and_idle_time_carry_over_to_the_target() -> None:
    estimated = estimate(profile(wall_step_s=1.0, busy_step_s=0.5), RunPlan("k20x", draws=3))
    assert estimated.step.unmodelled[0] == pytest.approx(0.5)
    assert estimated.step.host[0] == pytest.approx(0.5)
    assert estimated.step.total[0] == pytest.approx(estimated.source_step_s)


def test_evidence_shares_include_idle_time() -> None:
    product = canonical.to_ops(make_ops({"op_type": "MatMul", "m": 4096, "n": 4096, "k": 4096, "time_s": 0.1}), "toy")
    waited = dataclasses.replace(profile(wall_step_s=0.3), ops=product)
    estimated = estimate(waited, RunPlan("v100", draws=3))
    idle = 0.2 / estimated.step.total[0]
    assert estimated.evidence == pytest.approx({"unchanged": idle, "interpolated": 1 - idle})
    assert "most of the step on v100-sxm2-16gb" in str(estimated.warnings)
    busy = estimate(dataclasses.replace(waited, wall_step_s=0.1), RunPlan("v100", draws=3))
    assert sum(busy.evidence.values()) == pytest.approx(1)
    assert "unchanged" not in busy.evidence
    same_device = estimate(dataclasses.replace(waited, device="v100"), RunPlan("v100", precision="fp16", draws=3))
    assert same_device.evidence["unchanged"] > 0.5
    assert not any("source's own time" in warning for result in (busy, same_device) for warning in result.warnings)


@pytest.mark.parametrize(
    ("target", "shares", "on_device"), [("v100", [1.0, 1.0], ON_DEVICE), ("epyc-7763", [0.5, 0.5], 1.0)]
)
def test_ops_that_cores_ran_side_by_side_run_serially_on_other_devices(
    target: str, shares: list[float], on_device: float
) -> None:
    rows = ({"op_type": kind, "placement": "/host:CPU", "m": 512, "n": 512, "k": 512} for kind in ("MatMul", "Mystery"))
    ran = dataclasses.replace(profile(), ops=canonical.to_ops(make_ops(*rows), "toy"), busy_step_s=1e-3)
    estimated = estimate(ran, RunPlan(target, draws=0))
    assert estimated.overlap.tolist() == pytest.approx(shares)
    own = estimated.prediction.samples[0] - (1.0 - on_device) * estimated.prediction.launch[0]
    assert estimated.step.total[0] == pytest.approx(estimated.overlap @ own)


def test_on_its_own_device_a_step_varies_as_the_profiled_steps() -> None:
    ran = dataclasses.replace(profile(wall_step_s=1.25), device="v100", step_spread=0.1)
    low, mid, high = bounds(estimate(ran, RunPlan("v100", draws=4000)).step.total)
    assert mid == 1.25
    assert [low / mid, high / mid] == pytest.approx([np.exp(-0.1 * Z), np.exp(0.1 * Z)], rel=0.02)


def test_an_op_that_others_ran_beside_lengthens_the_step_by_its_share() -> None:
    alone, beside = {"op_type": "Mystery", "time_s": 0.2, "shared_s": 0.2}, {"op_type": "Mystery", "time_s": 0.4}
    rows = (alone, {**beside, "shared_s": 0.2}, {**beside, "shared_s": 0.2})
    ran = dataclasses.replace(profile(), ops=canonical.to_ops(make_ops(*rows), "toy"), busy_step_s=0.6)
    assert step.source_overlap(ran.ops, ran).tolist() == pytest.approx([1.0, 0.5, 0.5])
    scaled = dataclasses.replace(ran, busy_step_s=0.3)  # the shares are of the busy time
    assert step.source_overlap(scaled.ops, scaled).tolist() == pytest.approx([0.5, 0.25, 0.25])
    waited = dataclasses.replace(ran, busy_step_s=0.9)  # no op lengthens the step by more than its time
    assert step.source_overlap(waited.ops, waited).tolist() == pytest.approx([1.0, 0.875, 0.875])
    assert step.source_overlap(waited.ops, waited) @ waited.ops["time_s"] == pytest.approx(0.9)
    nothing = dataclasses.replace(ran, ops=ran.ops.assign(shared_s=0.0))
    assert step.source_overlap(nothing.ops, nothing).tolist() == pytest.approx([0.6] * 3)
    more = canonical.to_ops(make_ops(*rows, {"op_type": "Cast", "time_s": 0.0}), "toy")
    assert step.source_overlap(more, ran)[-1] == pytest.approx(1.0)  # what did not run on the source
    assert step.source_overlap(more, scaled)[-1] == pytest.approx(0.5)  # of steps that the profiler did not slow down
    without_shares = dataclasses.replace(ran, ops=ran.ops.assign(shared_s=np.nan))
    assert step.source_overlap(without_shares.ops, without_shares).tolist() == pytest.approx([0.6] * 3)
    assert estimate(ran, RunPlan("v100", draws=0)).step.total[0] == pytest.approx(0.6)
