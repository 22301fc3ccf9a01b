"""Events that ran at once on one lane, and events cut where one of another lane began."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from estimator.profiles.lanes import pieces, sides

Row = tuple[int, int, int]  # lane, start and duration
Rows = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 20), st.integers(0, 9)), min_size=1, max_size=20)


def columns(rows: list[Row]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Lane, start and end, by start."""
    lane, start, duration = np.array(sorted(rows, key=lambda row: row[1])).T
    return lane, start.astype(float), (start + duration).astype(float)


def test_events_that_do_not_overlap_stay_on_their_lane() -> None:
    assert sides(*columns([(0, 0, 5), (0, 5, 5), (1, 2, 9)])).tolist() == [0, 0, 0]


def test_a_free_side_is_used_again() -> None:
    assert sides(*columns([(0, 0, 9), (0, 1, 2), (0, 4, 2), (0, 5, 1)])).tolist() == [0, 1, 1, 2]


@given(Rows)
def test_no_two_events_of_one_side_run_at_once(rows: list[Row]) -> None:
    lane, start, end = columns(rows)
    side = sides(lane, start, end)
    for key in {*zip(lane.tolist(), side.tolist(), strict=True)}:
        own = (lane == key[0]) & (side == key[1])
        assert (start[own][1:] >= end[own][:-1]).all()


def test_an_event_is_cut_where_another_one_began_that_had_waited() -> None:
    lane, start, end = columns([(0, 0, 10), (1, 4, 3), (1, 7, 2)])
    row, begin, stop = pieces(lane, start, end, np.array([0.0, 0.0, 7.0]))  # the last one waited for nothing
    assert row.tolist() == [0, 0, 1, 2]
    assert begin.tolist() == [0, 4, 4, 7]
    assert stop.tolist() == [4, 10, 7, 9]
