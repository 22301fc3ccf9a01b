"""Time of convolutions: that of the fastest algorithm that a library may choose.

convolution_algorithms.py has the algorithms; convolution_coefficients.py their numbers.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from estimator.core.types import DeviceSpec, Flags, Floats
from estimator.model.convolution_algorithms import ALGORITHMS, Machine
from estimator.model.convolution_coefficients import ConvolutionCoefficients
from estimator.model.convolution_passes import ConvPasses
from estimator.model.hardware import Hardware, number

LANES = 128  # fp32 lanes of one unit, as in an SM of Maxwell, whose tiles the kernels use
TYPICAL_CLOCK = 1.4e9  # [Hz] where a device file gives none
TYPICAL_UNITS = 32  # where a device file gives neither an fp32 peak nor, of a GPU, how many units there are


@dataclass(frozen=True)
class Library:
    """The capabilities of a device's library."""

    lanes: Floats  # fp32 multiply-adds in one cycle
    transforms: Flags  # whether it has Winograd's and FFT kernels


def library_of(device: DeviceSpec) -> Library:
    """The library of a device, guessed from its file. On processors made of cores it convolves directly."""
    peak, clock = number(device.peak_of("fp32").vector), number(device.boost_clock or device.base_clock)
    lanes = peak / (2.0 * (TYPICAL_CLOCK if np.isnan(clock) else clock))
    units = device.compute_units.value if device.is_gpu and device.compute_units else TYPICAL_UNITS
    known_lanes = float(units * LANES) if np.isnan(lanes) else lanes
    return Library(np.array([known_lanes]), np.array([not device.is_processor]))


def convolution_times(
    passes: ConvPasses, hardware: Hardware, peak: Floats, library: Library, coefficients: ConvolutionCoefficients
) -> Floats:
    """Time [s] of one call of each pass by the fastest algorithm, without launch.

    ``peak``: the sustained one [FLOP/s], at most the quoted one.
    """
    each = np.ones_like(passes.n)
    gathering = hardware.attained_bandwidth(coefficients.streaming) * each
    staging = np.minimum(gathering * coefficients.staging / coefficients.streaming, hardware.bandwidth)
    machine = Machine(
        peak=peak * each,
        tensor=hardware.tensor,
        bandwidth=hardware.bandwidth * each,
        gathering=gathering,
        staging=staging,
        units=library.lanes / LANES * each,
        transforms=library.transforms & (each > 0),
    )
    return np.asarray(np.min([algorithm(passes, machine, coefficients) for algorithm in ALGORITHMS], axis=0))


def may_transform(passes: ConvPasses, library: Library) -> Flags:
    """Whether an algorithm with less arithmetic than the direct one may exist."""
    return library.transforms & (passes.side > 1)
