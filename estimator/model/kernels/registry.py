"""The table of all kernel models, and the assignment of ops to them."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd

from estimator.core.types import DeviceSpec, Flags
from estimator.model.kernels import attention, collectives, convolutions, depthwise, products, recurrent, streams
from estimator.model.kernels.kernel_model import KernelModel

KERNEL_MODELS: dict[str, KernelModel] = {  # the first model that matches an op is used
    "gemm": products.PRODUCT,
    "depthwise": depthwise.DEPTHWISE,
    "convolution": convolutions.CONVOLUTION,
    "attention": attention.ATTENTION,
    "recurrent": recurrent.RECURRENT,
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


def models_of(rows: pd.DataFrame, device: DeviceSpec) -> Iterator[tuple[str, KernelModel, Flags]]:
    """Yield each model used by any row on a device, with its name and rows; every row has at most one model."""
    unassigned = np.ones(len(rows), dtype=bool)
    for name, model in KERNEL_MODELS.items():
        if model.on_gpus_only and not device.is_gpu:
            continue
        matches = unassigned & model.matches(rows)
        unassigned &= ~matches
        if matches.any():
            yield name, model, matches


def correcting_rows(model: KernelModel, rows: pd.DataFrame, device: DeviceSpec) -> Flags:
    """Which measured rows of a device correct a model: those it matches, without those of a model of GPUs alone."""
    others = [each for each in KERNEL_MODELS.values() if each.on_gpus_only and each is not model]
    matches = model.matches(rows)
    for other in others if device.is_gpu else ():
        matches = matches & ~other.matches(rows)
    return matches
