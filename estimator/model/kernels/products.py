"""Models of matrix products, and of matrix work with known amounts only."""

from __future__ import annotations

import numpy as np

from estimator.core import physics
from estimator.core.schema import MATRIX, SHAPED_BY
from estimator.model import gemm
from estimator.model.calibration import KernelHyperparameters, OpFeatures
from estimator.model.coefficients import Coefficients
from estimator.model.kernels.kernel_model import BusyTime, KernelInputs, KernelModel, amounts_per_call, have_all

OF_AMOUNTS = tuple(name for name in MATRIX if name != "recurrent")  # whose time follows from FLOP and bytes


def _product_time(inputs: KernelInputs) -> BusyTime:
    """Busy time of matrix products.

    Products with a vector may use a kernel without tiles, which streams the matrix once; the faster one is chosen.
    """
    hardware, coefficients = inputs.hardware, inputs.coefficients
    shapes = gemm.product_shapes(inputs.rows)
    tiled = gemm.product_times(shapes, hardware, coefficients.gemm)
    flop, bytes_ = shapes.flop(), shapes.bytes()
    bandwidth = hardware.attained_bandwidth(coefficients.memory_bound.streaming)
    streamed = flop / coefficients.gemm.sustained.peak(hardware), bytes_ / bandwidth
    is_vector = (np.minimum(shapes.m, shapes.n) == 1) & (gemm.overlapped(*streamed) < gemm.overlapped(*tiled))
    compute, memory = np.where(is_vector, streamed, tiled)
    lower_bound = physics.ideal_time(flop, bytes_, hardware.peak, hardware.bandwidth)
    share = gemm.compute_share(compute, memory)
    return BusyTime(gemm.overlapped(compute, memory), compute + memory, lower_bound, share, np.ones_like(flop))


def _product_features(inputs: KernelInputs, busy: BusyTime) -> OpFeatures:
    return gemm.product_features(inputs.rows, inputs.hardware, busy.compute_share, inputs.coefficients.gemm)


def _time_of_amounts(inputs: KernelInputs) -> BusyTime:
    """Matrix work with known amounts only, such as a reported product; typical tiles are assumed."""
    hardware, coefficients = inputs.hardware, inputs.coefficients.gemm
    flop, bytes_ = amounts_per_call(inputs.rows)
    tiling = [coefficients.tensor if tensor else coefficients.vector for tensor in hardware.tensor]
    compute = flop / (
        coefficients.sustained.peak(hardware) * [gemm.typical_share(path_tiling) for path_tiling in tiling]
    )
    memory = bytes_ / hardware.attained_bandwidth([path_tiling.memory for path_tiling in tiling])
    lower_bound = physics.ideal_time(flop, bytes_, hardware.peak, hardware.bandwidth)
    share = gemm.compute_share(compute, memory)
    return BusyTime(gemm.overlapped(compute, memory), compute + memory, lower_bound, share, np.ones_like(flop))


def _features_of_amounts(inputs: KernelInputs, busy: BusyTime) -> OpFeatures:
    """Features are the amounts alone, as there are no measurements; an op that the target does not run has none."""
    zeros = np.zeros(len(inputs.rows), dtype=int)
    octaves = np.log2(np.maximum(np.stack(amounts_per_call(inputs.rows), axis=1), 1.0))
    return OpFeatures(octaves, busy.compute_share, kind=zeros, cached=zeros > 0)


def _hyperparameters_of_amounts(coefficients: Coefficients) -> KernelHyperparameters:
    return coefficients.gemm.hyperparameters.model_copy(update={"scales": coefficients.kernel_priors.amounts.scales})


PRODUCT = KernelModel(
    matches=lambda rows: have_all(rows, ["gemm"], SHAPED_BY["gemm"]),
    busy_time=_product_time,
    features=_product_features,
    hyperparameters=lambda coefficients: coefficients.gemm.hyperparameters,
    by_resemblance=True,
)
OTHER_MATRIX_WORK = KernelModel(
    matches=lambda rows: have_all(rows, OF_AMOUNTS, ("flop", "bytes")),
    busy_time=_time_of_amounts,
    features=_features_of_amounts,
    hyperparameters=_hyperparameters_of_amounts,
)
