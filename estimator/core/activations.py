"""Which element-wise ops are sigmoids, hyperbolic tangents and their gradients: processors take longer for them than to
move their elements, above all in formats that they have no arithmetic in.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np

from estimator.core.types import Names

if TYPE_CHECKING:
    import pandas as pd

KERNELS = {  # of a measurement: the op types that it stands for
    "sigmoid": "sigmoid|logistic",
    "tanh": "tanh",
    "sigmoid_grad": "sigmoid_?grad|sigmoid_backward",
    "tanh_grad": "tanh_?grad|tanh_backward",
}
NAME = r"(?:aten::|_mkl(?:native)?)?(?:{})(?:_|[._](?:out|grad_input))?"


def activations(rows: pd.DataFrame) -> Names:
    """The kernel that stands for each row, by its op type, else by its kernel; nothing for all other ops."""
    found = np.full(len(rows), "", dtype=object)
    for column in ("kernel", "op_type"):  # the last one that tells decides
        if column in rows:
            name = rows[column].astype(object).fillna("")
            told = name.map({text: _stands_for(str(text).lower()) for text in name.unique()}).to_numpy(dtype=object)
            found = np.where(told == "", found, told)
    return found


def _stands_for(name: str) -> str:
    return next((kernel for kernel, types in KERNELS.items() if re.fullmatch(NAME.format(types), name)), "")
