"""Slices of the batch: of how many the ops of a loop over them take one at a time, as an attribute of their rows.

An unknown size is the batch. Behind a slice of the batch it is a part of it: in a loop whose ops run as many times a
step as there are slices, one of these; elsewhere nothing tells which part, so that it stays unknown.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from estimator.core.attributes import attribute_values, with_attribute
from estimator.core.types import Flags
from estimator.work.edges import listed
from estimator.work.shapes import SLICES, UNKNOWN_SLICES

OPEN = r"(?:^|[;x])-1(?![^;x])"  # an unknown size in a cell of shapes
TEXTS = ("shapes", "output_shapes")


def mark_slices(work: pd.DataFrame, batch: int | None) -> pd.DataFrame:
    """WORK with ``slices=N``, or ``slices=unknown``, in the attributes of the ops of unknown size behind slices."""
    if batch is None or not (first := _slices_batch(work, batch)).any():
        return work
    is_open = _holds(work, TEXTS) & ~work["attributes"].fillna("").str.contains(f"{SLICES}=", regex=False)
    rows = is_open.to_numpy(dtype=bool) & _behind(work, first)
    calls = work["calls"].fillna(1.0).astype(float)
    divides = (calls > 1) & (calls % 1 == 0) & (batch % calls.clip(lower=1.0) == 0)
    slices = calls.where(divides).map("{:.0f}".format).where(divides, UNKNOWN_SLICES)
    return work.assign(attributes=with_attribute(work["attributes"], (f"{SLICES}=" + slices).where(rows)))


def slices_of(work: pd.DataFrame) -> pd.Series:
    """Of how many slices of the batch each op takes one at a time; 1 where it takes the whole batch."""
    return attribute_values(work, SLICES, r"\d+").fillna("1").astype(int)


def _slices_batch(work: pd.DataFrame, batch: int) -> Flags:
    """Which ops take a slice of unknown size from a tensor of known sizes that begins with the batch."""
    is_slice = np.asarray(work["operator"].eq("slice").fillna(False), dtype=bool)
    if not is_slice.any():
        return is_slice
    slices = work[is_slice]
    begins = slices["shapes"].str.match(rf"{batch}(?!\d)").fillna(False)
    result = slices["output_shapes"].str.match(r"-1(?![^;x])").fillna(False)
    return np.asarray(work.index.isin(slices.index[begins & result & ~_holds(slices, TEXTS[:1])]))


def _holds(work: pd.DataFrame, columns: tuple[str, ...]) -> pd.Series:
    """Which rows have an unknown size in one of these columns."""
    return pd.DataFrame({name: work[name].str.contains(OPEN).fillna(False) for name in columns}).any(axis=1)


def _behind(work: pd.DataFrame, first: Flags) -> Flags:
    """Which ops take, directly or through others that run as many times, what the first ones give."""
    behind = first.copy()
    takers = _takers(work)
    names, calls = work["op"].tolist(), work["calls"].fillna(1.0).tolist()
    front: list[int] = np.flatnonzero(first).tolist()
    while front:
        row = front.pop()
        every = takers.get(names[row], ())
        new = [taker for taker in every if not behind[taker] and calls[taker] == calls[row]]
        behind[new] = True
        front += new
    return behind


def _takers(work: pd.DataFrame) -> dict[str, list[int]]:
    """The rows that take each op's results, by its name."""
    takers: dict[str, list[int]] = {}
    for row, text in enumerate(work["inputs"]):
        for name in listed(text):
            takers.setdefault(name, []).append(row)
    return takers
