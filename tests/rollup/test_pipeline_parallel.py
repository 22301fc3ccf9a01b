"""Micro-batches in a row and through stages: the bubble, the exchange of stages, what a reduction adds."""

import numpy as np
import pytest

from estimator.rollup.pipeline_parallel import (
    MicroStep,
    accumulated,
    bubble_share,
    exposed_reduction,
    forward_pass,
    pipelined,
)
from tests.rollup.megatron_order import replayed

NOTHING = np.zeros(1)


def micro(before_s: float, blocks_s: float, behind_s: float, update_s: float = 0.0) -> MicroStep:
    return MicroStep(*(np.array([time_s]) for time_s in (before_s, blocks_s, behind_s, update_s)))


def test_micro_batches_share_one_update() -> None:
    assert accumulated(np.array([2.0]), np.array([2.5]), 4)[0] == pytest.approx(8.5)


@pytest.mark.parametrize(("stages", "count"), [(2, 1), (4, 1), (4, 8), (8, 64)])
def test_even_stages_idle_for_all_but_one_of_themselves(stages: int, count: int) -> None:
    """The bubble is (p − 1) / m of the ideal time: Narayanan et al., 2021, section 2.2."""
    ideal_s = count * 8.0 / stages
    actual = pipelined(micro(0.0, 8.0, 0.0), stages, count, NOTHING)[0]
    assert actual / ideal_s - 1 == pytest.approx((stages - 1) / count)


@pytest.mark.parametrize(("stages", "runs", "count"), [(1, 1, 4), (4, 1, 1), (4, 1, 8), (4, 2, 8)])
def test_a_forward_pass_has_the_bubble_of_a_step(stages: int, runs: int, count: int) -> None:
    """Stages of equal blocks wait as long for the forward passes as for the whole step."""
    pass_on_s = np.array([0.0 if stages == 1 else 0.25])  # in a step there and back
    m, p, v = (np.array([float(number)]) for number in (count, stages, runs))
    actual = forward_pass(np.array([8.0]), m, p, v, 2.0 * pass_on_s)
    assert actual == pytest.approx(pipelined(micro(0.0, 8.0, 0.0), stages, count, pass_on_s, runs))


@pytest.mark.parametrize(("stages", "count", "runs"), [(2, 1, 1), (8, 1, 1), (4, 8, 1), (4, 8, 2)])
def test_the_share_of_the_bubble_is_what_a_step_is_longer_than_without(stages: int, count: int, runs: int) -> None:
    whole_s = pipelined(micro(0.0, 8.0, 0.0), stages, count, NOTHING, runs)[0]
    assert bubble_share(stages, count, runs) == pytest.approx(1 - count * 8.0 / stages / whole_s)


@pytest.mark.parametrize("interleave", [1, 2, 4])
@pytest.mark.parametrize(("stages", "count"), [(2, 2), (4, 8), (8, 64)])
def test_interleaved_stages_idle_for_a_run_of_blocks(stages: int, count: int, interleave: int) -> None:
    """The bubble is (p − 1) / (v · m) of the ideal time: Narayanan et al., 2021, section 2.2.2."""
    actual = pipelined(micro(0.0, 8.0, 0.0), stages, count, NOTHING, interleave)[0]
    assert actual / (count * 8.0 / stages) - 1 == pytest.approx((stages - 1) / (interleave * count))


@pytest.mark.parametrize(
    ("stages", "runs", "count"), [(2, 1, 4), (4, 1, 8), (2, 2, 2), (4, 2, 8), (4, 4, 16), (8, 3, 16)]
)
def test_the_closed_form_is_the_replay_of_megatrons_order(stages: int, runs: int, count: int) -> None:
    of_run = (1.0, 2.0)
    for (first, last), off in {
        ((0.0, 0.0), (0.0, 0.0)): 1e-9,  # stages alike
        ((0.0, 0.0), (0.5, 1.0)): 1e-9,
        ((0.0, 0.0), (2.0, 4.0)): 1e-9,  # a head of two runs of blocks
        ((0.1, 0.2), (0.4, 0.8)): 0.03,
    }.items():
        actual = pipelined(micro(sum(first), stages * runs * sum(of_run), sum(last)), stages, count, NOTHING, runs)[0]
        assert actual == pytest.approx(replayed(stages, runs, count, of_run, first, last), rel=off)


