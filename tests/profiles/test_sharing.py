"""Shared times against a simple computation that divides every instant among the running events."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from estimator.profiles.events import Batch, tally

Event = tuple[int, int, int]  # kind, start, duration
KINDS = 3


@st.composite
def lane(draw: st.DrawFn) -> list[Event]:
    """Consecutive events of one lane."""
    now, events = draw(st.integers(0, 9)), list[Event]()
    for _ in range(draw(st.integers(0, 6))):
        duration = draw(st.integers(0, 9))
        events.append((draw(st.integers(0, KINDS - 1)), now, duration))
        now += duration + draw(st.integers(0, 4))
    return events


def batches(events: list[Event], size: int) -> list[Batch]:
    if not events:
        return []
    whole = Batch(*(np.array(column, dtype=np.int64) for column in zip(*events, strict=True))).sorted()
    return [whole.take(slice(i, i + size)) for i in range(0, len(whole), size)]


def simple_shares(lanes: list[list[Event]]) -> np.ndarray:
    whole, shared = np.zeros(KINDS), np.zeros(KINDS)
    for now in range(200):
        running = [kind for events in lanes for kind, start, duration in events if start <= now < start + duration]
        for kind in running:
            whole[kind] += 1
            shared[kind] += 1 / len(running)
    return np.divide(shared, whole, out=np.ones(KINDS), where=whole > 0)


@pytest.mark.slow
@given(st.lists(lane(), max_size=4), st.integers(1, 7))
def test_shares_in_batches_of_any_size_equal_the_simple_ones(lanes: list[list[Event]], size: int) -> None:
    for result in (tally([batches(events, size) for events in lanes]), tally([], [batches(e, size) for e in lanes])):
        assert result.share == pytest.approx(simple_shares(lanes)[: len(result.calls)])
        assert (result.share * result.self_ps).sum() == pytest.approx(result.busy_ps)


def test_events_within_another_do_not_count_as_lanes() -> None:
    outer = [(0, 0, 10), (1, 2, 4)]
    assert tally([batches(outer, 9), batches([(2, 5, 10)], 9)]).share == pytest.approx([0.75, 0.875, 0.75])


def test_lanes_whose_events_cross_are_busy_until_the_last_one_ends() -> None:
    crossing = [(0, 0, 10), (0, 5, 10), (0, 12, 8)]
    result = tally([batches(crossing, 2), batches([(1, 0, 20)], 1)])
    assert result.share == pytest.approx([0.5, 0.5])


def test_overlapping_events_of_a_flat_lane_share_their_time() -> None:
    assert tally([], [batches([(0, 0, 10), (1, 5, 10)], 9)]).share == pytest.approx([0.75, 0.75])


def test_a_single_lane_shares_nothing() -> None:
    assert tally([batches([(0, 0, 10), (1, 2, 4)], 9)]).share.tolist() == [1.0, 1.0]
