import dataclasses

import numpy as np
import pandas as pd
import pytest

from estimator.core.interval import Z, bounds
from estimator.core.notes import Note
from estimator.core.types import Prediction, Profile, RunPlan, Workload
from estimator.pipeline import estimate
from estimator.profiles import canonical
from estimator.rollup import step
from estimator.rollup.host import HostScenario
from estimator.rollup.target_timeline import in_turn
from tests.conftest import make_device, make_ops


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
        ({"busy_step_s": 1.5, "wall_step_s": 2.0}, 1.0, 1.0, 0.5, 2.0),  # no longer busy than its ops took
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


@pytest.mark.parametrize(("target", "shares"), [("v100", [1.0, 0.5]), ("epyc-7763", [0.5, 0.5])])
def test_ops_that_cores_ran_side_by_side_run_serially_on_other_devices(target: str, shares: list[float]) -> None:
    """But for those that go by their time on the source, where each had a share of the rates."""
    rows = ({"op_type": kind, "placement": "/host:CPU", "m": 512, "n": 512, "k": 512} for kind in ("MatMul", "Mystery"))
    ran = dataclasses.replace(profile(), ops=canonical.to_ops(make_ops(*rows), "toy"), busy_step_s=1e-3)
    estimated = estimate(ran, RunPlan(target, draws=0))
    assert estimated.overlap.tolist() == pytest.approx(shares)
    assert estimated.step.total[0] == pytest.approx(estimated.overlap @ estimated.prediction.samples[0])


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


def test_what_is_known_of_the_sources_step() -> None:
    waited, work = (
        profile(wall_step_s=1.25, busy_step_s=0.5),
        pd.DataFrame({"op_class": ["input", "gemm", "input"], "time_s": [0.1, 0.2, 0.3]}),
    )
    known = {"overlap": 0.5, "coverage": 0.4, "idle_s": 0.75, "input_s": 0.4}
    assert step.source_step(waited, work) == pytest.approx(known)
    assert step.source_step(profile(), work) == {"overlap": 1, "coverage": None, "idle_s": None, "input_s": 0.4}


def test_a_step_that_ops_explain_little_of_is_told() -> None:
    (note,) = step.notes(profile(wall_step_s=2.0))
    text = "toy: ops account for 50 % of the step (wall 2 s, ops 1 s), the rest is carried"
    assert note == Note("step-coverage-low", text, subject="toy", share=0.5)
    assert step.notes(profile(wall_step_s=1.25)) == ()  # 80 % are enough
    assert step.notes(profile()) == ()


def test_a_step_that_is_mostly_carried_is_told() -> None:
    target = make_device(name="new")
    (note,) = step.mostly_carried({"unchanged": 0.6, "roofline": 0.4}, target)
    text = (
        "most of the step on new is the source's own time, carried over unchanged (host, input and idle time): it "
        "tells more of the source than of the target"
    )
    assert note == Note("carried-mostly", text, subject="new", share=0.6)
    assert step.mostly_carried({"unchanged": 0.5}, target) == ()
    assert step.mostly_carried({"roofline": 1.0}, target) == ()


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


def replayed(share: float, idle_s: float) -> step.ReplayedStep:
    """The ops in turn, each for a share of its time."""
    prediction = predicted()
    timeline = in_turn(prediction.samples[0], np.full(len(OPS), share), idle_s)
    return step.replay_step(prediction, timeline, HostScenario("profile", prediction.run))


def test_each_part_of_a_step_by_hand() -> None:
    found = replayed(0.5, idle_s=0.25)
    expected = {part: sum((op[3] - op[4]) / 2 for op in OPS if op[5] == part) for part in step.PARTS}
    expected |= {"latency": sum(op[4] for op in OPS) / 2, "host": expected["host"] + 0.25}
    assert {part: samples[0] for part, samples in found.step.parts().items()} == pytest.approx(expected)
    assert found.step.total == pytest.approx(np.array([45.5, 91]) / 2 + [0.25, 0.75])
    assert sum(found.step.parts().values()) == pytest.approx(found.step.total)
    assert found.kernels_s == pytest.approx(np.array([42.5, 85]) / 2)  # without the ops of the host and of input
    assert found.overlap == pytest.approx(np.full(len(OPS), 0.5))


