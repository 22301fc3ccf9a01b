"""Groups of devices: their batches, the slowest of them, and what they make of a step."""

from dataclasses import replace

import numpy as np
import pytest

from estimator.core.errors import EstimatorError
from estimator.core.parallel import Split
from estimator.core.types import RunPlan, StepTime
from estimator.rollup.parts import PARTS
from estimator.rollup.scaling import (
    EVEN,
    UNEVEN,
    Group,
    busiest_experts,
    divisors,
    efficiency,
    expected_maximum,
    group_of,
    lengthened,
    slowest_device,
    spreads_of,
)
from tests.profiles.layers.models import profile as layers_profile

PLAN = RunPlan("v100", draws=200)


def step(total_s: float) -> StepTime:
    total, others = np.full(1 + PLAN.draws, total_s), dict.fromkeys(PARTS[1:], np.zeros(1 + PLAN.draws))
    return StepTime(compute=total, total=total, **others)


def test_weak_scaling_keeps_the_batch_of_each_device_and_strong_that_of_all() -> None:
    assert group_of(12, 8, "weak", 32) == Group(12, 2, 32, 384)
    assert group_of(16, 8, "strong", 64) == Group(16, 2, 4, 64)
    assert group_of(3, 8, "weak", None) == Group(3, 1, None, None)


def test_a_batch_that_cannot_be_divided_is_refused_with_what_can() -> None:
    cannot = r"devices {}: the batch of {} cannot be divided among them; expected, for example, {}$"
    with pytest.raises(EstimatorError, match=cannot.format(5, 12, "4 or 6")):
        group_of(5, 8, "strong", 12)
    with pytest.raises(EstimatorError, match=cannot.format(10000, 65536, "8192 or 16384")):
        group_of(10000, 8, "strong", 65536)
    with pytest.raises(EstimatorError, match=cannot.format(20, 8, "16")):  # 10 copies of 2 devices each
        group_of(20, 8, "strong", 8, Split(tensor=2))


def test_the_busiest_experts_get_no_less_than_the_mean() -> None:
    load = busiest_experts(PLAN)
    assert load.min() >= 1.0
    assert load[0] == pytest.approx(1.1)
    assert np.quantile(load, 0.95) == pytest.approx(1.5, abs=0.15)


def test_interleaved_stages_take_whole_rounds_of_micro_batches() -> None:
    split = Split(pipeline=4, interleave=2, micro_batch=1)
    assert group_of(8, 8, "weak", 8, split).micro_batches == 8
    message = (
        r"interleave=2: a copy on 8 devices has 6 micro-batch\(es\); expected a multiple of pipeline=4, by --batch"
    )
    with pytest.raises(EstimatorError, match=message):
        group_of(8, 8, "weak", 6, split)
    with pytest.raises(EstimatorError, match=r"has 1 micro-batch"):
        group_of(8, 8, "weak", 8, Split(pipeline=4, interleave=2, micro_batch=8))
    assert group_of(8, 8, "weak", 8, Split(pipeline=4, interleave=2)).micro_batches == 8
    with pytest.raises(EstimatorError, match=r"6 sample\(s\); .* by --batch \(batch_size in a study\)$"):
        group_of(8, 8, "weak", 6, Split(pipeline=4, interleave=2))


def test_the_largest_of_some_normal_numbers() -> None:
    rng = np.random.default_rng(0)
    for count in (2, 8, 64):
        drawn = rng.standard_normal((20_000, count)).max(axis=1).mean()
        assert expected_maximum(count) == pytest.approx(drawn, rel=0.05)  # Blom approximates
    assert expected_maximum(1) == 0.0


def test_more_devices_have_a_slower_one() -> None:
    two, many = (slowest_device(count, 2, UNEVEN, PLAN) for count in (2, 1024))
    assert (many > two).all()
    assert (slowest_device(1, 1, UNEVEN, PLAN) == 1.0).all()
    (_, device, _), (_, load, _) = UNEVEN.devices, UNEVEN.loads
    assert many[0] == pytest.approx(np.exp(device * expected_maximum(1024) + load * expected_maximum(2)))


def test_a_node_is_filled_before_the_next_so_that_one_more_device_never_helps() -> None:
    groups = [group_of(count, 8, "weak", 4) for count in range(1, 18)]
    assert [group.of_node for group in groups] == [*range(1, 9), *[8] * 9]
    waits = np.array([slowest_device(group.devices, group.of_node, UNEVEN, PLAN) for group in groups])
    assert (np.diff(waits, axis=0) >= 0).all()


def test_spreads_say_why_loads_differ() -> None:
    assert str(EVEN) == (
        "steps differ by 2.5 % (0.5 to 10 %) between devices, and by 1.5 % (0.5 to 6 %) within a node because of a "
        "shared host; the slowest device sets the step"
    )


def test_loads_differ_among_the_devices_of_a_node_alone() -> None:
    apart, together = (np.ptp(slowest_device(1024, of_node, UNEVEN, PLAN)) for of_node in (1, 16))
    assert together > 1.5 * apart


def test_layers_are_sequences_of_one_length_so_that_loads_differ_less() -> None:
    assert spreads_of(layers_profile()) == EVEN
    assert spreads_of(replace(layers_profile(), ops=layers_profile().ops.assign(time_s=1.0))) == UNEVEN
    assert UNEVEN.loads[2] > 2 * EVEN.loads[2]


def test_communication_is_exposed_as_far_as_it_lengthens_the_step() -> None:
    one, slowest = step(1.0), np.full(1 + PLAN.draws, 1.1)
    actual = lengthened(one, np.full_like(one.total, 1.5), slowest)
    assert actual.total[0] == pytest.approx(1.6)
    assert actual.communication_exposed[0] == pytest.approx(0.6)
    assert sum(float(samples[0]) for samples in actual.parts().values()) == pytest.approx(actual.total[0])


def test_no_group_is_faster_than_one_device() -> None:
    actual = lengthened(step(1.0), np.full(1 + PLAN.draws, 0.9), np.ones(1 + PLAN.draws))
    assert (actual.total == 1.0).all()


def test_efficiency_compares_the_same_work_of_each_device() -> None:
    one, many = np.array([1.0]), np.array([1.25])
    assert efficiency(one, many, 1)[0] == pytest.approx(0.8)
    assert efficiency(one, many / 8, 8)[0] == pytest.approx(0.8)


def test_copies_of_a_model_share_the_batch() -> None:
    split = Split(tensor=4, pipeline=2, micro_batch=2)
    assert group_of(64, 8, "weak", 16, split) == Group(64, 8, 16, 128, 8, 2)
    strong = group_of(64, 8, "strong", 64, split)
    assert (strong.copies, strong.local_batch, strong.at_once, strong.micro_batches) == (8, 8, 2, 4)


def test_micro_batches_that_do_not_divide_the_batch_of_a_copy_are_refused() -> None:
    with pytest.raises(EstimatorError, match="micro=3: it does not divide the 16 samples of a copy on 8 devices"):
        group_of(8, 8, "weak", 16, Split(micro_batch=3))


@pytest.mark.parametrize(("whole", "expected"), [(1, [1]), (7, [1, 7]), (36, [1, 2, 3, 4, 6, 9, 12, 18, 36])])
def test_divisors_are_all_that_leave_no_rest(whole: int, expected: list[int]) -> None:
    assert divisors(whole) == expected
