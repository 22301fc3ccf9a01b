"""Rows of a public table in place of the calibration kit: its products, one stream, one launch."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from estimator.collect.measure.sweep import BATCHED, PLAIN
from estimator.core.types import Flags

if TYPE_CHECKING:
    import pandas as pd

STREAM, STREAMS = "add", (192e6, 12.0)  # bytes of a stream from memory, and of one element, which is a launch


def kit_rows(rows: pd.DataFrame) -> Flags:
    """Which TRUTH rows of one device and stack stand for the kit.

    For each shape and precision of the kit it is the nearest row in octaves of m, n, k, batch (or bytes); each row
    once.
    """
    chosen = np.zeros(len(rows), dtype=bool)
    gemm = (rows["op_class"] == "gemm").to_numpy()
    batched = (rows["batch"] > 1).to_numpy(dtype=bool, na_value=False)
    for precision in rows.loc[gemm, "precision"].unique():
        of_precision = gemm & (rows["precision"] == precision).to_numpy()
        _choose(chosen, rows, ["m", "n", "k"], np.array(PLAIN, float), of_precision & ~batched)
        _choose(chosen, rows, ["batch", "m", "n", "k"], np.array(BATCHED, float), of_precision & batched)
    _choose(chosen, rows, ["bytes"], np.array(STREAMS)[:, None], (rows["op"] == STREAM).to_numpy(bool, na_value=False))
    return chosen


def _choose(chosen: Flags, rows: pd.DataFrame, sizes: list[str], shapes: np.ndarray, candidates: Flags) -> None:
    """Mark the nearest candidate of each shape, as long as there are candidates."""
    positions = np.flatnonzero(candidates)
    log2_sizes = np.log2(rows[sizes].to_numpy(dtype=float, na_value=np.nan)[positions])
    for log2_shape in np.log2(shapes)[: len(positions)]:
        distance = np.square(log2_sizes - log2_shape).sum(axis=1)
        nearest = int(np.argmin(distance))
        chosen[positions[nearest]], log2_sizes[nearest] = True, np.inf
