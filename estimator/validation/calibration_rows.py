"""The rows of a public table that stand for the calibration kit: its products, one stream of memory, one launch."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from estimator.collect.measure.sweep import BATCHED, PLAIN
from estimator.core.types import Flags

if TYPE_CHECKING:
    import pandas as pd

STREAM, STREAMS = "add", (192e6, 12.0)  # bytes of a stream from memory, and of one element: a launch


def kit_rows(rows: pd.DataFrame) -> Flags:
    """Which TRUTH rows of one device and stack stand for the kit: for each of its shapes the nearest measured one, in
    octaves of m, n, k, batch (or bytes), each row once; products in each precision.
    """
    chosen = np.zeros(len(rows), dtype=bool)
    gemm = (rows["op_class"] == "gemm").to_numpy()
    batched = (rows["batch"] > 1).to_numpy(dtype=bool, na_value=False)
    for precision in rows.loc[gemm, "precision"].unique():
        among = gemm & (rows["precision"] == precision).to_numpy()
        _choose(chosen, rows, ["m", "n", "k"], np.array(PLAIN, float), among & ~batched)
        _choose(chosen, rows, ["batch", "m", "n", "k"], np.array(BATCHED, float), among & batched)
    _choose(chosen, rows, ["bytes"], np.array(STREAMS)[:, None], (rows["op"] == STREAM).to_numpy(bool, na_value=False))
    return chosen


def _choose(chosen: Flags, rows: pd.DataFrame, sizes: list[str], shapes: np.ndarray, among: Flags) -> None:
    """Mark the nearest row of each shape among some, as far as they go."""
    places = np.flatnonzero(among)
    have = np.log2(rows[sizes].to_numpy(dtype=float, na_value=np.nan)[places])
    for wanted in np.log2(shapes)[: len(places)]:
        distance = np.square(have - wanted).sum(axis=1)
        nearest = int(np.argmin(distance))
        chosen[places[nearest]], have[nearest] = True, np.inf
