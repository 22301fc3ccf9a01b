"""The passes of products and layers: forward, and the gradients of the input and of the weights."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from estimator.core.types import Flags, Floats, Names

if TYPE_CHECKING:
    import pandas as pd


def passes_of(rows: pd.DataFrame) -> Floats:
    """How many passes each row of any table holds: a ``backward`` one is both gradients."""
    return np.where(rows["pass"].eq("backward").to_numpy(dtype=bool, na_value=False), 2.0, 1.0)


def pass_names(rows: pd.DataFrame) -> Names:
    """The pass of each row of any table; forward where none is stated."""
    return np.asarray(rows["pass"].to_numpy(dtype=object, na_value="forward"))


def runs_pass(names: Names, name: str) -> Flags:
    """Which of these passes run the named one; ``backward`` is both gradients."""
    return np.asarray((names == name) | ((names == "backward") & (name != "forward")), dtype=bool)
