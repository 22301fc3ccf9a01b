"""The calibration kit: what little is measured on a target, and the rows of a public table that stand for it.

Plain products are of DeepBench's kinds (recurrent layers, speech, speaker identification), of P1B3 and of
transformers; batched ones of attention; one stream of memory, one launch.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from estimator.core.schema import Flags

if TYPE_CHECKING:
    import pandas as pd

PLAIN = (  # m, n, k
    (1760, 16, 1760), (1760, 128, 1760), (1760, 7000, 1760), (2048, 32, 2048), (2048, 7000, 2048), (2560, 64, 2560),
    (2560, 7000, 2560), (4096, 16, 4096), (4096, 128, 4096), (4096, 7000, 4096), (5124, 9124, 2560),
    (35, 8457, 2560), (7680, 16, 2560), (7680, 5481, 2560), (3072, 128, 1024), (3072, 7435, 1024), (512, 8, 500000),
    (1024, 16, 500000), (512, 24000, 2816), (1024, 24000, 1536), (512, 48000, 2048), (8448, 48000, 2816),
    (1000, 100, 29532), (29532, 1000, 100), (512, 768, 768), (4096, 3072, 768), (1024, 50257, 768),
    (1024, 1024, 1024), (4096, 4096, 4096), (8192, 8192, 8192),
)  # fmt: skip
BATCHED = (  # batch, m, n, k
    (12, 512, 512, 64), (12, 512, 64, 512), (96, 128, 128, 64), (96, 128, 64, 128), (64, 256, 256, 256),
    (16, 1024, 1024, 64), (16, 1024, 64, 1024), (256, 64, 64, 64), (512, 32, 32, 32), (8, 1024, 1024, 1024),
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
