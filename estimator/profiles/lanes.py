"""Lanes of recorded events: as many as ran side by side, and cut where an event of another one began."""

from __future__ import annotations

import heapq

import numpy as np

from estimator.core.types import Floats, Integers

INSTANT_S = 1e-9  # in which nothing happens


def sides(lane: Integers, start_s: Floats, end_s: Floats) -> Integers:
    """For each event, by start, the first of several lanes side by side that is free: 0 where no two run at once."""
    side = np.zeros_like(lane)
    for number in np.unique(lane):
        rows = np.flatnonzero(lane == number)
        if (start_s[rows[1:]] < np.maximum.accumulate(end_s[rows])[:-1] - INSTANT_S).any():
            side[rows] = _free_sides(start_s[rows].tolist(), end_s[rows].tolist())
    return side


def _free_sides(start_s: list[float], end_s: list[float]) -> list[int]:
    free, busy, of_events = list[int](), list[tuple[float, int]](), list[int]()
    for start, end in zip(start_s, end_s, strict=True):
        while busy and busy[0][0] <= start + INSTANT_S:
            heapq.heappush(free, heapq.heappop(busy)[1])
        side = heapq.heappop(free) if free else len(busy)
        heapq.heappush(busy, (end, side))
        of_events.append(side)
    return of_events


def pieces(lane: Integers, start_s: Floats, end_s: Floats, waits_s: Floats) -> tuple[Integers, Floats, Floats]:
    """The events cut where one of another lane began that had waited, while they ran: row, start and end of each piece.

    Args:
        lane: of each event, by start; no two of one lane run at once.
        start_s: of each event.
        end_s: of each event.
        waits_s: since when each event could have begun.
    """
    cut_row, cut_s = _cuts(lane, start_s, end_s, np.flatnonzero(start_s > waits_s + INSTANT_S))
    row, begin_s = np.concatenate([np.arange(len(lane)), cut_row]), np.concatenate([start_s, cut_s])
    order = np.lexsort((begin_s, row))
    row, begin_s = row[order], begin_s[order]
    is_cut = np.append(row[1:] == row[:-1], False)
    stop_s = np.where(is_cut, np.append(begin_s[1:], 0.0), end_s[row])
    in_time = np.argsort(begin_s, kind="stable")
    return row[in_time], begin_s[in_time], stop_s[in_time]


def _cuts(lane: Integers, start_s: Floats, end_s: Floats, late: Integers) -> tuple[Integers, Floats]:
    """The rows of the events that ran when one of ``late`` began on another lane, and when that was; each pair once."""
    during = np.full(len(late), -1, dtype=np.int64)
    for number in np.unique(lane):
        rows = np.flatnonzero(lane == number)
        place = np.searchsorted(start_s[rows], start_s[late]) - 1
        running = (place >= 0) & (lane[late] != number) & (end_s[rows[place]] > start_s[late])
        during[running] = rows[place[running]]
    pairs = np.unique(np.stack([during, start_s[late]], axis=1)[during >= 0], axis=0)
    return pairs[:, 0].astype(np.int64), pairs[:, 1]
