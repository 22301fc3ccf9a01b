"""Documents → DataFrames: an interval becomes three columns, ``step_s``, ``step_low_s``, ``step_high_s``."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

ENDS = ("low", "high")
UNIT = re.compile(r"(_per_s|_per_day|_j_per_step|_s|_w|_j|)$")  # at the end of a key


def end_of(name: str, end: str) -> str:
    """The column of one end of an interval: the end stands before the unit."""
    return UNIT.sub(rf"_{end}\1", name, count=1)


def frame(records: Iterable[Mapping[str, Any]], columns: Sequence[str], intervals: Sequence[str] = ()) -> pd.DataFrame:
    """A table of these columns, of which ``intervals`` have a low and a high end; absence is NaN."""
    rows = [dict(_cells(record, columns, intervals)) for record in records]
    names = [name for column in columns for name in _names(column, intervals)]
    numbers = [name for column in intervals for name in _names(column, intervals) if name in names]
    table = pd.DataFrame(rows, columns=names)
    return table.where(table.notna(), np.nan).astype(dict.fromkeys(numbers, float))


def _names(column: str, intervals: Sequence[str]) -> list[str]:
    return [column, *(end_of(column, end) for end in ENDS)] if column in intervals else [column]


def _cells(record: Mapping[str, Any], columns: Sequence[str], intervals: Sequence[str]) -> Iterable[tuple[str, Any]]:
    for column in columns:
        value = record.get(column)
        if column in intervals:
            interval = value or {}
            yield column, interval.get("mid")
            yield from ((end_of(column, end), interval.get(end)) for end in ENDS)
        else:
            yield column, value
