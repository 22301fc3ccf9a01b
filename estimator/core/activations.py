"""Which element-wise ops are activations that a processor takes longer for than to move their elements: those by an
exponential, and their gradients.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from estimator.core.types import Names

if TYPE_CHECKING:
    import pandas as pd

KERNELS = {  # of a measurement: the op types that it stands for
    "sigmoid": r"sigmoid|logistic|aten::sigmoid_?",
    "tanh": r"tanh|aten::tanh_?",
    "sigmoid_grad": r"sigmoidgrad|aten::sigmoid_backward",
    "tanh_grad": r"tanhgrad|aten::tanh_backward",
}


def activations(rows: pd.DataFrame) -> Names:
    """The kernel that stands for each row, by its op type, else by its kernel; nothing for all other ops."""
    found = np.full(len(rows), "", dtype=object)
    for column in ("kernel", "op_type"):  # the last one that tells decides
        if column in rows:
            name = rows[column].astype(object).fillna("").astype(str).str.lower()
            for kernel, types in KERNELS.items():
                found[name.str.fullmatch(f"{kernel}|{types}").to_numpy(dtype=bool)] = kernel
    return found
