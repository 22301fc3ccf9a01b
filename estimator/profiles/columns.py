"""Columns of whole numbers, in which readers hold the events of large traces: too many for Python objects."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from estimator.core.types import Flags, Integers

NONE: Integers = np.empty(0, dtype=np.int64)
UNKNOWN = -(2**63)  # a time, a number of a launch, or a token that an event does not have


class Ids(dict[Any, int]):
    """Numbers for keys, in the order of their first occurrence."""

    def __missing__(self, key: Any) -> int:
        self[key] = len(self)
        return self[key]


class Columns:
    """Named columns of whole numbers, which grow part by part."""

    def __init__(self, *names: str) -> None:
        self.parts: dict[str, list[Integers]] = {name: [NONE] for name in names}

    def add(self, *columns: Sequence[int] | Integers) -> None:
        """Append one part to each column."""
        for parts, column in zip(self.parts.values(), columns, strict=True):
            parts.append(np.asarray(column, dtype=np.int64))

    def __getitem__(self, name: str) -> Integers:
        parts = self.parts[name]
        if len(parts) > 1:
            parts[:] = [np.concatenate(parts)]
        return parts[0]

    def __len__(self) -> int:
        return len(self[next(iter(self.parts))])

    @property
    def end(self) -> Integers:
        """When each event ended."""
        return self["start"] + self["duration"]

    def windows(self) -> Integers:
        """Start and end of each event, in the order of time."""
        return np.stack([self["start"], self.end], axis=1)[np.argsort(self["start"], kind="stable")]

    def take(self, rows: Flags | Integers | slice) -> Columns:
        """Columns of these rows alone."""
        taken = Columns(*self.parts)
        taken.add(*(self[name][rows] for name in self.parts))
        return taken

    def sorted_by_lane(self) -> Columns:
        """All rows sorted by lane, then start, then falling duration."""
        return self.take(np.lexsort((-self["duration"], self["start"], self["lane"])))


def slices(lanes: Integers) -> Iterator[slice]:
    """Yield the rows of each lane; ``lanes`` is sorted."""
    starts = np.flatnonzero(np.diff(lanes, prepend=lanes[:1] - 1)).tolist()
    yield from (slice(*bounds) for bounds in zip(starts, [*starts, len(lanes)][1:], strict=True))
