"""The arithmetic of memory: parts, splits, and the largest batch."""

import dataclasses

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from estimator.core.notes import Note
from estimator.core.parallel import ALONE, DIVIDED, DataWord, DeviceShare
from estimator.core.types import (
    DeviceSpec,
    MemoryUse,
    Mode,
    Optimizer,
    RunPlan,
    Sourced,
    StepTensors,
    Variables,
    Workload,
)
from estimator.devices import load_device
from estimator.rollup import memory
from estimator.rollup.memory import GIB

WORKLOAD = Workload(name="own", framework="PyTorch", batch_size=8)
VARIABLES = Variables(4e9, 8e9, 2.0, 4e9)
PLAN = RunPlan("v100", draws=200)


def tensors(activations: float, evidence: str = "flow", gradients: float = 1e9) -> StepTensors:
    moments = np.array([activations, activations / 2]), np.array([0.0, gradients]), np.array([1e8, 2e8])
    return StepTensors(*moments, evidence)  # type: ignore[arg-type]


def card(capacity: float | None, **facts: object) -> DeviceSpec:
    held = Sourced(value=capacity, unit="B") if capacity else None
    return load_device("v100").model_copy(update={"name": "card", "memory_capacity": held, **facts})


def use_of(device: DeviceSpec | None, share: DeviceShare = ALONE, size: float = 6e9) -> MemoryUse:
    at_batches = (8, tensors(size)), (16, tensors(2 * size))
    return memory.memory_use(at_batches, VARIABLES, WORKLOAD, device, PLAN, share)


def test_the_parts_add_up_at_the_fullest_moment() -> None:
    use = use_of(card(80e9))
    nominal = {name: float(samples[0]) for name, samples in use.parts.items()}
    assert list(nominal) == list(memory.MEMORY_PARTS)
    held = 4e9 + 8e9 + 6e9 + 1e8
    assert nominal["activations"] == 6e9
    assert nominal["gradients"] == 0  # of the moment at which the activations are all there
    assert nominal["allocator"] == pytest.approx(0.04 * held)
    assert use.total[0] == pytest.approx(1.04 * held + 1.422 * GIB)
    assert use.fits is True


def test_convolutions_need_libraries_and_workspaces() -> None:
    at_batches = (8, tensors(6e9)), (16, tensors(12e9))
    use = memory.memory_use(at_batches, VARIABLES, WORKLOAD, card(80e9), PLAN, ALONE, convolves=True)
    held = 4e9 + 8e9 + 6e9 + 1e8
    assert use.total[0] == pytest.approx(1.15 * held + (1.422 + 0.37) * GIB)
    without = use_of(card(80e9)).largest_batch
    assert use.largest_batch is not None
    assert without is not None
    assert use.largest_batch < without


def test_libraries_of_convolutions_are_those_of_a_gpus_vendor() -> None:
    numbers = memory.numbers()
    for name, added in (("epyc-9654", 0.0), ("gaudi2", 0.0), ("mi250x", numbers.convolution_libraries["AMD"].mid)):
        uses = [
            memory.memory_use(
                ((8, tensors(6e9)),), VARIABLES, WORKLOAD, load_device(name), PLAN, ALONE, convolves=given
            )
            for given in (False, True)
        ]
        alone, reserve = (float(use.parts["reserve"][0]) for use in uses)
        assert reserve - alone == pytest.approx(added * GIB)
        cached = [float(use.parts["allocator"][0]) for use in uses]
        assert (cached[0] == cached[1]) == (name == "epyc-9654")


def test_other_frameworks_allocate_as_without_convolutions() -> None:
    keras = WORKLOAD.model_copy(update={"framework": "TensorFlow"})
    assert memory.allocator(keras, True) == memory.allocator(keras, False) == memory.numbers().allocator["tensorflow"]


