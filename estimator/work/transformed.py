"""The result of every transform of a table of ops."""

from __future__ import annotations

from dataclasses import dataclass, field

import pandas as pd

from estimator.core.notes import Note


@dataclass(frozen=True)
class Transformed:
    """WORK after a transform, whether the transform changed the step, and notes on it."""

    work: pd.DataFrame = field(repr=False)
    changed: bool
    notes: tuple[Note, ...] = ()
