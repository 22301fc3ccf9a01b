"""Events of lanes that run side by side → how much of its time each kind of op lengthens the step by.

Each instant is divided evenly among the lanes that are busy then (in lanes whose events do not hold each other, among
these events). An event that holds others is shared as its whole time is; where none does, the shares of all ops sum to
the time in which any lane was busy.
"""

from __future__ import annotations

import numpy as np

from estimator.core.types import Floats, Integers
from estimator.profiles.columns import NONE

ORIGIN = -(2**63)


class Sharing:
    """Times and shared times of the events given so far, by kind; in the order of time, piece by piece.

    ``passed`` is how much of the time until ``now`` a lane that was always busy would have had for itself [ps].
    """

    def __init__(self) -> None:
        self.times: Floats = np.zeros((2, 0))  # whole and shared × kinds [ps]
        self.origin, self.now, self.passed, self.busy = ORIGIN, 0, 0.0, 0
        self.opening, self.closing = NONE, NONE  # when lanes become busy and idle, still to come
        self.kind, self.begin, self.end, self.passed_before = NONE, NONE, NONE, np.empty(0)  # of events not yet over

    def add(self, kind: Integers, start: Integers, duration: Integers, opening: Integers, closing: Integers) -> None:
        """More events by start, none of which starts before those given earlier; and the beginnings and ends of the
        time in which they keep their lanes busy.
        """
        self.origin = int(start[0]) if self.origin == ORIGIN else self.origin
        begin, end = start - self.origin, start + duration - self.origin
        self.opening = np.concatenate([self.opening, opening - self.origin])
        self.closing = np.concatenate([self.closing, closing - self.origin])
        times, passed = self._passing(int(begin[-1]))
        self.kind, self.begin = np.concatenate([self.kind, kind]), np.concatenate([self.begin, begin])
        self.end = np.concatenate([self.end, end])
        self.passed_before = np.concatenate([self.passed_before, np.interp(begin, times, passed)])
        self._finish(times, passed)

    def shares(self, kinds: int) -> Floats:
        """The shared over the whole time of each of so many kinds; 1 where none of it was seen."""
        if len(self.end):
            self._finish(*self._passing(int(self.end.max())))
        whole, shared = np.pad(self.times, ((0, 0), (0, max(kinds - self.times.shape[1], 0))))[:, :kinds]
        return np.asarray(np.divide(shared, whole, out=np.ones(kinds), where=whole > 0))

    def _passing(self, until: int) -> tuple[Integers, Floats]:
        """The times at which the number of busy lanes changes, up to ``until``, and what has passed by then."""
        (opened, self.opening), (closed, self.closing) = (
            (times[times <= until], times[times > until]) for times in (self.opening, self.closing)
        )
        times = np.concatenate([[self.now], opened, closed, [until]])
        change = np.repeat([0, 1, -1, 0], [1, len(opened), len(closed), 1])
        order = np.argsort(times, kind="stable")
        times, busy = times[order], self.busy + np.cumsum(change[order])
        alone = np.divide(np.diff(times), busy[:-1], out=np.zeros(len(times) - 1), where=busy[:-1] > 0)
        passed = self.passed + np.concatenate([[0.0], np.cumsum(alone)])
        self.now, self.passed, self.busy = until, float(passed[-1]), int(busy[-1])
        return times, passed

    def _finish(self, times: Integers, passed: Floats) -> None:
        """Count the events that are over."""
        over = self.end <= self.now
        kind, shared = self.kind[over], np.interp(self.end[over], times, passed) - self.passed_before[over]
        size = max(self.times.shape[1], int(kind.max(initial=-1)) + 1)
        new = np.stack([np.bincount(kind, values, size) for values in ((self.end - self.begin)[over], shared)])
        self.times = np.pad(self.times, ((0, 0), (0, size - self.times.shape[1]))) + new
        self.kind, self.begin, self.end = self.kind[~over], self.begin[~over], self.end[~over]
        self.passed_before = self.passed_before[~over]
