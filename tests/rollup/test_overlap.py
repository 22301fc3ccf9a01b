"""By which share of its time each op lengthens a step that has no timeline."""

import dataclasses

import numpy as np
import pandas as pd
import pytest

from estimator.core.types import RunPlan
from estimator.pipeline.step import estimate
from estimator.profiles import canonical
from estimator.rollup.overlap import source_overlap, target_overlap
from tests.conftest import make_device, make_ops
from tests.rollup.toy_steps import OPS, predicted, profile


@pytest.mark.parametrize(("target", "shares"), [("v100", [1.0, 0.5]), ("epyc-7763", [0.5, 0.5])])
def test_ops_that_cores_ran_side_by_side_run_serially_on_other_devices(target: str, shares: list[float]) -> None:
    """But for those that go by their time on the source, where each had a share of the rates."""
    rows = ({"op_type": kind, "placement": "/host:CPU", "m": 512, "n": 512, "k": 512} for kind in ("MatMul", "Mystery"))
    ran = dataclasses.replace(profile(), ops=canonical.to_ops(make_ops(*rows), "toy"), busy_step_s=1e-3)
    estimated = estimate(ran, RunPlan(target, draws=0))
    assert estimated.overlap.tolist() == pytest.approx(shares)
    assert estimated.step.total[0] == pytest.approx(estimated.overlap @ estimated.prediction.samples[0])


def test_an_op_that_others_ran_beside_lengthens_the_step_by_its_share() -> None:
    alone, beside = {"op_type": "Mystery", "time_s": 0.2, "shared_s": 0.2}, {"op_type": "Mystery", "time_s": 0.4}
    rows = (alone, {**beside, "shared_s": 0.2}, {**beside, "shared_s": 0.2})
    ran = dataclasses.replace(profile(), ops=canonical.to_ops(make_ops(*rows), "toy"), busy_step_s=0.6)
    assert source_overlap(ran.ops, ran).tolist() == pytest.approx([1.0, 0.5, 0.5])
    scaled = dataclasses.replace(ran, busy_step_s=0.3)  # the shares are of the busy time
    assert source_overlap(scaled.ops, scaled).tolist() == pytest.approx([0.5, 0.25, 0.25])
    waited = dataclasses.replace(ran, busy_step_s=0.9)  # no op lengthens the step by more than its time
    assert source_overlap(waited.ops, waited).tolist() == pytest.approx([1.0, 0.875, 0.875])
    assert source_overlap(waited.ops, waited) @ waited.ops["time_s"] == pytest.approx(0.9)
    nothing = dataclasses.replace(ran, ops=ran.ops.assign(shared_s=0.0))
    assert source_overlap(nothing.ops, nothing).tolist() == pytest.approx([0.6] * 3)
    more = canonical.to_ops(make_ops(*rows, {"op_type": "Cast", "time_s": 0.0}), "toy")
    assert source_overlap(more, ran)[-1] == pytest.approx(1.0)  # what did not run on the source
    assert source_overlap(more, scaled)[-1] == pytest.approx(0.5)  # of steps that the profiler did not slow down
    without_shares = dataclasses.replace(ran, ops=ran.ops.assign(shared_s=np.nan))
    assert source_overlap(without_shares.ops, without_shares).tolist() == pytest.approx([0.6] * 3)
    assert estimate(ran, RunPlan("v100", draws=0)).step.total[0] == pytest.approx(0.6)


def test_ops_that_overlap_take_no_less_than_peak_and_bandwidth_allow() -> None:
    ran = dataclasses.replace(profile(), ops=predicted().ops, busy_step_s=5.0)  # half of the sum, 10
    device = make_device(compute_unit="core")
    whole = float(predicted().samples[0].sum())
    assert target_overlap(predicted(), ran, device, False).tolist() == pytest.approx([0.5] * len(OPS))
    bound = dataclasses.replace(predicted(), floor_s=np.full(len(OPS), 0.8 * whole / len(OPS)))
    share = target_overlap(bound, ran, device, False)
    assert share @ bound.samples[0] == pytest.approx(0.8 * whole)
    assert target_overlap(bound, ran, device, True).tolist() == pytest.approx([0.5] * len(OPS))


def test_what_cores_ran_side_by_side_and_is_predicted_runs_in_turn_elsewhere() -> None:
    ran = dataclasses.replace(profile(), ops=predicted().ops, busy_step_s=5.0)
    share = target_overlap(predicted(), ran, make_device(), False)
    in_turn = [1.0 if i % 2 == 0 and op[2] != "unchanged" else 0.5 for i, op in enumerate(OPS)]
    assert share.tolist() == pytest.approx(in_turn)


def test_what_ran_on_an_unknown_processor_overlaps_as_it_did() -> None:
    """So does what no device could run faster: no op lengthens a step by more than its time."""
    ran, device = dataclasses.replace(profile(), ops=predicted().ops, busy_step_s=5.0), make_device()
    untold = dataclasses.replace(
        predicted(), ops=predicted().ops.assign(placement=pd.array([None] * 10, dtype="string"))
    )
    assert target_overlap(untold, ran, device, False).tolist() == pytest.approx([0.5] * len(OPS))
    whole = dataclasses.replace(ran, busy_step_s=None)
    longer = dataclasses.replace(untold, floor_s=2 * untold.samples[0])
    assert target_overlap(longer, whole, device, False).tolist() == [1.0] * len(OPS)


def test_an_op_that_took_no_time_overlapped_like_all_others() -> None:
    rows = ({"op_type": "Mystery", "time_s": time, "shared_s": time} for time in (0.0, 1.0))
    ran = dataclasses.replace(profile(), ops=canonical.to_ops(make_ops(*rows), "toy"))
    assert source_overlap(ran.ops, ran).tolist() == [1.0, 1.0]


def test_no_op_lengthens_a_step_by_more_than_its_time() -> None:
    ran = dataclasses.replace(profile(), ops=predicted().ops, busy_step_s=5.0)
    longer = dataclasses.replace(predicted(), floor_s=2 * predicted().samples[0])
    assert target_overlap(longer, ran, make_device(), False).tolist() == [1.0] * len(OPS)
