"""The table of all kernel models, and the assignment of ops to them."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd

from estimator.core.types import Flags
from estimator.model.kernels import attention, collectives, convolutions, depthwise, products, streams
from estimator.model.kernels.kernel_model import KernelModel

KERNEL_MODELS: dict[str, KernelModel] = {  # the first model that matches an op is used
    "gemm": products.PRODUCT,
    "depthwise": depthwise.DEPTHWISE,
    "convolution": convolutions.CONVOLUTION,
    "attention": attention.ATTENTION,
    "pooling": streams.POOLING,
    "batch-normalization": streams.BATCH_NORMALIZATION,
    "activation": streams.ACTIVATION,
    "cast": streams.CAST,
    "bias_add": streams.BIAS_ADD,
    "channel_sum": streams.CHANNEL_SUM,
    "bias_grad": streams.BIAS_GRAD,
    "memory-bound": streams.MEMORY_BOUND,
    "collective": collectives.COLLECTIVE,
    "other": products.OTHER_MATRIX_WORK,
}


def models_of(rows: pd.DataFrame) -> Iterator[tuple[str, KernelModel, Flags]]:
    """Yield each model used by any row, with its name and rows; every row has at most one model."""
    unassigned = np.ones(len(rows), dtype=bool)
    for name, model in KERNEL_MODELS.items():
        matches = unassigned & model.matches(rows)
        unassigned &= ~matches
        if matches.any():
            yield name, model, matches
