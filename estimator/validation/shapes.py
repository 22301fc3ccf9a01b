"""What makes two rows of TRUTH alike: their kind, and their sizes in octaves; and lots drawn by shape."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from estimator.core.types import Flags, Floats

if TYPE_CHECKING:
    import pandas as pd

KIND = ["op_class", "pass", "op"]
SIZES = [
    "batch", "m", "n", "k", "conv_n", "conv_c", "conv_h", "conv_w", "conv_k", "conv_r", "conv_s", "stride_h", "bytes",
    "row_length",
]  # fmt: skip
TRANSPOSES = ["trans_a", "trans_b"]
TRANSPOSED = 0.5  # octaves that unlike transposes count as


def kind(rows: pd.DataFrame) -> pd.Series:
    """One word for what kind of kernel each row is: only sizes tell apart the rows of one kind."""
    first, *others = (rows[name].fillna("").astype(str) for name in KIND)
    return first.str.cat(others, sep=" ")


def octaves(rows: pd.DataFrame) -> Floats:
    """Rows × (log2 of SIZES, 0 where a kind has no such size; transposes): places whose distance is unlikeness."""
    sizes = np.log2(rows[SIZES].to_numpy(dtype=float, na_value=1.0))
    transposed = [rows[name].eq("t").to_numpy(dtype=float, na_value=0.0) for name in TRANSPOSES]
    return np.column_stack([sizes, TRANSPOSED * np.transpose(transposed)])


def lots(rows: pd.DataFrame, seed: int) -> Floats:
    """A number in [0, 1) for each row, drawn by shape, data set, device and seed alone: the same for equal shapes, and
    in whatever order the rows stand.
    """
    import pandas as pd

    texts = {name: rows[name].astype(object) for name in ("data_set", "device", "precision")}
    drawn_by = pd.DataFrame(octaves(rows), index=rows.index).assign(**texts, kind=kind(rows), seed=seed)
    return np.asarray(pd.util.hash_pandas_object(drawn_by, index=False).to_numpy() / 2.0**64)


def lowest(numbers: Floats, groups: pd.Series, most: float) -> Flags:
    """Which rows hold the ``most`` lowest numbers of their group; the lowest share of them where it is below 1."""
    import pandas as pd

    ranks = pd.Series(numbers).groupby(groups.to_numpy()).rank(method="min", pct=most < 1)
    return np.asarray(ranks.to_numpy() <= most)
