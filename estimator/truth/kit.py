"""The calibration kit: what little is measured on a target, and the rows of a public table that stand for it.

Plain products are the medoids of 30 clusters (k-means in octaves of m, n and k) of DeepBench's training problems;
batched ones are of attention and of general sizes; one stream of memory, one launch.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from estimator.core.types import Flags

if TYPE_CHECKING:
    import pandas as pd

PLAIN = (  # m, n, k
    (7680, 32, 2560), (2048, 7133, 2048), (512, 8, 500000), (512, 48000, 2816), (2048, 128, 2048), (7680, 48000, 2560),
    (35, 8457, 2560), (5124, 9124, 2048), (1024, 16, 512), (2048, 32, 2048), (1024, 24000, 2048), (1024, 700, 512),
    (4608, 24000, 1536), (3072, 16, 1024), (4096, 64, 4096), (512, 24000, 2048), (7680, 16, 2560), (4096, 7133, 4096),
    (1024, 48000, 2048), (2048, 64, 2048), (2048, 16, 2048), (7680, 24000, 2560), (1024, 8, 500000), (512, 16, 512),
    (4608, 48000, 1536), (512, 32, 512), (3072, 64, 1024), (7680, 64, 2560), (512, 48000, 1530), (4096, 16, 4096),
)  # fmt: skip
BATCHED = (  # batch, m, n, k
    (64, 512, 512, 64), (64, 512, 64, 512), (320, 1024, 1024, 64), (48, 1024, 64, 1024), (500, 150, 150, 150),
    (200, 300, 300, 300), (100, 600, 600, 300), (800, 100, 100, 400), (128, 128, 256, 128), (32, 800, 400, 900),
)  # fmt: skip
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
