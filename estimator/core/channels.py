"""Which ops meet each channel with one number, as biases and normalizations do, or sum channels up: rows of which the
channels are told, and no image.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from estimator.core.types import Flags, Names

ALONG = {"elementwise": "bias_add", "reduction": "channel_sum"}  # the kernel that stands for a class
BIAS_GRAD = "bias_grad"  # a sum as well, for which TensorFlow has a kernel of its own
BIAS_GRADIENTS = {"kernel": BIAS_GRAD, "op_type": "BiasAddGrad"}  # by the column that tells of one


def channel_kernels(rows: pd.DataFrame) -> Names:
    """The measured kernel that stands for each row; nothing for all other ops, and where no channels can be told."""
    found = np.full(len(rows), "", dtype=object)
    if "conv_c" not in rows:
        return found
    told = np.asarray(rows["conv_c"].notna() & rows["conv_n"].isna())
    for op_class, kernel in ALONG.items():
        found[told & _says(rows, "op_class", op_class)] = kernel
    for column, text in BIAS_GRADIENTS.items():
        if column in rows:
            found[(found == ALONG["reduction"]) & _says(rows, column, text)] = BIAS_GRAD
    return found


def _says(rows: pd.DataFrame, column: str, text: str) -> Flags:
    """Whether a cell is the text; a missing one is not."""
    return np.asarray(rows[column].eq(text).fillna(False), dtype=bool)