def test_weights_that_are_not_trained_take_memory_and_are_divided_as_parameters_are() -> None:
    variables, at = dataclasses.replace(VARIABLES, frozen=6e9), [(8, tensors(1e9)), (16, tensors(2e9))]
    alone = memory.memory_use(at, VARIABLES, WORKLOAD, None, PLAN, ALONE)
    use = memory.memory_use(at, variables, WORKLOAD, None, PLAN, ALONE)
    assert use.parts["parameters"][0] - alone.parts["parameters"][0] == 6e9
    own = memory.own_variables(variables, {"parameters": 3.0})
    assert (own.parameters, own.frozen) == (VARIABLES.parameters / 3, 2e9)


def test_without_a_device_there_is_no_reserve_and_no_verdict() -> None:
    use = use_of(None)
    assert use.parts["reserve"].max() == 0
    assert (use.capacity, use.fits, use.largest_batch) == (None, None, None)


def test_notes_of_variables_and_of_the_evidence_go_along() -> None:
    variables = dataclasses.replace(VARIABLES, notes=(Note("parameters-counted", "counted"),))
    at = [(8, dataclasses.replace(tensors(6e9, "rules"), run_again=2))]
    use = memory.memory_use(at, variables, WORKLOAD, None, PLAN, ALONE)
    codes = ["parameters-counted", "activations-by", "blocks-run-again", "memory-without-device"]
    assert [note.code for note in use.notes] == codes


def test_gradients_of_weights_that_many_ops_use_are_summed() -> None:
    by_rules = memory.with_rules(tensors(0.0, "rules", gradients=1e12), VARIABLES, WORKLOAD)
    assert by_rules.gradients.max() == VARIABLES.gradients


def test_a_split_divides_its_parts_alone() -> None:
    whole, split = use_of(card(80e9)), use_of(card(80e9), DeviceShare({"optimizer": 8, "parameters": 4}))
    assert split.parts["optimizer"][0] == 1e9
    assert split.parts["parameters"][0] == 1e9
    assert split.parts["activations"][0] == whole.parts["activations"][0]
    assert (split.largest_batch or 0) > (whole.largest_batch or 0)


@pytest.mark.parametrize(
    ("exchanged", "mode", "expected"),
    [
        (None, "training", 0.0),
        ("data", "training", 4e9),  # PyTorch's buckets are copies of all gradients
        ("data", "inference", 0.0),
        ("parameter-server", "training", 0.0),
        ("zero1", "training", 2 * 1e8),  # one block of gradients fills, one travels
        ("zero2", "training", 2 * 1e8),
        ("zero3", "training", 2 * 1e8 + 2 * 3e8),  # and two of weights, some of which are not trained
        ("zero3", "inference", 2 * 3e8),
    ],
)
def test_buckets_hold_what_travels(exchanged: DataWord | None, mode: Mode, expected: float) -> None:
    workload = WORKLOAD.model_copy(update={"mode": mode})
    trains = mode == "training"
    variables = dataclasses.replace(VARIABLES, block=3e8, block_gradients=1e8 * trains, gradients=4e9 * trains)
    actual = memory.buckets(variables, workload, DeviceShare(exchanged=exchanged), PLAN)
    assert actual[0] == expected
    assert (actual[1:].min() < expected < actual[1:].max()) == (exchanged in DIVIDED and expected > 0)


def test_each_other_micro_batch_keeps_what_its_blocks_do() -> None:
    at_batches = [(8, dataclasses.replace(tensors(6e9), kept=5e9)), (16, dataclasses.replace(tensors(12e9), kept=1e10))]
    one, four = (
        memory.memory_use(at_batches, VARIABLES, WORKLOAD, card(80e9), PLAN, DeviceShare(kept_passes=passes))
        for passes in (1.0, 4.0)
    )
    assert one.parts["activations"][0] == 6e9
    assert four.parts["activations"][0] == 6e9 + 3 * 5e9
    assert (four.largest_batch or 0) < (one.largest_batch or 0) / 2


