"""MPT's published trainings ran, so that none of them may be refused for its memory (mosaicml/llm-foundry)."""

from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

from estimator.core.types import MemoryUse, RunPlan, Workload
from estimator.pipeline.group_memory import memory_of_group
from estimator.profiles.layers import profile_of
from estimator.rollup.memory_fit import exceeds
from estimator.validation import language_models
from estimator.validation.language_models import Training

PYTORCH = Workload(name="mpt", framework="pytorch")


@pytest.fixture(scope="module")
def trainings(public_data: Callable[[str], Path]) -> list[Training]:
    """One of each model, device and number of tokens at once."""
    rows = language_models.read_steps(public_data("data")).rows
    mpt = rows[rows["table"] == language_models.MPT]
    tokens = [each.layers.sequence_length * each.layers.micro_batch for each in mpt["training"]]
    return list(mpt.assign(tokens=tokens).drop_duplicates(["model", "device", "tokens"])["training"])


@pytest.fixture(scope="module")
def uses(trainings: list[Training]) -> Callable[[str], list[MemoryUse]]:
    """What each training holds with a loss of this kind."""

    def use(training: Training, loss: str) -> MemoryUse:
        layers = training.layers.model_copy(update={"loss": loss})
        plan = RunPlan(training.device, batch=training.batch // training.devices, draws=50)
        return memory_of_group(profile_of(layers, PYTORCH), plan, training.split, training.devices)

    return cache(lambda loss: [use(training, loss) for training in trainings])


def test_the_tables_state_no_loss(trainings: list[Training]) -> None:
    assert {training.layers.loss for training in trainings} == {"unfused"}


@pytest.mark.slow
def test_none_is_refused(uses: Callable[[str], list[MemoryUse]]) -> None:
    actual = uses("unfused")
    assert len(actual) > 25
    assert not [use for use in actual if exceeds(use)]


@pytest.mark.slow
def test_a_fused_loss_leaves_a_third_of_the_tensors_to_all(uses: Callable[[str], list[MemoryUse]]) -> None:
    def tensors(use: MemoryUse) -> float:
        return float(use.parts["activations"][0] + use.parts["workspace"][0])

    left = [tensors(fused) / tensors(plain) for fused, plain in zip(uses("fused"), uses("unfused"), strict=True)]
    assert [min(left), max(left)] == pytest.approx([0.3, 1.0], abs=0.01)


@pytest.mark.slow
def test_with_their_fused_loss_they_fit_within_a_tenth(uses: Callable[[str], list[MemoryUse]]) -> None:
    """Their micro-batches are the largest that fitted."""
    actual = uses("fused")
    held = [float(each.total[0]) / float(each.capacity or 0) for each in actual]
    assert max(held) < 1.1
    assert sum(share > 0.6 for share in held) > len(held) / 2
