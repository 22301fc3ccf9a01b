"""Kernels of depthwise convolutions on GPUs."""

from __future__ import annotations

import numpy as np
import pandas as pd

from estimator.core import physics
from estimator.core.conv_shape import ConvShape, is_depthwise
from estimator.core.passes import passes_of
from estimator.core.schema import SHAPED_BY
from estimator.core.types import Floats, itemsizes
from estimator.model.calibration import OpFeatures
from estimator.model.depthwise import unit_times
from estimator.model.gemm import compute_share
from estimator.model.kernels.kernel_model import (
    BusyTime,
    KernelInputs,
    KernelModel,
    amounts_per_call,
    by_prior,
    have_all,
    pass_kinds,
    uncached_features,
)


def _depthwise_time(inputs: KernelInputs) -> BusyTime:
    """Busy time of depthwise convolutions."""
    hardware, coefficients = inputs.hardware, inputs.coefficients
    flop, bytes_ = _amounts(inputs.rows)
    memory = bytes_ / hardware.attained_bandwidth(coefficients.memory_bound.streaming)
    units = unit_times(inputs.rows, hardware, coefficients.kernel_priors.depthwise.cycles)
    compute = np.fmax(units, flop / hardware.peak)
    lower_bound = physics.ideal_time(flop, bytes_, hardware.peak, hardware.bandwidth)
    share = compute_share(compute, memory)
    return BusyTime(np.maximum(compute, memory), compute + memory, lower_bound, share, np.ones_like(compute))


def _amounts(rows: pd.DataFrame) -> tuple[Floats, Floats]:
    """FLOP and bytes of one call; of MEASUREMENTS, which may lack them, those of the shape."""
    shape, (flop, bytes_) = ConvShape.from_table(rows), amounts_per_call(rows)
    passes = passes_of(rows)
    of_shape = passes * shape.flop(), passes * shape.bytes(itemsizes(rows["precision"]))
    return np.where(np.isnan(flop), of_shape[0], flop), np.where(np.isnan(bytes_), of_shape[1], bytes_)


def _features(inputs: KernelInputs, busy: BusyTime) -> OpFeatures:
    """Features of depthwise convolutions: bytes and points of the window (octaves), and the pass, which is the kind."""
    rows = inputs.rows
    octaves = np.log2([np.maximum(_amounts(rows)[1], 1.0), ConvShape.from_table(rows).window.prod(axis=0)])
    kind = pass_kinds(rows)
    return uncached_features(np.column_stack([octaves.T, kind[:, None] == [1, 2]]), busy, kind)


DEPTHWISE = KernelModel(
    matches=lambda rows: have_all(rows, ["convolution"], SHAPED_BY["convolution"], is_depthwise),
    busy_time=_depthwise_time,
    features=_features,
    hyperparameters=by_prior(lambda priors: priors.depthwise),
    by_precision=False,
    by_format=False,
    on_gpus_only=True,
)
