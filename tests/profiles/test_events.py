"""Self times and busy time against a simple computation with a stack and a sorted list of intervals."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from estimator.profiles.events import Batch, covered, tally

Event = tuple[int, int, int]  # kind, start, duration


@st.composite
def nested(draw: st.DrawFn, depth: int = 3) -> list[Event]:
    """Nested and consecutive events of one lane; only events of zero duration may start at once."""
    events: list[Event] = []
    now = draw(st.integers(0, 5))
    for _ in range(draw(st.integers(0, 4))):
        inner = draw(nested(depth - 1)) if depth else []
        length = max((start + duration for _, start, duration in inner), default=0) + draw(st.integers(1, 5))
        events.append((draw(st.integers(0, 3)), now, length + 1))
        events += [(kind, now + 1 + start, duration) for kind, start, duration in inner]
        now += length + 1 + draw(st.integers(0, 2))
    return events


def batches(events: list[Event], size: int) -> list[Batch]:
    whole = Batch(*(np.array(column, dtype=np.int64) for column in zip(*events, strict=True))) if events else None
    if whole is None:
        return []
    whole = whole.sorted()
    return [whole.take(slice(i, i + size)) for i in range(0, len(whole), size)]


def simple_tally(lanes: list[list[Event]]) -> tuple[dict[int, int], dict[int, int], dict[int, int], int]:
    calls: Counter[int] = Counter()
    first: dict[int, int] = {}
    self_ps: Counter[int] = Counter()
    busy, reached = 0, -1
    for lane in lanes:
        stack: list[tuple[int, int]] = []
        for kind, start, duration in sorted(lane, key=lambda event: (event[1], -event[2])):
            calls[kind] += 1
            self_ps[kind] += duration
            first[kind] = min(start, first.get(kind, start))
            while stack and stack[-1][0] <= start:
                stack.pop()
            if stack:
                self_ps[stack[-1][1]] -= duration
            stack.append((start + duration, kind))
    for _, start, duration in sorted((event for lane in lanes for event in lane), key=lambda event: event[1]):
        busy += max(start + duration - max(start, reached), 0)
        reached = max(reached, start + duration)
    return calls, self_ps, first, busy


@pytest.mark.slow
@given(st.lists(nested(), max_size=3), st.integers(1, 6))
def test_tally_in_batches_of_any_size_equals_the_simple_one(lanes: list[list[Event]], size: int) -> None:
    result = tally([batches(lane, size) for lane in lanes])
    calls, self_ps, first, busy = simple_tally(lanes)
    kinds = range(len(result.calls))
    assert {kind: result.calls[kind] for kind in kinds if result.calls[kind]} == calls
    assert {kind: result.self_ps[kind] for kind in kinds if result.calls[kind]} == self_ps
    assert {kind: result.first_ps[kind] for kind in kinds if result.calls[kind]} == first
    assert result.busy_ps == busy
    assert result.crossing == 0


def test_an_event_that_outlasts_its_parent_is_cut_off_and_counted() -> None:
    result = tally([batches([(0, 10, 10), (1, 15, 20)], 9)])
    assert result.crossing == 1
    assert list(result.self_ps) == [5, 20]
    assert result.busy_ps == 25


def test_what_several_lanes_wait_for_is_one_wait() -> None:
    lanes = [(0, 10, 10), (1, 30, 5)], [(0, 15, 10), (2, 30, 5)]
    result = tally([batches(lane, 1) for lane in lanes], waits={0})
    assert list(result.self_ps) == [15, 5, 5]
    assert (result.sum_ps, result.busy_ps) == (25, 20)
    assert list(result.self_ps * result.share) == pytest.approx([15, 2.5, 2.5])


def test_tally_of_no_events_is_empty() -> None:
    result = tally([[], []])
    assert (len(result.calls), result.busy_ps) == (0, 0)


SIZES = st.integers(0, 30)


@given(
    st.lists(st.tuples(st.integers(0, 3), SIZES, SIZES), max_size=12, unique_by=lambda event: event[1]),
    st.integers(1, 6),
)
def test_events_that_cross_leave_no_negative_time(events: list[Event], size: int) -> None:
    result = tally([batches(events, size)])
    assert result.crossing == tally([batches(events, 99)]).crossing
    assert (result.self_ps >= 0).all()
    assert result.busy_ps <= result.self_ps.sum() <= sum(duration for *_, duration in events)


def test_events_of_a_flat_lane_keep_their_whole_time() -> None:
    result = tally([], [batches([(0, 10, 10), (1, 12, 4), (0, 15, 20)], 2)])
    assert (list(result.self_ps), result.busy_ps, result.crossing) == ([30, 4], 25, 0)


def test_covered_time() -> None:
    assert covered([(10**18, 5), (10**18 + 3, 4), (10**18 + 100, 1)]) == 8
    assert covered([]) == 0
