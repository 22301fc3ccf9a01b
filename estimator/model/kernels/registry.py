"""All kernel models in one table, and which of them each op takes."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd

from estimator.core.types import Flags
from estimator.model.kernels import convolutions, products, streams
from estimator.model.kernels.kernel_model import KernelModel

KERNEL_MODELS: dict[str, KernelModel] = {  # an op takes the first that matches
    "gemm": products.PRODUCT,
    "convolution": convolutions.CONVOLUTION,
    "pooling": streams.POOLING,
    "activation": streams.ACTIVATION,
    "cast": streams.CAST,
    "bias_add": streams.BIAS_ADD,
    "channel_sum": streams.CHANNEL_SUM,
    "bias_grad": streams.BIAS_GRAD,
    "memory-bound": streams.MEMORY_BOUND,
    "other": products.OTHER_MATRIX_WORK,
}


def models_of(rows: pd.DataFrame) -> Iterator[tuple[str, KernelModel, Flags]]:
    """Each model that any of the rows takes, by name, and which rows: every row takes one at most."""
    free = np.ones(len(rows), dtype=bool)
    for name, model in KERNEL_MODELS.items():
        matches = free & model.matches(rows)
        free &= ~matches
        if matches.any():
            yield name, model, matches
