"""Time of convolutions: of the algorithms that a library may choose, the one that takes least.

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

LANES = 128  # fp32 lanes that count as one unit: those of an SM of Maxwell, on whose tiles the kernels are built
TYPICAL_CLOCK = 1.4e9  # [Hz] where a device file gives none
TYPICAL_UNITS = 32  # where it gives no fp32 peak


@dataclass(frozen=True)
class Library:
    """What a device's library works with."""

    lanes: Floats  # fp32 multiply-adds in one cycle
    transforms: Flags  # whether it has Winograd's and FFT kernels


def library_of(device: DeviceSpec) -> Library:
    """The library of a device, as its file suggests. Those of processors made of cores convolve directly."""
    peak, clock = number(device.peak_of("fp32").vector), number(device.boost_clock or device.base_clock)
    lanes = peak / (2.0 * (TYPICAL_CLOCK if np.isnan(clock) else clock))
    known = float(TYPICAL_UNITS * LANES) if np.isnan(lanes) else lanes
    return Library(np.array([known]), np.array([device.compute_unit != "core"]))


def convolution_times(
    passes: ConvPasses, hardware: Hardware, peak: Floats, library: Library, coefficients: ConvolutionCoefficients
) -> Floats:
    """Time [s] of one call of each pass without its launch, under the algorithm that takes least.

    ``peak`` [FLOP/s] that is sustained, at most the quoted one.
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
    """Whether there may be an algorithm of less arithmetic than the direct one."""
    return library.transforms & (passes.side > 1)
