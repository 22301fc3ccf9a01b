"""Events of lanes that run side by side → the share of its time by which each kind of op lengthens the step.

Each instant is divided evenly among the busy lanes; in flat lanes, whose events do not nest, among the running events.
An event's share is that of its whole duration, events inside it included. Without nesting, shared times sum to the time
during which any lane was busy.
"""

from __future__ import annotations

import numpy as np

from estimator.core.physics import ratio
from estimator.core.types import Floats, Integers
from estimator.profiles.columns import NONE

ORIGIN = -(2**63)


class Sharing:
    """Times and shared times, by kind, of events that are added in the order of time.

    ``passed`` is the shared time of an event that began at the origin and ran until ``now`` [ps].
    """

    def __init__(self) -> None:
        self.times: Floats = np.zeros((2, 0))  # (whole, shared) × kinds [ps]
        self.origin, self.now, self.passed, self.busy = ORIGIN, 0, 0.0, 0
        self.opening, self.closing = NONE, NONE  # times after ``now`` at which lanes become busy and idle
        self.kind, self.begin, self.end, self.passed_before = NONE, NONE, NONE, np.empty(0)  # of events not yet ended

    def add(self, kind: Integers, start: Integers, duration: Integers, opening: Integers, closing: Integers) -> None:
        """Add events sorted by start, none before an event added earlier; and the times at which their lanes become
        busy (``opening``) and idle (``closing``).
        """
        self.origin = int(start[0]) if self.origin == ORIGIN else self.origin
        begin, end = start - self.origin, start + duration - self.origin
        self.opening = np.concatenate([self.opening, opening - self.origin])
        self.closing = np.concatenate([self.closing, closing - self.origin])
        times, passed = self._advance(int(begin[-1]))
        self.kind, self.begin = np.concatenate([self.kind, kind]), np.concatenate([self.begin, begin])
        self.end = np.concatenate([self.end, end])
        self.passed_before = np.concatenate([self.passed_before, np.interp(begin, times, passed)])
        self._count_ended(times, passed)

    def shares(self, kinds: int) -> Floats:
        """Shared time / whole time of each kind; 1 where a kind took no time."""
        if len(self.end):
            self._count_ended(*self._advance(int(self.end.max())))
        whole, shared = np.pad(self.times, ((0, 0), (0, max(kinds - self.times.shape[1], 0))))[:, :kinds]
        return ratio(shared, whole)

    def _advance(self, until: int) -> tuple[Integers, Floats]:
        """The times up to ``until`` at which the number of busy lanes changes, and ``passed`` at each."""
        (opened, self.opening), (closed, self.closing) = (
            (times[times <= until], times[times > until]) for times in (self.opening, self.closing)
        )
        times = np.concatenate([[self.now], opened, closed, [until]])
        change = np.repeat([0, 1, -1, 0], [1, len(opened), len(closed), 1])
        order = np.argsort(times, kind="stable")
        times, busy = times[order], self.busy + np.cumsum(change[order])
        shared_ps = ratio(np.diff(times), busy[:-1], 0.0)
        passed = self.passed + np.concatenate([[0.0], np.cumsum(shared_ps)])
        self.now, self.passed, self.busy = until, float(passed[-1]), int(busy[-1])
        return times, passed

    def _count_ended(self, times: Integers, passed: Floats) -> None:
        """Count the events that have ended."""
        ended = self.end <= self.now
        kind, shared = self.kind[ended], np.interp(self.end[ended], times, passed) - self.passed_before[ended]
        size = max(self.times.shape[1], int(kind.max(initial=-1)) + 1)
        new = np.stack([np.bincount(kind, values, size) for values in ((self.end - self.begin)[ended], shared)])
        self.times = np.pad(self.times, ((0, 0), (0, size - self.times.shape[1]))) + new
        self.kind, self.begin, self.end = self.kind[~ended], self.begin[~ended], self.end[~ended]
        self.passed_before = self.passed_before[~ended]
