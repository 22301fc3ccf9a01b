"""Kernels of depthwise convolutions: of their own on GPUs, like other convolutions elsewhere."""

from __future__ import annotations

import numpy as np

from estimator.core import physics
from estimator.core.conv_shape import ConvShape
from estimator.core.schema import SHAPED_BY
from estimator.model.calibration import OpFeatures
from estimator.model.depthwise import is_depthwise, unit_times
from estimator.model.gemm import compute_share
from estimator.model.kernels.convolutions import CONVOLUTION
from estimator.model.kernels.kernel_model import BusyTime, KernelInputs, KernelModel, amounts_per_call, have_all

KINDS = ("grad_input", "grad_weights")  # beside forward


def _depthwise_time(inputs: KernelInputs) -> BusyTime:
    """Busy time of depthwise convolutions; TRUTH, which has no amounts, is bound by units alone."""
    if not inputs.device.is_gpu:
        return CONVOLUTION.busy_time(inputs)
    hardware, coefficients = inputs.hardware, inputs.coefficients
    flop, bytes_ = amounts_per_call(inputs.rows)
    memory = bytes_ / hardware.attained_bandwidth(coefficients.memory_bound.streaming)
    units = np.nan_to_num(unit_times(inputs.rows, hardware, coefficients.kernel_priors.depthwise.cycles))
    lower_bound = physics.ideal_time(flop, bytes_, hardware.peak, hardware.bandwidth)
    time = np.fmax(np.fmax(memory, units), lower_bound)
    return BusyTime(time, units + memory, lower_bound, compute_share(units, memory), np.ones_like(time))


def _features(inputs: KernelInputs, busy: BusyTime) -> OpFeatures:
    """Features of depthwise convolutions: bytes and points of the window (octaves), and the pass, which is the kind."""
    rows = inputs.rows
    window = ConvShape.from_table(rows).window.prod(axis=0)
    step_pass = rows["pass"].fillna("").to_numpy(dtype=str)
    flags = step_pass[:, None] == np.array(KINDS)
    octaves = np.log2([np.maximum(np.nan_to_num(amounts_per_call(rows)[1]), 1.0), window])
    kind = flags @ np.arange(1, 1 + len(KINDS))
    return OpFeatures(np.column_stack([octaves.T, flags]), busy.compute_share, kind, np.zeros(len(kind), dtype=bool))


DEPTHWISE = KernelModel(
    matches=lambda rows: have_all(rows, ["convolution"], SHAPED_BY["convolution"], is_depthwise),
    busy_time=_depthwise_time,
    features=_features,
    hyperparameters=lambda coefficients: coefficients.kernel_priors.depthwise.hyperparameters(
        coefficients.memory_bound.streaming_std
    ),
    by_precision=False,
)
