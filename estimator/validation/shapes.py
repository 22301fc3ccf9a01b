"""Similarity of TRUTH rows: kind, and sizes in octaves; and random numbers drawn by shape."""

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
TRANSPOSE_OCTAVES = 0.5  # distance in octaves of different transposes


def kind(rows: pd.DataFrame) -> pd.Series:
    """The kind of kernel of each row as text; rows of one kind differ only in size."""
    first, *other_columns = (rows[name].fillna("").astype(str) for name in KIND)
    return first.str.cat(other_columns, sep=" ")


def octaves(rows: pd.DataFrame) -> Floats:
    """Coordinates (rows × log2 of SIZES, 0 where a kind lacks one, and transposes), for distances."""
    sizes = np.log2(rows[SIZES].to_numpy(dtype=float, na_value=1.0))
    transposed = [rows[name].eq("t").to_numpy(dtype=float, na_value=0.0) for name in TRANSPOSES]
    return np.column_stack([sizes, TRANSPOSE_OCTAVES * np.transpose(transposed)])


def lots(rows: pd.DataFrame, seed: int) -> Floats:
    """A random number in [0, 1) for each row, from its shape, data set, device and the seed.

    Equal shapes get the same number; the order of rows does not matter.
    """
    import pandas as pd

    texts = {name: rows[name].astype(object) for name in ("data_set", "device", "precision")}
    keys = pd.DataFrame(octaves(rows), index=rows.index).assign(**texts, kind=kind(rows), seed=seed)
    return np.asarray(pd.util.hash_pandas_object(keys, index=False).to_numpy() / 2.0**64)


def lowest(numbers: Floats, groups: pd.Series, count: float) -> Flags:
    """Which rows have the ``count`` lowest numbers of their group; below 1, ``count`` is a share of the group."""
    import pandas as pd

    ranks = pd.Series(numbers).groupby(groups.to_numpy()).rank(method="min", pct=count < 1)
    return np.asarray(ranks.to_numpy() <= count)
