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
from estimator.model.gemm import DEFAULT_UNITS
from estimator.model.hardware import LANES, Hardware

CORE_LANES = 16  # of a processor's core whose file gives no FLOP per clock: two vectors of AVX2
MATRIX_UNITS = 32  # units that a device of matrix units counts as, whose file gives no fp32 peak


@dataclass(frozen=True)
class Library:
    """The capabilities of a device's library."""

    lanes: Floats  # fp32 multiply-adds in one cycle
    transforms: Flags  # whether it has Winograd's and FFT kernels


def library_of(device: DeviceSpec) -> Library:
    """The library of a device, guessed from its file. On processors made of cores it convolves directly."""
    return Library(np.array([_lanes(device)]), np.array([not device.is_processor]))


def _lanes(device: DeviceSpec) -> float:
    """The fp32 multiply-adds of a device in one cycle: its compute units times those of one, ``flop_per_clock`` / 2.

    No rate is asked for: of two devices with as many lanes, the one with the higher peak has the faster units.
    """
    peak = device.peak_of("fp32").vector
    if peak is None and not device.is_gpu:
        return float(MATRIX_UNITS * LANES)
    units = device.compute_units.value if device.compute_units else DEFAULT_UNITS
    typical = CORE_LANES if device.is_processor else LANES
    return units * (peak.flop_per_clock / 2.0 if peak and peak.flop_per_clock else typical)


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
        transforms=np.broadcast_to(library.transforms, each.shape),
    )
    return np.asarray(np.min([algorithm(passes, machine, coefficients) for algorithm in ALGORITHMS], axis=0))


def may_transform(passes: ConvPasses, library: Library) -> Flags:
    """Whether an algorithm with less arithmetic than the direct one may exist."""
    return library.transforms & (passes.side > 1)
