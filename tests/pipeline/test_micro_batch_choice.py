"""How many samples the stages of a pipeline compute at once, where a split leaves that open."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from estimator.core.parallel import read_split
from estimator.core.types import Network, Profile, RunPlan, Workload
from estimator.pipeline import alone
from estimator.pipeline.alone import EachAlone
from estimator.pipeline.group import estimate_group
from estimator.pipeline.group_memory import memory_of_group
from estimator.pipeline.micro_batch_choice import chosen_micro_batch
from estimator.pipeline.predicted_step import PredictedStep
from estimator.pipeline.step import predict_step
from estimator.profiles import read_profile
from estimator.profiles.layers import profile_of
from estimator.profiles.layers.model import Layers
from estimator.profiles.layers.shards import layers_of
from estimator.rollup.scaling import Group, group_of


@cache
def gpt2(micro_batch: int | None = None) -> Profile:
    stated = {name: value for name, value in layers_of(read_profile("gpt2")).model_dump().items() if value is not None}
    del stated["micro_batch"]
    if micro_batch is not None:
        stated["micro_batch"] = micro_batch
    return profile_of(Layers.model_validate(stated), Workload(name="gpt2"))


def grouped(plan: RunPlan, split: str, devices: int, micro_batch: int | None = None) -> Group:
    parsed = read_split(split)
    group = group_of(devices, 8, "weak", plan.batch, parsed)
    return chosen_micro_batch(EachAlone(gpt2(micro_batch), plan), group, parsed)


@pytest.mark.slow
@pytest.mark.parametrize(("device", "precision"), [("h100", "bf16"), ("k80-gpu", "fp32")])
def test_the_micro_batch_chosen_is_about_the_fastest(device: str, precision: str) -> None:
    """Host-bound steps on a fast device take larger ones than those of a slow device."""
    plan, profile = RunPlan(device, batch=16, draws=0, precision=precision), gpt2()
    chosen = grouped(plan, "pipeline=4", 4).micro_batch
    steps_s = {}
    for size in (1, 2, 4, 8, 16):
        split = read_split(f"pipeline=4,micro={size}")
        if memory_of_group(profile, plan, split, 4).fits:
            group = group_of(4, 8, "weak", 16, split)
            steps_s[size] = float(estimate_group(profile, plan, group, split).step.total[0])
    assert steps_s[chosen or 0] < 1.03 * min(steps_s.values())  # messages left out
    assert (chosen or 0) > 1 if device == "h100" else chosen == 1


@pytest.mark.slow
def test_a_micro_batch_that_fits_is_the_one_that_is_named() -> None:
    """Of 720 samples in two stages, as many at once as the device has room for at most."""
    split, profile = read_split("pipeline=2"), gpt2()
    plan = RunPlan("h100", batch=720, draws=2)
    actual = estimate_group(profile, plan, group_of(2, 2, "weak", 720, split), split)
    size = actual.plan.batch or 0
    assert memory_of_group(profile, plan, replace(split, micro_batch=size), 2).fits
    assert f"computes {size} sample(s)" in next(note.text for note in actual.notes if note.code == "micro-batch")
    named = estimate_group(profile, plan, Group(2, 1, 720, 720, 2, size), replace(split, micro_batch=size))
    assert np.array_equal(named.step.total, actual.step.total)


@pytest.mark.parametrize("device", ["", "gaudi"])
def test_without_a_device_that_can_be_timed_stages_compute_one_sample_at_once(device: str) -> None:
    assert grouped(RunPlan(device, batch=16, draws=0), "pipeline=4", 4).micro_batch == 1


@pytest.mark.slow
def test_the_size_that_the_layers_state_is_kept() -> None:
    assert grouped(RunPlan("h100", batch=16, draws=0), "pipeline=4", 4, micro_batch=2).micro_batch == 2
    assert grouped(RunPlan("h100", batch=16, draws=0), "pipeline=4", 4, micro_batch=3).micro_batch != 3


@pytest.mark.slow
def test_memory_and_step_choose_the_same() -> None:
    plan, split, profile = RunPlan("h100", batch=16, draws=0), read_split("pipeline=4"), gpt2()
    estimated = estimate_group(profile, plan, group_of(4, 8, "weak", 16, split), split)
    assert estimated.memory is not None
    assert estimated.memory.total[0] == memory_of_group(profile, plan, split, 4).total[0]


@pytest.mark.slow
def test_the_size_chosen_does_not_depend_on_draws() -> None:
    sizes = {grouped(RunPlan("h100", batch=16, draws=draws), "pipeline=4", 4).micro_batch for draws in (0, 20)}
    assert len(sizes) == 1


@pytest.mark.slow
def test_messages_from_stage_to_stage_count() -> None:
    """Over a slow network a few large messages are faster than many small ones, each of which has to start."""
    chosen = [
        grouped(RunPlan("h100", batch=16, draws=0, network=network), "pipeline=4", 4).micro_batch or 0
        for network in (Network.model_validate({"latency": time, "linked_devices": 1}) for time in ("1 us", "500 ms"))
    ]
    assert chosen[0] < chosen[1]


@pytest.mark.slow
@pytest.mark.parametrize("stated", [None, 2])
def test_a_choice_is_made_without_draws(stated: int | None, monkeypatch: pytest.MonkeyPatch) -> None:
    """A size that is stated and fits needs no step at all."""
    draws = set()

    def counted(profile: Profile, plan: RunPlan) -> PredictedStep:
        draws.add(plan.draws)
        return predict_step(profile, plan)

    monkeypatch.setattr(alone, "predict_step", counted)
    grouped(RunPlan("h100", batch=8), "pipeline=4", 4, stated)
    assert draws == ({0} if stated is None else set())


def test_a_size_that_cannot_be_counted_does_not_fit() -> None:
    """A prime batch has but two sizes: all samples at once, or one."""
    assert grouped(RunPlan("h100", batch=999_999_937, draws=0), "pipeline=4", 4).micro_batch == 1
