"""Parameters and states of optimizers, as the step's updates or the tables tell."""

import pandas as pd
import pytest

from estimator.core.errors import EstimatorError
from estimator.core.types import Optimizer, Profile, Workload
from estimator.profiles import read_profile
from estimator.work import count_work
from estimator.work.variables import kept_format, largest_block, slots_by_optimizer, step_variables
from tests.profiles.layers.models import profile as layers_profile

EMPTY = count_work(pd.DataFrame({"op": ["a"], "time_s": [1.0]}), Workload(name="own")).work


def workload(**facts: object) -> Workload:
    return Workload(**{"name": "own", "batch_size": 8, "parameters": 1000, **facts})


@pytest.mark.parametrize(
    ("name", "slots"), [("p1b1", 2), ("p1b2", 1), ("p1b3/amd-epyc.xplane", 0), ("resnet50", 1), ("combo", 2)]
)
def test_the_updates_of_a_capture_tell_the_states(name: str, slots: float) -> None:
    """ResNet-50's workload file says 'sgd', its capture has momentum."""
    profile = read_profile(name)
    actual = step_variables(count_work(profile.ops, profile.workload).work, profile.workload, "fp32")
    assert (actual.slots, actual.notes) == (slots, ())
    assert actual.optimizer == slots * actual.parameters


def test_the_name_tells_where_no_update_does() -> None:
    assert step_variables(EMPTY, workload(optimizer=Optimizer(name="Adam")), "fp32").optimizer == 8000
    unknown = step_variables(EMPTY, workload(optimizer=Optimizer(name="shampoo")), "fp32")
    assert unknown.slots == 2
    assert "states of the optimizer shampoo" in unknown.notes[0].text


def test_stated_states_stand() -> None:
    stated = workload(optimizer=Optimizer(name="Adam"), optimizer_slots=0)
    assert step_variables(EMPTY, stated, "fp32").slots == 0
    profile = read_profile("p1b2")
    updates = count_work(profile.ops, profile.workload).work
    assert step_variables(updates, profile.workload.model_copy(update={"optimizer_slots": 3}), "fp32").slots == 3


@pytest.mark.parametrize(
    ("precision", "mode", "size"),
    [("fp32", "training", 4000), ("tf32", "training", 4000), ("bf16", "training", 6000),
     ("bf16/fp32", "training", 6000), ("fp16", "inference", 2000), ("fp32", "inference", 4000)],
)  # fmt: skip
def test_mixed_precision_adds_a_copy_in_training(precision: str, mode: str, size: float) -> None:
    assert step_variables(EMPTY, workload(mode=mode), precision).parameters == size


@pytest.mark.parametrize(("kernel", "narrow"), [("c10::BFloat16", True), ("float", False)])
def test_the_kernels_of_an_update_show_the_format_of_the_parameters(kernel: str, narrow: bool) -> None:
    name = f"void at::native::multi_tensor_apply_kernel<TensorListMetadata<2>, BinaryOpListAlphaFunctor<{kernel}, 2>>"
    row = {"op": "update", "op_type": "aten::_foreach_add_", "kernel": name, "phase": "optimizer", "time_s": 1.0}
    update = count_work(pd.DataFrame([row]), Workload(name="own")).work
    assert kept_format(update, workload()) == ("bf16" if narrow else "fp32")
    assert kept_format(update, workload(parameter_precision="fp16")) == "fp16"
    assert kept_format(update, workload(precision="fp64")) == "fp64"
    assert step_variables(update, workload(), "bf16").gradients == (2000 if narrow else 4000)


@pytest.mark.parametrize(
    ("precision", "parameters", "gradients", "narrow"),
    [
        ("bf16", 2000, 2000, True), ("fp16", 2000, 2000, True), ("fp8", 3000, 2000, True), ("fp32", 4000, 4000, False),
        ("fp64", 8000, 8000, False),
    ],
)  # fmt: skip
def test_a_model_in_bf16_has_no_wider_copy_but_for_wider_products(
    precision: str, parameters: float, gradients: float, narrow: bool
) -> None:
    actual = step_variables(EMPTY, workload(parameter_precision="bf16", optimizer_slots=2), precision)
    assert (actual.parameters, actual.gradients, actual.optimizer) == (parameters, gradients, 2 * gradients)
    assert ("parameters-narrow" in [note.code for note in actual.notes]) is narrow


@pytest.mark.parametrize(("precision", "itemsize"), [("fp32", 4), ("bf16", 2)])
def test_weights_that_are_not_trained_have_no_states_and_no_second_copy(precision: str, itemsize: int) -> None:
    adapted = workload(frozen_parameters=50_000)
    actual, alone = (step_variables(EMPTY, each, precision) for each in (adapted, workload()))
    assert actual.frozen == 50_000 * itemsize
    assert (actual.parameters, actual.optimizer, actual.gradients) == (
        alone.parameters,
        alone.optimizer,
        alone.gradients,
    )
    assert [note.code for note in actual.notes][:1] == ["weights-not-trained"]
    assert not step_variables(EMPTY, adapted.model_copy(update={"mode": "inference"}), precision).notes


def test_parameters_are_counted_from_products_or_asked_for() -> None:
    rows = {"op": ["a"], "op_type": ["MatMul"], "shapes": ["8x10;10x20"], "phase": "forward", "time_s": 1.0}
    work = count_work(pd.DataFrame(rows), Workload(name="own", batch_size=8)).work
    assert step_variables(work, workload(parameters=None), "fp32").parameters == 4 * 11 * 20
    with pytest.raises(
        EstimatorError, match=r"own: the parameters are not known; add parameters to its workload\.yaml"
    ):
        step_variables(EMPTY, workload(parameters=None), "fp32")


def block_of(profile: Profile, precision: str = "bf16") -> float:
    return step_variables(count_work(profile.ops, profile.workload).work, profile.workload, precision).block


@pytest.mark.parametrize(
    ("given", "elements"),
    [
        ({"vocabulary": 100}, 12 * 64**2),  # attention 4 h², feed-forward 8 h²
        ({}, 1000 * 64),  # the table of tokens is larger than a block
        ({"experts": 8, "experts_per_token": 2}, (4 + 8 * 8) * 64**2 + 8 * 64),  # and the router
    ],
)
def test_the_largest_block_is_one_of_the_model_or_what_is_outside(given: dict[str, object], elements: int) -> None:
    assert block_of(layers_profile(blocks=6, **given)) == 2 * elements


@pytest.mark.slow
def test_without_blocks_a_bucket_is_taken_and_never_more_than_half_of_the_weights() -> None:
    assert block_of(read_profile("resnet50"), "fp32") == 25 * 2**20
    profile = read_profile("p1b2")
    assert largest_block(count_work(profile.ops, profile.workload).work, 1e6) == 5e5


def test_inference_has_no_gradients() -> None:
    profile = read_profile("p1b2")
    work = count_work(profile.ops, profile.workload).work
    forward = profile.workload.model_copy(update={"mode": "inference"})
    assert [step_variables(work, each, "fp32").gradients > 0 for each in (profile.workload, forward)] == [True, False]


def test_the_table_of_optimizers() -> None:
    assert slots_by_optimizer()["sgd"] == 0
    assert slots_by_optimizer()["adam"] == slots_by_optimizer()["adamw"] == 2
