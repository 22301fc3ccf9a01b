"""Which ops meet each channel with one number, as biases and normalizations do, or sum channels up: rows of which the
channels are told, and no image.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from estimator.core.types import Flags

if TYPE_CHECKING:
    import pandas as pd

KERNELS = {"elementwise": "bias_add", "reduction": "bias_grad"}  # of a measurement, by the class of ops it stands for


def along_channels(rows: pd.DataFrame) -> Flags:
    """Whether each row is such an op; none is where a table has no such columns."""
    if "conv_c" not in rows:
        return np.zeros(len(rows), dtype=bool)
    return np.asarray(rows["op_class"].isin(KERNELS) & rows["conv_c"].notna() & rows["conv_n"].isna(), dtype=bool)
