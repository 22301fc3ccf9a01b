"""The recipe: what a plan's batch and mode change, and what they leave."""

import dataclasses
import math
from pathlib import Path

import pytest
from pandas.testing import assert_frame_equal

from estimator.core.errors import EstimatorError
from estimator.core.schema import METHODS
from estimator.core.types import Profile, RunPlan, Workload
from estimator.pipeline.step import estimate
from estimator.profiles import canonical, read_profile
from tests.conftest import make_ops
from tests.profiles.layers.models import profile as layers_profile


def test_the_profiled_batch_and_mode_change_nothing() -> None:
    profile = read_profile("p1b3")
    plain = estimate(profile, RunPlan("v100", draws=5))
    same = estimate(profile, RunPlan("v100", draws=5, batch=100, mode="training"))
    assert_frame_equal(same.prediction.ops, plain.prediction.ops)
    assert (same.step.total == plain.step.total).all()
    assert (same.assumptions, same.warnings) == (plain.assumptions, plain.warnings)


def test_another_batch_is_noted_and_compared_with_no_step_of_the_source() -> None:
    actual = estimate(read_profile("p1b3"), RunPlan("v100", draws=5, batch=6400))
    assert math.isnan(actual.source_step_s)
    assert any("batch 6400, from a profile of batch 100" in text for text in actual.assumptions)
    assert any("how they depend on the batch is not known" in text for text in actual.warnings)


@pytest.mark.slow
def test_a_step_never_takes_less_at_a_larger_batch() -> None:
    profile = read_profile("p1b3/amd-epyc.xplane")
    times = [estimate(profile, RunPlan("v100", draws=5, batch=size)).step.total[0] for size in (1, 100, 1600, 6400)]
    assert times == sorted(times)


@pytest.mark.slow
def test_own_times_answer_for_the_profiled_batch_alone() -> None:
    """Elsewhere the source's run is no measurement."""
    profile = read_profile("p1b3")
    own = {
        batch: set(estimate(profile, RunPlan("k20x", source="k20x", draws=5, batch=batch)).prediction.ops["method"])
        for batch in (100, 200)
    }
    assert own[100] == {"measured"}
    assert "measured" not in own[200]


@pytest.mark.parametrize("alias", ["My Lab Card", "my lab card"])
def test_a_profile_of_the_target_by_an_alias_in_any_case_is_its_own_measurement(alias: str, tmp_path: Path) -> None:
    device = tmp_path / "mine.yaml"
    device.write_text(f"name: mine\naliases: [{alias}]\npeak: {{fp32: 1 TFLOP/s}}\nmemory_bandwidth: 100 GB/s\n")
    profile = dataclasses.replace(read_profile("p1b3"), device="My Lab Card")
    assert set(estimate(profile, RunPlan(str(device), draws=5)).prediction.ops["method"]) == {"measured"}


@pytest.mark.slow
def test_inference_takes_less_and_compares_with_the_sources_share() -> None:
    profile = read_profile("nt3")
    training, inference = (estimate(profile, RunPlan("v100", draws=5, mode=mode)) for mode in (None, "inference"))
    assert 0 < inference.source_step_s < training.source_step_s
    assert inference.step.total[0] < training.step.total[0]
    assert set(inference.prediction.ops["phase"].dropna()) == {"forward", "input"}


@pytest.mark.parametrize("wrong", [{"batch": 0}, {"batch": -1}, {"batch": 10**10}, {"mode": "guessing"}])
def test_a_plan_that_is_none_is_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(EstimatorError, match="expected"):
        RunPlan("v100", **wrong)  # type: ignore[arg-type]


@pytest.mark.parametrize("op_class", ["input", "host"])
def test_a_scenario_that_leaves_nothing_of_the_step_is_refused(op_class: str) -> None:
    ops = canonical.to_ops(make_ops({"op_type": "Fetch", "op_class": op_class}), "toy")
    profile = Profile(ops, Workload(name="toy"), None, "toy")
    assert estimate(profile, RunPlan("v100", draws=5)).step.total[0] == pytest.approx(1e-3)
    with pytest.raises(EstimatorError, match=r"^toy: nothing of the step takes time with 'host none' and 'input none'"):
        estimate(profile, RunPlan("v100", draws=5, host="none"))


