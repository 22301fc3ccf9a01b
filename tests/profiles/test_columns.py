"""Columns of whole numbers that grow part by part."""

from typing import Any

import numpy as np
import pytest

from estimator.profiles.columns import Columns, Ids, slices


def test_keys_are_numbered_in_the_order_of_their_first_occurrence() -> None:
    ids = Ids()
    assert [ids[key] for key in ("b", "a", "b", ("c", 1), "a")] == [0, 1, 0, 2, 1]
    assert list(ids) == ["b", "a", ("c", 1)]


def test_parts_are_joined_in_the_order_in_which_they_were_added() -> None:
    columns = Columns("start", "lane")
    assert len(columns) == 0
    columns.add([3, 1], np.array([0, 0]))
    columns.add([2], [1])
    assert columns["start"].tolist() == [3, 1, 2]
    columns.add([9], [1])
    assert (columns["start"].tolist(), columns["lane"].tolist(), len(columns)) == ([3, 1, 2, 9], [0, 0, 1, 1], 4)
    with pytest.raises(ValueError, match="zip"):
        columns.add([1])


def test_rows_are_taken_by_place_and_by_flag() -> None:
    columns = Columns("start", "lane")
    columns.add([5, 6, 7], [0, 1, 2])
    rows: list[Any] = [np.array([2, 0]), np.array([True, False, True]), slice(1, None)]
    assert [columns.take(each)["start"].tolist() for each in rows] == [[7, 5], [5, 7], [6, 7]]
    assert columns.take(slice(0))["lane"].tolist() == []


def test_in_a_lane_an_op_comes_before_those_inside_it() -> None:
    columns = Columns("lane", "start", "duration")
    columns.add([1, 0, 0, 0], [0, 5, 5, 2], [1, 3, 9, 1])
    by_lane = columns.sorted_by_lane()
    assert list(zip(*(by_lane[name].tolist() for name in ("lane", "start", "duration")), strict=True)) == [
        (0, 2, 1), (0, 5, 9), (0, 5, 3), (1, 0, 1)
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("lanes", "rows"),
    [([], []), ([4], [(0, 1)]), ([0, 0, 3, 7, 7, 7], [(0, 2), (2, 3), (3, 6)]), ([-1, 0], [(0, 1), (1, 2)])],
)
def test_each_lane_is_a_slice(lanes: list[int], rows: list[tuple[int, int]]) -> None:
    assert [(each.start, each.stop) for each in slices(np.array(lanes, dtype=np.int64))] == rows
