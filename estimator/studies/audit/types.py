"""Types of an audit: printed numbers beside ours, with their marks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from estimator.core.types import Estimate, Interval, Number
from estimator.studies.audit.printed import Printed

Mark = Literal["reproduced", "rounding", "data-bound", "wrong precision", "wrong part", "cannot be told"]
Kind = Literal["peaks", "counts", "means", "ratios", "like rows", "times"]
Cell = tuple[str, str]  # row and column


@dataclass(frozen=True)
class ImpliedStep:
    """The step that a printed time per epoch implies: its time, and the rate of its products and convolutions.

    ``predicted`` is the whole step on the likeliest device [s], its host by the default scenario.
    """

    time_s: float
    flop_per_s: float | None = None
    utilisation: float | None = None  # that rate over the device's peak
    predicted: Interval | None = None

    @property
    def holds(self) -> bool | None:
        """Whether the interval of the predicted step holds this one; None where there is none."""
        if self.predicted is None or self.predicted.low is None or self.predicted.high is None:
            return None
        return self.predicted.low <= self.time_s <= self.predicted.high


@dataclass(frozen=True)
class CheckedNumber:
    """A number that a table prints, beside ours, with its mark and the reason for it."""

    quantity: str
    row: str | None
    column: str | None
    printed: Printed
    ours: Number | None
    mark: Mark
    reason: str | None
    numbers: tuple[Number, ...] = field(default=(), repr=False)  # ours, and what it is derived from
    implied_step: ImpliedStep | None = None  # of a time per epoch
    busy: float | None = None  # share of the time in which the device worked, by the table's source
    like_with_like: Number | None = None  # the same ratio of predicted times


@dataclass(frozen=True)
class Audit:
    """A published table with all its numbers checked, by kind."""

    title: str
    source: str
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    meanings: Mapping[Mark, str]  # of the marks, with their rules
    checked: Mapping[Kind, tuple[CheckedNumber, ...]]
    estimates: Mapping[str, Estimate] = field(repr=False)

    def cell(self, kind: Kind, row: str | None, column: str | None = None) -> list[CheckedNumber]:
        """The numbers of one kind that stand in a row, or in one column of it."""
        return [number for number in self.checked[kind] if (number.row, number.column) == (row, column)]

    def findings(self) -> list[CheckedNumber]:
        """Numbers that contradict the table's arithmetic or wait for data, and comparisons of like rows."""
        return [
            number
            for kind, numbers in self.checked.items()
            for number in numbers
            if kind != "times" and (kind == "like rows" or number.mark not in ("reproduced", "rounding"))
        ]

    def count_marks(self) -> dict[Mark, dict[Kind, int]]:
        """How many numbers of each kind have each mark."""
        return {
            mark: {kind: sum(number.mark == mark for number in numbers) for kind, numbers in self.checked.items()}
            for mark in self.meanings
        }
