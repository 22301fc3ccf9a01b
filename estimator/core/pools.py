"""What a pool makes of each window: its largest element, or the mean of all."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from estimator.core.types import Flags

if TYPE_CHECKING:
    import pandas as pd


def averages(rows: pd.DataFrame) -> Flags:
    """Whether each row, taken to be a pool, makes means: by the name of its op, else of its kernel."""
    found = np.zeros(len(rows), dtype=bool)
    for column in ("kernel", "op_type"):  # the last one that tells decides
        if column in rows:
            name = rows[column].astype(object).fillna("").astype(str).str.lower()
            told = name.str.contains("pool", regex=False).to_numpy(dtype=bool)
            found = np.where(told, name.str.contains("av", regex=False).to_numpy(dtype=bool), found)
    return found
