"""The share of a peak that a device sustains on its best kernels; less where the power limit binds.

A peak is quoted at the boost clock, which a board holds only as far as its power limit allows: 70 W cards run slower.
The energy of a FLOP halves every few years; the device's year stands for its process. The energy grows with the length
of the factors; tensor units need less for short factors, and the same for fp32.
"""

from __future__ import annotations

import numpy as np
from pydantic import Field

from estimator.core.types import File, Floats
from estimator.model.hardware import Hardware

REFERENCE_YEAR = 2018
SHORT, LONG = 2, 4  # bytes of the factors with fitted energies
SHARPNESS = 6.0  # of the transition from peak to power limit


class Sustained(File):
    """The coefficients."""

    share: float = Field(gt=0, le=1, description="of the peak that a device sustains where power does not bind")
    vector_need: float = Field(gt=0, description="what a FLOP of fp32 takes in 2018 [J]")
    tensor_need: float = Field(gt=0, description="what one of 16-bit factors takes on tensor units in 2018 [J]")
    halving: float = Field(gt=0, description="time in which that halves [years]")

    def peak(self, hardware: Hardware) -> Floats:
        """The sustained peak of each op [FLOP/s]; an unknown power limit does not bind, nor one of an unknown peak.

        share · f · P · (1 + x^s)^(−1/s), with f = filled lanes, x = power at f · P / power limit, s = SHARPNESS.
        """
        is_short = hardware.tensor & (hardware.factor_bytes <= SHORT)
        energy = hardware.factor_bytes * np.where(is_short, self.tensor_need / SHORT, self.vector_need / LONG)
        process = 2.0 ** ((REFERENCE_YEAR - hardware.year) / self.halving)
        power_ratio = energy * process * hardware.filled * hardware.peak / hardware.power
        share = (
            self.share
            * hardware.filled
            * (1.0 + np.nan_to_num(power_ratio, posinf=0.0) ** SHARPNESS) ** (-1.0 / SHARPNESS)
        )
        return np.where(hardware.measured_peak, 1.0, share) * hardware.peak
