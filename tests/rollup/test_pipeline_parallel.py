"""Micro-batches in a row and through stages: the bubble, the exchange of stages, what a reduction adds."""

import numpy as np
import pytest

from estimator.rollup.pipeline_parallel import MicroStep, accumulated, exposed_reduction, pipelined

NOTHING = np.zeros(1)


def micro(before_s: float, blocks_s: float, behind_s: float, update_s: float = 0.0) -> MicroStep:
    return MicroStep(*(np.array([time_s]) for time_s in (before_s, blocks_s, behind_s, update_s)))


def test_micro_batches_share_one_update() -> None:
    assert accumulated(np.array([2.0]), np.array([0.5]), 4)[0] == pytest.approx(8.5)


@pytest.mark.parametrize(("stages", "count"), [(2, 1), (4, 1), (4, 8), (8, 64)])
def test_even_stages_idle_for_all_but_one_of_themselves(stages: int, count: int) -> None:
    """The bubble is (p − 1) / m of the ideal time: Narayanan et al., 2021, section 2.2."""
    ideal_s = count * 8.0 / stages
    found = pipelined(micro(0.0, 8.0, 0.0), stages, count, NOTHING)[0]
    assert found / ideal_s - 1 == pytest.approx((stages - 1) / count)


def test_the_longest_stage_sets_the_pace() -> None:
    many, few = (pipelined(micro(1.0, 8.0, 2.0), 4, count, NOTHING)[0] for count in (101, 1))
    assert few == pytest.approx(11.0)
    assert (many - few) / 100 == pytest.approx(4.0)  # the last stage: 8 / 4 + 2


def test_stages_hand_on_and_share_the_update() -> None:
    alone = pipelined(micro(0.0, 8.0, 0.0), 4, 2, NOTHING)[0]
    assert pipelined(micro(0.0, 8.0, 0.0), 4, 2, np.array([0.1]))[0] == pytest.approx(alone + 5 * 0.2)
    assert pipelined(micro(0.0, 8.0, 0.0, update_s=1.0), 4, 2, NOTHING)[0] == pytest.approx(alone + 0.25)


def test_a_reduction_hides_behind_the_last_backward_pass_but_for_its_last_part() -> None:
    passes_s = np.array([3.0])
    assert exposed_reduction(np.array([1.0]), passes_s, 10)[0] == pytest.approx(0.1)
    assert exposed_reduction(np.array([5.0]), passes_s, 10)[0] == pytest.approx(3.0)
    assert exposed_reduction(NOTHING, passes_s, 0)[0] == 0.0


def test_ten_thousand_stages_cost_as_much_as_two() -> None:
    """Stages of equal blocks take alike, so that none is replayed by itself."""
    assert pipelined(micro(0.0, 1e4, 0.0), 10_000, 1, NOTHING)[0] == pytest.approx(1e4)
