"""A group's step from one micro-batch: on one device, through stages, and with divided products."""

import dataclasses

import numpy as np
import pytest

from estimator.core.parallel import Split
from estimator.core.types import Network, RunPlan, StepTime
from estimator.pipeline import PredictedStep, predict_step, step_of_one, steps_of_groups
from estimator.profiles import read_profile
from estimator.profiles.layers.shards import divided
from estimator.rollup.scaling import GroupStep, Scaling, group_of

NETWORK = Network.model_validate({"linked_devices": 8, "interconnect": "InfiniBand", "injection_bandwidth": "200 GB/s"})


def on_machine(split: Split, batch: int) -> tuple[PredictedStep, StepTime]:
    """BERT's step of one micro-batch on one device of a machine, without a host."""
    profile = divided(read_profile("bert-large"), split)
    step = predict_step(profile, RunPlan("a100-sxm4-80gb", batch=batch, draws=10, host="none"))
    device = step.target.device.model_copy(update={"network": NETWORK})
    step = dataclasses.replace(step, target=dataclasses.replace(step.target, device=device))
    return step, step_of_one(step)


def of_group(split: Split, devices: int, batch: int, scaling: Scaling = "weak") -> GroupStep:
    """The mid of its step where no device is slower than others."""
    predicted, one = on_machine(split, split.micro_batch or batch)
    group = group_of(devices, 8, scaling, batch, split)
    return steps_of_groups(predicted, one, [group], split, (1e-6, 1e-6, 1e-6))[0]


def total_s(split: Split, devices: int, batch: int) -> float:
    return float(of_group(split, devices, batch).step.total[0])


def test_micro_batches_on_one_device_repeat_all_but_the_update() -> None:
    one_s, four_s = total_s(Split(micro_batch=8), 1, 8), total_s(Split(micro_batch=8), 1, 32)
    assert 3.5 * one_s < four_s < 4 * one_s


def test_gradients_are_exchanged_once_and_weights_gathered_each_time() -> None:
    communication_s = {
        (data, batch): float(of_group(Split(data, micro_batch=8), 8, batch).communication_s[0])
        for data in ("data", "zero3")
        for batch in (8, 32)
    }
    assert communication_s["data", 32] == pytest.approx(communication_s["data", 8])
    assert communication_s["zero3", 32] == pytest.approx(4 * communication_s["zero3", 8])


def test_divided_products_are_faster_by_less_than_their_devices() -> None:
    whole_s, four_s = total_s(Split(), 1, 32), total_s(Split(tensor=4), 4, 32)
    assert whole_s / 4 < four_s < whole_s


def test_products_divided_among_nodes_wait_longer() -> None:
    inside, across = (of_group(Split(tensor=count), count, 32) for count in (8, 16))
    assert across.communication_s[0] > 1.2 * inside.communication_s[0]


def test_the_bubble_shrinks_with_micro_batches() -> None:
    per_sample = [total_s(Split(pipeline=4, micro_batch=4), 4, 4 * count) / count for count in (1, 4, 16)]
    assert per_sample[0] > 2 * per_sample[1]
    assert per_sample[1] > 1.2 * per_sample[2]


def test_stages_compute_their_share() -> None:
    found = of_group(Split(pipeline=4, micro_batch=4), 4, 64).step
    whole_s = total_s(Split(micro_batch=4), 1, 64)
    assert float((found.total - found.communication_exposed)[0]) == pytest.approx(whole_s / 4)
    assert np.isclose(sum(part[0] for part in found.parts().values()), found.total[0])
