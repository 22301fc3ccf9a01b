"""Kernels of convolutions."""

from __future__ import annotations

import numpy as np

from estimator.core import physics
from estimator.core.schema import SHAPED_BY
from estimator.core.types import Floats
from estimator.model.calibration import OpFeatures
from estimator.model.convolution import Library, convolution_times, library_of, may_transform
from estimator.model.convolution_passes import ConvPasses, conv_passes
from estimator.model.gemm import compute_share
from estimator.model.kernels.kernel_model import BusyTime, KernelInputs, KernelModel, amounts_per_call, have_all
from estimator.model.published_shapes import convolution_features, shape_correction


def _convolution_time(inputs: KernelInputs) -> BusyTime:
    """Busy time of convolutions.

    Winograd and FFT need less arithmetic than the direct algorithm. Where they may be used, only traffic bounds the
    time from below; elsewhere also the attained peak.
    """
    hardware, coefficients, library = inputs.hardware, inputs.coefficients, library_of(inputs.device)
    passes = conv_passes(inputs.rows, hardware.tensor)
    time = _time_of(passes, inputs, library) + _time_of_weights(inputs, library)
    flop, bytes_ = amounts_per_call(inputs.rows)
    memory = bytes_ / hardware.bandwidth
    attained = coefficients.convolution.attained * coefficients.gemm.sustained.peak(hardware)
    ideal_s = physics.ideal_time(flop, bytes_, attained, hardware.bandwidth)
    direct_s = np.where(may_transform(passes, library), np.nan, ideal_s)
    time = np.fmax(time, direct_s)  # TRUTH has no amounts
    lower_bound = np.fmax(np.minimum(memory, time), direct_s)
    share = compute_share(np.minimum(flop / hardware.peak, time), memory)
    return BusyTime(time, time + memory, lower_bound, share, np.ones_like(time))


def _time_of_weights(inputs: KernelInputs, library: Library) -> Floats:
    """Time [s] of the gradient of the weights for rows of both gradients; else 0."""
    is_both = (inputs.rows["pass"] == "backward").to_numpy(dtype=bool, na_value=False)
    time = np.zeros(len(is_both))
    if is_both.any():
        gradients = inputs.at(is_both)
        weight_rows = gradients.rows.assign(**{"pass": "grad_weights"})
        time[is_both] = _time_of(conv_passes(weight_rows, gradients.hardware.tensor), gradients, library)
    return time


def _time_of(passes: ConvPasses, inputs: KernelInputs, library: Library) -> Floats:
    """Time [s] of passes, corrected by published shapes."""
    hardware, coefficients = inputs.hardware, inputs.coefficients
    corrected = shape_correction(_features_of(passes, inputs, library), coefficients.convolution)
    peak = coefficients.gemm.sustained.peak(hardware)
    return convolution_times(passes, hardware, peak, library, coefficients.convolution) * np.exp(corrected)


def _features_of(passes: ConvPasses, inputs: KernelInputs, library: Library) -> OpFeatures:
    tensor = inputs.hardware.tensor
    return convolution_features(passes, tensor, np.broadcast_to(library.transforms, tensor.shape))


def _features(inputs: KernelInputs, busy: BusyTime) -> OpFeatures:
    passes = conv_passes(inputs.rows, inputs.hardware.tensor)
    return _features_of(passes, inputs, library_of(inputs.device))


CONVOLUTION = KernelModel(
    matches=lambda rows: have_all(rows, ["convolution"], SHAPED_BY["convolution"]),
    busy_time=_convolution_time,
    features=_features,
    hyperparameters=lambda coefficients: coefficients.convolution.hyperparameters,
)
