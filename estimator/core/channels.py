"""Which ops meet each channel with one number, as biases and normalizations do, or sum channels up: rows of which the
channels are told, and no image.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from estimator.core.types import Names

ALONG = {"elementwise": "bias_add", "reduction": "channel_sum"}  # the kernel that stands for a class
BIAS_GRAD = "bias_grad"  # TensorFlow's own sum, in less than half the time of any other
BIAS_GRADIENTS = {"kernel": BIAS_GRAD, "op_type": "BiasAddGrad"}


def channel_kernels(rows: pd.DataFrame) -> Names:
    """The measured kernel that stands for each row; nothing for all other ops, and where no channels can be told."""
    if "conv_c" not in rows:
        return np.full(len(rows), "", dtype=object)
    told = rows["conv_c"].notna() & rows["conv_n"].isna()
    found = rows["op_class"].map(ALONG).where(told).fillna("")
    gradients = [rows[name].eq(text).fillna(False) for name, text in BIAS_GRADIENTS.items() if name in rows]
    own = np.any([*gradients, np.zeros(len(rows), dtype=bool)], axis=0) & (found == ALONG["reduction"])
    return np.asarray(found.mask(own, BIAS_GRAD), dtype=object)
