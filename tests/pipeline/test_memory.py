"""What a device must hold: the recipe from a profile to bytes, and to a refusal."""

import dataclasses

import pytest

from estimator.core.errors import EstimatorError
from estimator.core.schema import OPS
from estimator.core.types import Profile, RunPlan, Workload
from estimator.pipeline.memory import memory
from estimator.pipeline.step import estimate
from estimator.profiles import read_profile
from estimator.profiles.kineto.composed_layers import ATTENTION
from tests.conftest import make_ops


@pytest.mark.slow
def test_memory_grows_with_the_batch_and_not_with_inference() -> None:
    profile = read_profile("resnet50")
    small, large = (memory(profile, RunPlan("v100", batch=batch, draws=20)) for batch in (8, 64))
    assert large.total[0] > small.total[0]
    assert large.parts["parameters"][0] == small.parts["parameters"][0]
    forward = memory(profile, RunPlan("v100", batch=64, mode="inference", draws=20))
    assert forward.total[0] < large.total[0]


@pytest.mark.slow
def test_refuses_another_batch_than_one_that_is_not_known() -> None:
    profile = read_profile("resnet50")
    unknown = dataclasses.replace(profile, workload=profile.workload.model_copy(update={"batch_size": None}))
    assert memory(unknown, RunPlan("v100", draws=0)).batch is None
    with pytest.raises(EstimatorError, match="the batch size of the profile is not known"):
        memory(unknown, RunPlan("v100", batch=64, draws=0))


@pytest.mark.parametrize(("name", "precision"), [("gpt2", "bf16"), ("gpt2", "fp8"), ("llama2-7b", None)])
def test_refuses_a_precision_that_the_device_lacks(name: str, precision: str | None) -> None:
    with pytest.raises(EstimatorError, match="v100-sxm2-16gb has no hardware path for"):
        memory(read_profile(name), RunPlan("v100", precision, draws=0))


@pytest.mark.slow
def test_the_largest_batch_fits_and_the_next_one_is_refused() -> None:
    profile = read_profile("vgg16")
    largest = memory(profile, RunPlan("v100", batch=8)).largest_batch
    assert largest is not None
    assert memory(profile, RunPlan("v100", batch=largest)).fits
    with pytest.raises(EstimatorError, match=f"a batch of {largest} would fit"):
        estimate(profile, RunPlan("v100", batch=4 * largest))


@pytest.mark.parametrize(("device", "has_scores"), [("h100", False), ("epyc-7763", True)])
def test_scores_of_attention_that_a_processor_ran_are_held_by_processors_alone(device: str, has_scores: bool) -> None:
    """The command for memory and an estimate agree."""
    workload = Workload(name="toy", framework="PyTorch 2.3", batch_size=2, precision="fp32", parameters=1)
    heads, scores = "2x4x64x8", "8x64x64"
    layer, part = {"attributes": "dispatch=1;layer=7;trained=1"}, {"attributes": "part_of_layer=7"}
    rows: tuple[dict[str, object], ...] = (
        {"op_type": f"aten::{ATTENTION}", "shapes": f"{heads};{heads};{heads}", **layer, "places": "0"},
        {"op_type": "aten::bmm", "shapes": "8x64x8;8x8x64", **part, "places": "1"},
        {"op_type": "aten::_softmax", "shapes": scores, **part, "places": "2"},
        {"op_type": "aten::bmm", "shapes": f"{scores};8x64x8", **part, "places": "3"},
    )  # fmt: skip
    ops = OPS.conform(make_ops(*({**row, "phase": "forward"} for row in rows)), "toy")
    profile = Profile(ops, workload, "epyc-7763", "toy")
    plan = RunPlan(device, batch=16, draws=0)
    by_estimate = estimate(profile, plan).memory
    assert by_estimate is not None
    held, also_held = (float(use.parts["activations"][0]) for use in (memory(profile, plan), by_estimate))
    assert held == also_held
    assert (held > 16 * 4 * 64 * 64 * 4) == has_scores
