"""What a pool is: the largest element of each window or the mean of all, and the pass or its gradient."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from estimator.core.types import Flags

if TYPE_CHECKING:
    import pandas as pd


def averages(rows: pd.DataFrame) -> Flags:
    """Whether each row, taken to be a pool, makes means: by the name of its op, else of its kernel."""
    return _named(rows, "av")


def gradients(rows: pd.DataFrame) -> Flags:
    """Whether each row, taken to be a pool, is a gradient: as its pass is stated, else by the same names."""
    stated = rows["pass"].to_numpy(dtype=object, na_value="") if "pass" in rows else np.full(len(rows), "")
    return np.where(stated == "grad_input", True, (stated != "forward") & _named(rows, "grad|backward|_bw"))


def _named(rows: pd.DataFrame, words: str) -> Flags:
    found = np.zeros(len(rows), dtype=bool)
    for column in ("kernel", "op_type"):  # the last one that tells decides
        if column in rows:
            name = rows[column].astype(object).fillna("").astype(str).str.lower()
            told = name.str.contains("pool", regex=False).to_numpy(dtype=bool)
            found = np.where(told, name.str.contains(words).to_numpy(dtype=bool), found)
    return found
