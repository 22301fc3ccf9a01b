"""Parameters and states of optimizers, as the step's updates or the tables tell."""

import pandas as pd
import pytest

from estimator.core.errors import EstimatorError
from estimator.core.types import Optimizer, Workload
from estimator.profiles import read_profile
from estimator.work import count_work
from estimator.work.variables import slots_by_optimizer, step_variables, travelling_unit

EMPTY = count_work(pd.DataFrame({"op": ["a"], "time_s": [1.0]}), Workload(name="own")).work


def workload(**facts: object) -> Workload:
    return Workload(**{"name": "own", "batch_size": 8, "parameters": 1000, **facts})


@pytest.mark.parametrize(
    ("name", "slots"), [("p1b1", 2), ("p1b2", 1), ("p1b3/amd-epyc.xplane", 0), ("resnet50", 1), ("combo", 2)]
)
def test_the_updates_of_a_capture_tell_the_states(name: str, slots: float) -> None:
    """ResNet-50's workload file says 'sgd', its capture has momentum."""
    profile = read_profile(name)
    found = step_variables(count_work(profile.ops, profile.workload).work, profile.workload, "fp32")
    assert (found.slots, found.notes) == (slots, ())
    assert found.optimizer == slots * found.parameters


def test_the_name_tells_where_no_update_does() -> None:
    assert step_variables(EMPTY, workload(optimizer=Optimizer(name="Adam")), "fp32").optimizer == 8000
    unknown = step_variables(EMPTY, workload(optimizer=Optimizer(name="shampoo")), "fp32")
    assert unknown.slots == 2
    assert "states of the optimizer shampoo" in unknown.notes[0].text


@pytest.mark.parametrize(
    ("precision", "mode", "size"),
    [("fp32", "training", 4000), ("tf32", "training", 4000), ("bf16", "training", 6000),
     ("bf16/fp32", "training", 6000), ("fp16", "inference", 2000), ("fp32", "inference", 4000)],
)  # fmt: skip
def test_mixed_precision_adds_a_copy_in_training(precision: str, mode: str, size: float) -> None:
    assert step_variables(EMPTY, workload(mode=mode), precision).parameters == size


def test_parameters_are_counted_from_products_or_asked_for() -> None:
    rows = {"op": ["a"], "op_type": ["MatMul"], "shapes": ["8x10;10x20"], "phase": "forward", "time_s": 1.0}
    work = count_work(pd.DataFrame(rows), Workload(name="own", batch_size=8)).work
    assert step_variables(work, workload(parameters=None), "fp32").parameters == 4 * 11 * 20
    with pytest.raises(
        EstimatorError, match=r"own: the parameters are not known; add parameters to its workload\.yaml"
    ):
        step_variables(EMPTY, workload(parameters=None), "fp32")


def test_weights_of_a_block_travel_at_once_and_a_bucket_where_there_is_none() -> None:
    """GPT-2 small: 12 blocks of 7.08 million weights, two bytes each."""
    gpt2, resnet = read_profile("gpt2"), read_profile("resnet50")
    units = [
        step_variables(count_work(each.ops, each.workload).work, each.workload, "bf16").unit for each in (gpt2, resnet)
    ]
    assert units == [pytest.approx(2 * 12 * 768**2, rel=0.02), 25 * 2**20]


def test_few_weights_travel_as_one_bucket() -> None:
    work = count_work(read_profile("p1b2").ops, read_profile("p1b2").workload).work
    assert travelling_unit(work, 1e6) == 1e6


def test_the_table_of_optimizers() -> None:
    assert slots_by_optimizer()["sgd"] == 0
    assert slots_by_optimizer()["adam"] == slots_by_optimizer()["adamw"] == 2