@pytest.mark.parametrize(
    ("blocks", "stages", "runs", "count"),
    [(12, 5, 1, 1), (12, 5, 1, 20), (12, 8, 1, 16), (126, 16, 1, 32), (14, 4, 2, 8), (40, 6, 2, 12)],
)
def test_uneven_stages_idle_at_most_as_where_the_fullest_come_last(
    blocks: int, stages: int, runs: int, count: int
) -> None:
    """The replay of Megatron's order: with the fullest stages behind all others, and in front of them."""
    most = -(-blocks // stages)
    fewer = stages * most - blocks
    of_run, none = (1.0, 2.0), (0.0, 0.0)
    micro_step = micro(0.0, blocks * sum(of_run), 0.0)
    actual = pipelined(micro_step, stages, count, NOTHING, runs, most / blocks)[0]
    sizes = [size / runs for size in (*[most - 1] * fewer, *[most] * (stages - fewer))]
    last, first = (replayed(stages, runs, count, of_run, none, none, order) for order in (sizes, sizes[::-1]))
    busy = count * most * sum(of_run)
    assert actual == pytest.approx(last)
    assert 0.45 * (actual - busy) <= first - busy <= (actual - busy) * (1 + 1e-9)


def test_a_stage_more_that_leaves_the_fullest_as_full_only_passes_on() -> None:
    """Of 12 blocks, 4 and 5 stages have at most 3."""
    pass_on_s = np.array([0.1])
    four, five = (pipelined(micro(1.0, 12.0, 2.0), stages, 8, pass_on_s, 1, 3 / 12)[0] for stages in (4, 5))
    assert five == pytest.approx(four + 0.2)


def test_interleaved_stages_pass_on_more_often() -> None:
    """v times as often in the steady state: Narayanan et al., 2021, section 2.2.2."""
    for runs in (1, 2, 4):
        step_s = [pipelined(micro(0.0, 0.0, 0.0), 4, count, np.array([0.1]), runs)[0] for count in (4, 8)]
        assert step_s[1] - step_s[0] == pytest.approx(4 * runs * 0.2)


def test_the_longest_stage_sets_the_pace() -> None:
    many, few = (pipelined(micro(1.0, 8.0, 2.0), 4, count, NOTHING)[0] for count in (101, 1))
    assert few == pytest.approx(11.0)
    assert (many - few) / 100 == pytest.approx(4.0)  # the last stage: 8 / 4 + 2


def test_stages_hand_on_and_update_at_once() -> None:
    """The update is that of the stage with the most weights."""
    alone = pipelined(micro(0.0, 8.0, 0.0), 4, 2, NOTHING)[0]
    assert pipelined(micro(0.0, 8.0, 0.0), 4, 2, np.array([0.1]))[0] == pytest.approx(alone + 5 * 0.2)
    assert pipelined(micro(0.0, 8.0, 0.0, update_s=1.0), 4, 2, NOTHING)[0] == pytest.approx(alone + 1.0)


def test_a_reduction_hides_behind_the_last_backward_pass_but_for_its_last_part() -> None:
    passes_s = np.array([3.0])
    assert exposed_reduction(np.array([1.0]), passes_s, 10)[0] == pytest.approx(0.1)
    assert exposed_reduction(np.array([5.0]), passes_s, 10)[0] == pytest.approx(3.0)
    assert exposed_reduction(NOTHING, passes_s, 0)[0] == 0.0


def test_ten_thousand_stages_cost_as_much_as_two() -> None:
    """Stages of equal blocks take alike, so that none is replayed by itself."""
    assert pipelined(micro(0.0, 1e4, 0.0), 10_000, 1, NOTHING)[0] == pytest.approx(1e4)