def test_the_time_of_products_alone() -> None:
    assert step.matrix_time(predicted(), np.full(len(OPS), 0.5)).tolist() == [15, 30]


def test_shares_of_the_evidence_by_hand() -> None:
    scenario = HostScenario("profile", np.ones(2))
    found = step.evidence(predicted(), replayed(1.0, idle_s=0.25), scenario)
    assert list(found) == ["roofline", "unchanged", "measured"]
    assert found == pytest.approx({"roofline": 26 / 45.75, "unchanged": 10.75 / 45.75, "measured": 9 / 45.75})


def test_a_frameworks_launches_are_not_the_sources_time() -> None:
    found = step.evidence(predicted(), replayed(1.0, idle_s=0.25), HostScenario("dispatch", np.ones(2), 1e-6))
    assert found["dispatch"] == pytest.approx(0.25 / 45.75)


def test_ops_that_overlap_take_no_less_than_peak_and_bandwidth_allow() -> None:
    ran = dataclasses.replace(profile(), ops=predicted().ops, busy_step_s=5.0)  # half of the sum, 10
    device = make_device(compute_unit="core")
    whole = float(predicted().samples[0].sum())
    assert step.target_overlap(predicted(), ran, device, False).tolist() == pytest.approx([0.5] * len(OPS))
    bound = dataclasses.replace(predicted(), floor_s=np.full(len(OPS), 0.8 * whole / len(OPS)))
    share = step.target_overlap(bound, ran, device, False)
    assert share @ bound.samples[0] == pytest.approx(0.8 * whole)
    assert step.target_overlap(bound, ran, device, True).tolist() == pytest.approx([0.5] * len(OPS))


def test_what_cores_ran_side_by_side_and_is_predicted_runs_in_turn_elsewhere() -> None:
    ran = dataclasses.replace(profile(), ops=predicted().ops, busy_step_s=5.0)
    share = step.target_overlap(predicted(), ran, make_device(), False)
    in_turn = [1.0 if i % 2 == 0 and op[2] != "unchanged" else 0.5 for i, op in enumerate(OPS)]
    assert share.tolist() == pytest.approx(in_turn)


def test_what_ran_on_an_unknown_processor_overlaps_as_it_did() -> None:
    """So does what no device could run faster: no op lengthens a step by more than its time."""
    ran, device = dataclasses.replace(profile(), ops=predicted().ops, busy_step_s=5.0), make_device()
    untold = dataclasses.replace(
        predicted(), ops=predicted().ops.assign(placement=pd.array([None] * 10, dtype="string"))
    )
    assert step.target_overlap(untold, ran, device, False).tolist() == pytest.approx([0.5] * len(OPS))
    whole = dataclasses.replace(ran, busy_step_s=None)
    longer = dataclasses.replace(untold, floor_s=2 * untold.samples[0])
    assert step.target_overlap(longer, whole, device, False).tolist() == [1.0] * len(OPS)


def test_an_op_that_took_no_time_overlapped_like_all_others() -> None:
    rows = ({"op_type": "Mystery", "time_s": time, "shared_s": time} for time in (0.0, 1.0))
    ran = dataclasses.replace(profile(), ops=canonical.to_ops(make_ops(*rows), "toy"))
    assert step.source_overlap(ran.ops, ran).tolist() == [1.0, 1.0]


def test_ops_that_ran_at_once_explain_as_much_as_they_were_busy() -> None:
    (note,) = step.notes(profile(wall_step_s=2.0, busy_step_s=0.5))
    assert note.text == "toy: ops account for 25 % of the step (wall 2 s, ops 0.5 s), the rest is carried"


def test_no_op_lengthens_a_step_by_more_than_its_time() -> None:
    ran = dataclasses.replace(profile(), ops=predicted().ops, busy_step_s=5.0)
    longer = dataclasses.replace(predicted(), floor_s=2 * predicted().samples[0])
    assert step.target_overlap(longer, ran, make_device(), False).tolist() == [1.0] * len(OPS)