def test_ops_that_explain_next_to_nothing_of_a_processors_step_are_refused() -> None:
    ops = canonical.to_ops(make_ops({"op_type": "Fetch", "op_class": "input", "placement": "/host:CPU"}), "toy")
    profile = Profile(ops, Workload(name="toy"), None, "toy", wall_step_s=0.06)  # ops take 1 ms
    with pytest.raises(EstimatorError, match=r"^toy: its ops account for 1.7 % of a step of 60.0 ms, .*--host profile"):
        estimate(profile, RunPlan("v100", draws=5))
    kept = estimate(profile, RunPlan("v100", draws=5, host="profile")).step.total
    assert kept[0] == pytest.approx(0.06)
    assert kept.max() > 1.2 * kept[0]
    enough = dataclasses.replace(profile, wall_step_s=0.05)
    assert estimate(enough, RunPlan("v100", draws=5)).step.total[0] < 0.05


def test_products_that_a_program_runs_in_a_narrow_format_stay_in_it() -> None:
    rows = [{"op_type": "MatMul", "precision": name, "m": 512, "n": 512, "k": 512} for name in ("bf16", "fp32")]
    profile = Profile(canonical.to_ops(make_ops(*rows), "toy"), Workload(name="toy", framework="JAX"), None, "toy")
    auto = estimate(profile, RunPlan("a100", draws=5, precision="auto"))
    assert auto.prediction.ops["precision"].tolist() == ["bf16", "tf32"]
    assert auto.precision == "bf16/tf32"
    narrow = dataclasses.replace(profile, ops=profile.ops.iloc[:1])
    assert not any(note.code == "precision-by-default" for note in estimate(narrow, RunPlan("a100", draws=5)).notes)


@pytest.mark.slow
def test_a_processors_batch_normalizations_run_by_an_accelerators_library() -> None:
    profile = read_profile("mobilenet")
    gpu, processor = (estimate(profile, RunPlan(name, draws=0)) for name in ("v100", "epyc-7763"))
    assert any(note.code == "normalization-merged" for note in gpu.notes)
    assert not any(note.code == "normalization-merged" for note in processor.notes)
    moved = [each.prediction.ops["bytes"].sum() for each in (gpu, processor)]
    assert moved[0] < 0.6 * moved[1]


def test_layers_have_no_source_to_be_compared_with() -> None:
    actual = estimate(layers_profile(), RunPlan("a100-sxm4-80gb", draws=50, source="v100"))
    assert math.isnan(actual.source_step_s)
    assert math.isnan(actual.coverage)
    assert actual.source is None
    assert {"roofline", "dispatch"} >= actual.evidence.keys()
    assert METHODS.keys() >= actual.evidence.keys()
    assert actual.step.total[0] > actual.floor_s > 0
    text = " ".join((*actual.assumptions, *actual.warnings))
    assert "nothing ran, so no host was profiled" in text
    assert "the source's time" not in text
    assert "processor's idle time" not in text


@pytest.mark.slow
def test_layers_take_longer_with_each_that_is_added() -> None:
    plan = RunPlan("a100-sxm4-80gb", draws=0, host="none")

    def step_s(**given: object) -> float:
        return float(estimate(layers_profile(**given), plan).step.total[0])

    assert step_s() < step_s(blocks=4) < step_s(blocks=4, recompute="full")
    assert step_s() < step_s(sequence_length=64)
    assert step_s(micro_batch=64) > estimate(layers_profile(), dataclasses.replace(plan, batch=32)).step.total[0]
    built = estimate(layers_profile(micro_batch=64), plan)
    asked = estimate(layers_profile(), dataclasses.replace(plan, batch=64))
    assert asked.step.total[0] == built.step.total[0]


@pytest.mark.slow
def test_products_measured_on_a_device_of_the_architecture_count(tmp_path: Path) -> None:
    plan = RunPlan("mi325x", precision="bf16", draws=5)
    followed = [
        text for text in estimate(read_profile("p1b3"), plan).assumptions if "they follow those measured" in text
    ]
    assert [text.partition(" with")[0] for text in followed] == [
        "mi325x: no products in bf16 were measured; they follow those measured on mi300x in bf16,"
    ]
    nothing = tmp_path / "nothing.csv"
    nothing.write_text("op_class,precision,time_s\n")
    alone = estimate(read_profile("p1b3"), dataclasses.replace(plan, measurements=str(nothing)))
    assert not any("they follow those measured" in text for text in alone.assumptions)