def test_buckets_leave_less_for_the_batch() -> None:
    alone, one_of_several = (use_of(card(80e9), DeviceShare(exchanged=how)) for how in (None, "data"))
    assert one_of_several.total[0] == pytest.approx(alone.total[0] + 1.04 * 4e9)
    assert (one_of_several.largest_batch or 0) < (alone.largest_batch or 0)


@given(capacity=st.floats(20e9, 500e9), size=st.floats(1e9, 50e9))
def test_the_largest_batch_fits_and_the_next_does_not(capacity: float, size: float) -> None:
    at = [(8, tensors(size)), (16, tensors(2 * size))]
    largest = memory.largest_batch(at, 12e9, 1.04, capacity)

    def held(batch: int) -> float:
        return 1.04 * (12e9 + sum(memory.largest_moment(tensors(batch * size / 8))))

    assert held(largest) <= capacity * (1 + 1e-9) or largest == 0
    assert held(largest + 1) > capacity * (1 - 1e-9)


def test_rules_add_the_turn_and_the_update() -> None:
    backward = tensors(6e9, "rules", gradients=0.0)
    rules = memory.with_rules(backward, VARIABLES, WORKLOAD)
    assert rules.activations.tolist() == [6e9, 3e9, 6e9, 6e9]  # an allocator that caches keeps the blocks
    assert rules.gradients.tolist() == [0.0, 0.0, 0.0, 4e9]
    assert rules.workspace.tolist() == [1e8, 2e8, 0.5e8, 4e9]  # PyTorch's update takes the parameters' size
    flow = tensors(6e9)
    assert memory.with_rules(flow, VARIABLES, WORKLOAD) is flow
    inference = WORKLOAD.model_copy(update={"mode": "inference"})
    assert memory.with_rules(tensors(6e9, "rules"), VARIABLES, inference).gradients.max() == 1e9


def test_gradients_that_outlive_the_forward_pass_count_at_the_turn() -> None:
    workload = WORKLOAD.model_copy(update={"gradients_in_forward": True})
    rules = memory.with_rules(tensors(6e9, "rules", gradients=0.0), VARIABLES, workload)
    assert rules.gradients.tolist() == [0.0, 0.0, 4e9, 4e9]


@pytest.mark.parametrize(
    ("optimizer", "expected"), [("sgd_momentum", 0.0), ("sgd", 0.0), ("adamw", 4e9), ("rmsprop", 4e9), (None, 4e9)]
)
def test_updates_that_only_add_have_no_temporaries(optimizer: str | None, expected: float) -> None:
    named = Optimizer(name=optimizer) if optimizer else None
    workload = WORKLOAD.model_copy(update={"optimizer": named})
    assert memory.with_rules(tensors(6e9, "rules"), VARIABLES, workload).workspace[-1] == expected


def test_temporaries_take_the_place_of_narrow_copies() -> None:
    variables = dataclasses.replace(VARIABLES, parameters=6e9)  # fp32, and bf16 for the products
    assert memory.with_rules(tensors(6e9, "rules"), variables, WORKLOAD).workspace[-1] == 2e9


def test_the_reserve_goes_by_vendor_and_by_kind() -> None:
    assert memory.reserve(load_device("v100")).mid == 1.422
    assert memory.reserve(load_device("epyc-9654")) == memory.numbers().reserve["processor"]
    assert memory.reserve(load_device("gaudi2")) == memory.numbers().reserve["other"]


def test_every_number_is_within_its_interval_and_has_a_source() -> None:
    numbers = memory.numbers()
    tables = (numbers.reserve, numbers.convolution_libraries, numbers.buckets, numbers.allocator,
              numbers.allocator_with_convolutions, numbers.evidence)  # fmt: skip
    ranges = [each for table in tables for each in table.values()]
    assert all(each.low <= each.mid <= each.high and each.source for each in ranges)
    assert all(stated.source for stated in numbers.update.values())
    for each in ranges:
        samples = memory.sample("x", each, RunPlan("v100", draws=2000))
        assert samples[0] == each.mid
        assert each.low == each.high or np.mean((samples[1:] >= each.low) & (samples[1:] <= each.high)) > 0.85
