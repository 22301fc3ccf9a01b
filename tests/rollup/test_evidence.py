"""What a step's time stands on, and what is said where that is little."""

import dataclasses

import numpy as np
import pytest

from estimator.core import units
from estimator.core.notes import Note
from estimator.core.scenarios import Host
from estimator.core.types import Estimate, Profile, RunPlan, Workload
from estimator.pipeline.step import estimate
from estimator.profiles import canonical
from estimator.rollup.evidence import carried_share, evidence_shares, mostly_carried, mostly_dispatch
from estimator.rollup.host import HostScenario
from tests.conftest import make_device, make_ops
from tests.rollup.toy_steps import predicted, profile, replayed


@pytest.mark.slow
def test_evidence_shares_include_idle_time() -> None:
    product = canonical.to_ops(make_ops({"op_type": "MatMul", "m": 4096, "n": 4096, "k": 4096, "time_s": 0.1}), "toy")
    waited = dataclasses.replace(profile(wall_step_s=0.3), ops=product)
    estimated = estimate(waited, RunPlan("v100", draws=3))
    idle = 0.2 / estimated.step.total[0]
    assert estimated.evidence == pytest.approx({"carried": idle, "interpolated": 1 - idle})
    assert "most of the step on v100-sxm2-16gb" in str(estimated.warnings)
    busy = estimate(dataclasses.replace(waited, wall_step_s=0.1), RunPlan("v100", draws=3))
    assert sum(busy.evidence.values()) == pytest.approx(1)
    assert "carried" not in busy.evidence
    same_device = estimate(dataclasses.replace(waited, device="v100"), RunPlan("v100", precision="fp16", draws=3))
    assert same_device.evidence["unchanged"] > 0.5
    assert not any("source's own time" in warning for result in (busy, same_device) for warning in result.warnings)


def test_a_step_that_is_mostly_carried_is_noted() -> None:
    target = make_device(name="new")
    (note,) = mostly_carried({"unchanged": 0.6, "roofline": 0.4}, target)
    text = (
        "most of the step on new is the source's own time, carried over (host, input and idle time): it tells "
        "more of the source than of the target"
    )
    assert note == Note("carried-mostly", text, subject="new", share=0.6)
    assert mostly_carried({"unchanged": 0.5}, target) == ()
    assert mostly_carried({"roofline": 1.0}, target) == ()


def test_shares_of_the_evidence_by_hand() -> None:
    scenario = HostScenario("profile", np.ones(2))
    actual = evidence_shares(predicted(), replayed(1.0, idle_s=0.25), scenario)
    assert list(actual) == ["roofline", "unchanged", "measured"]
    assert actual == pytest.approx({"roofline": 26 / 45.75, "unchanged": 10.75 / 45.75, "measured": 9 / 45.75})


def test_a_frameworks_launches_are_not_the_sources_time() -> None:
    actual = evidence_shares(predicted(), replayed(1.0, idle_s=0.25), HostScenario("dispatch", np.ones(2), 1e-6))
    assert actual["dispatch"] == pytest.approx(0.25 / 45.75)


def test_on_another_host_its_time_is_carried() -> None:
    scenario = HostScenario("profile × 2", np.ones(2), host_ops=2 * np.ones(2))
    actual = evidence_shares(predicted(), replayed(1.0, idle_s=0.25), scenario)
    assert actual["carried"] == pytest.approx(0.25 / 45.75)
    assert carried_share(actual) == pytest.approx(actual["carried"] + actual["unchanged"])


@pytest.mark.parametrize(
    ("known", "host", "is_noted"),
    [
        ({}, 2.0, True), ({}, "none", True), ({}, None, False), ({"wall_step_s": 1.5}, 2.0, False),
    ],
)  # fmt: skip
def test_a_host_of_which_the_dump_holds_no_time_is_noted(known: dict[str, float], host: Host, is_noted: bool) -> None:
    notes = estimate(profile(**known), RunPlan("v100", draws=3, host=host)).notes
    texts = [note.text for note in notes if note.code == "host-absent"]
    shown = "2" if host == 2.0 else host
    assert texts == [f"the dump records no host time, so 'host {shown}' changes nothing"] * is_noted


@pytest.mark.parametrize(("time_s", "is_absent"), [(1e-3, False), (0.0, True)])
def test_a_host_whose_op_the_source_ran_is_there(time_s: float, is_absent: bool) -> None:
    waited = {"op_type": "Wait", "op_class": "host", "time_s": time_s}
    ops = canonical.to_ops(make_ops({"op_type": "Mystery"}, waited), "toy")
    actual = estimate(dataclasses.replace(profile(), ops=ops), RunPlan("v100", draws=3, host=2.0))
    assert any(note.code == "host-absent" for note in actual.notes) == is_absent


def by_launches_and_by_idle_time(idle_s: float) -> tuple[Estimate, Estimate]:
    """Steps of 50 small ops on an H100: by the framework's launches, and by the processor's idle time."""
    rows = [{"op_type": "Relu", "bytes": 1e3, "flop": 1e2, "time_s": 1e-6, "placement": "/host:CPU:0"}] * 50
    workload = Workload(name="toy", framework="PyTorch")
    ran = Profile(canonical.to_ops(make_ops(*rows), "toy"), workload, None, "toy", wall_step_s=50e-6 + idle_s)
    return estimate(ran, RunPlan("h100", draws=3)), estimate(ran, RunPlan("h100", draws=3, host="profile"))


@pytest.mark.parametrize(("idle_s", "is_noted"), [(1e-6, True), (2.4e-3, False)])
def test_launches_that_take_longer_than_the_processors_idle_time_are_noted(idle_s: float, is_noted: bool) -> None:
    default, carried = by_launches_and_by_idle_time(idle_s)
    (text,) = [note.text for note in default.notes if note.code == "dispatch-slower"] or [""]
    assert bool(default.step.total[0] > carried.step.total[0]) is is_noted
    assert text.endswith(f"the step would take only {units.show(float(carried.step.total[0]), 's', 3)}") is is_noted
    assert not any(note.code == "dispatch-slower" for note in carried.notes)


@pytest.mark.parametrize(("share", "is_noted"), [(0.98, True), (0.995, False)])
def test_a_step_that_would_be_less_than_1_percent_shorter_is_not_noted(share: float, is_noted: bool) -> None:
    launched, idle = (float(actual.step.total[0]) for actual in by_launches_and_by_idle_time(1e-6))
    default, carried = by_launches_and_by_idle_time(1e-6 + share * launched - idle)
    assert carried.step.total[0] == pytest.approx(share * launched)
    assert any(note.code == "dispatch-slower" for note in default.notes) is is_noted


def test_a_step_that_is_mostly_launches_is_noted() -> None:
    device = make_device(name="toy")
    step = replayed(1.0, idle_s=0.25)
    assert mostly_dispatch({"dispatch": 0.4, "roofline": 0.6}, step, device) == ()
    (note,) = mostly_dispatch({"dispatch": 0.72, "carried": 0.28}, step, device)
    kernels = f"{100 * 42.5 / 45.75:.0f} %"
    assert (note.kind, note.details) == (
        "left-open", f" (launches: 72 % of the step on toy; kernels alone take {kernels})"
    )  # fmt: skip
    assert "the same on every device" in note.headline
