"""What share of a peak a device sustains on its best kernels: a share common to all devices, less where power binds.

A peak is quoted at the boost clock. A board holds that clock only as far as its power limit feeds it: with so few watts
per FLOP/s as 70 W cards have, it runs slower. What a FLOP/s needs halves every few years, as processes shrink: the
device's year stands for its process. It grows with the length of the factors; tensor units need less where these are
short, while multipliers of fp32 take what they take anywhere.
"""

from __future__ import annotations

import numpy as np
from pydantic import Field

from estimator.core.types import File, Floats
from estimator.model.hardware import Hardware

REFERENCE_YEAR = 2018
SHORT, LONG = 2, 4  # bytes of the factors whose needs are fitted
SHARPNESS = 6.0  # with which the power limit takes over from the peak


class Sustained(File):
    """The coefficients."""

    share: float = Field(gt=0, le=1, description="of the peak that a device sustains where power does not bind")
    vector_need: float = Field(gt=0, description="what a FLOP of fp32 takes in 2018 [J]")
    tensor_need: float = Field(gt=0, description="what one of 16-bit factors takes on tensor units in 2018 [J]")
    halving: float = Field(gt=0, description="time in which that halves [years]")

    def peak(self, hardware: Hardware) -> Floats:
        """The peak [FLOP/s] that is sustained for each op; where power is not known, it does not bind.

        share · P · (1 + x^s)^(−1/s), where x is the power that P would take over the limit, and s is SHARPNESS.
        """
        short = hardware.tensor & (hardware.factor_bytes <= SHORT)
        need = hardware.factor_bytes * np.where(short, self.tensor_need / SHORT, self.vector_need / LONG)
        process = 2.0 ** ((REFERENCE_YEAR - hardware.year) / self.halving)
        lack = need * process * hardware.peak / hardware.power
        share = self.share * (1.0 + np.nan_to_num(lack) ** SHARPNESS) ** (-1.0 / SHARPNESS)
        return np.where(hardware.measured_peak, 1.0, share) * hardware.peak
