"""Which ops meet each channel with one number, as biases and normalizations do, or sum channels up: rows of which the
channels are told, and no image.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from estimator.core.types import Names

STANDS_FOR = {"elementwise": "bias_add", "reduction": "channel_sum"}  # of a measurement, by the class of ops
KERNELS = (*STANDS_FOR.values(), "bias_grad")  # TensorFlow's own sum, in less than half the time of any other
BIAS_GRAD = {"kernel": "bias_grad", "op_type": "BiasAddGrad"}


def along_channels(rows: pd.DataFrame) -> Names:
    """The kernel that stands for each row; nothing for all other ops, and where a table has no such columns."""
    if "conv_c" not in rows:
        return np.full(len(rows), "", dtype=object)
    told = rows["conv_c"].notna() & rows["conv_n"].isna()
    found = rows["op_class"].map(STANDS_FOR).where(told).fillna("")
    own = pd.DataFrame({name: rows[name].eq(text) for name, text in BIAS_GRAD.items() if name in rows}).any(axis=1)
    return np.asarray(found.mask((found == "channel_sum") & own, "bias_grad"), dtype=object)
