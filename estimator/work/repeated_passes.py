"""Passes of one step that take the same weights: an inference that generates text runs its model for each token.

A pass begins where the largest table is looked up. It takes the weights of an earlier one where it takes none of sizes
that the earlier one does not take as often.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
import pandas as pd

from estimator.core.places import parse_places
from estimator.work.shapes import elements, read_shapes
from estimator.work.weights import weights_per_call

LOOKUPS = ("embedding", "index_select")


def calls_with_own_weights(work: pd.DataFrame, rows: pd.Series) -> pd.Series:
    """How many calls of each of these rows take weights of their own; one, where the profile tells no places."""
    numbers = [[] if pd.isna(text) else [place.number for place in parse_places(text)] for text in work["places"]]
    weights = weights_per_call(work)
    calls = sorted((number, row) for row in np.flatnonzero(rows).tolist() for number in numbers[row])
    number, row_of_call = np.array(calls, dtype=np.int64).reshape(-1, 2).T
    own, earlier = Counter[int](), list[Counter[float]]()
    for inside in np.split(row_of_call, np.searchsorted(number, _begins(work, numbers))):
        taken = Counter(weights[inside].tolist())
        if not any(taken <= each for each in earlier):
            earlier.append(taken)
            own.update(inside.tolist())
    return pd.Series([own[row] if numbers[row] else 1 for row in range(len(work))], work.index)


def _begins(work: pd.DataFrame, numbers: Sequence[list[int]]) -> list[int]:
    """The places of the lookups in the largest table."""
    rows = np.flatnonzero(work["operator"].isin(LOOKUPS) & work["shapes"].notna())
    sizes = {row: elements(read_shapes(work["shapes"].iloc[row], None)[:1]) or 0 for row in rows.tolist()}
    largest = max(sizes.values(), default=0)
    return sorted(number for row, size in sizes.items() if size == largest for number in numbers[row])
