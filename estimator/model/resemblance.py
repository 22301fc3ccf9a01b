"""Measured products that resemble those asked for: of a device of one architecture, or of the other 16-bit format.

A library runs the same kernels on all devices of an architecture, so that the model is off on them in like ways. How
far that holds depends on how much they resemble each other: a board of a quarter of the power runs at other clocks.
Tensor units multiply fp16 and bf16 at one rate, in kernels of one kind.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from estimator.core.number_formats import OTHER_16_BIT
from estimator.core.types import DeviceSpec, MeasuredDevice
from estimator.core.units import percent
from estimator.model.hardware import number, peak_of_op

SAME = 0.65  # correlation of residuals on devices of the same numbers; by likelihood, tests/published/test_siblings.py
UNKNOWN = 0.4  # logarithm of the ratio of two numbers where a file lacks one; assumed
MIN_WEIGHT = 0.1  # of measurements that are used; assumed
Siblings = Callable[[], Sequence[MeasuredDevice]]  # measured devices of an architecture, read where they are asked for


class Resembling(NamedTuple):
    """Measurements of a device in a number format, and the correlation of their residuals with those asked for."""

    weight: float
    measured: MeasuredDevice
    precision: str

    def __str__(self) -> str:
        weight = f", with a weight of {percent(self.weight)}" if self.weight < 1.0 else ""
        return f"{self.measured.device.name} in {self.precision}{weight}"


def resemblance(one: DeviceSpec, precision: str, other: DeviceSpec, other_precision: str) -> float:
    """The correlation of the residuals of products on two devices of one architecture, in two 16-bit formats, or both.

    SAME for another device, and SAME for another format, times exp(−Σ abs(ln(x / y))) over the peak of products, the
    bandwidth and the power limit. Source: form of this program, judged by pairs of devices
    (tests/published/test_siblings.py).
    """
    is_other_device = one.name != other.name
    pairs = [(peak_of_op(one, "gemm", precision)[1], peak_of_op(other, "gemm", other_precision)[1])]
    if is_other_device:
        pairs += [(one.memory_bandwidth, other.memory_bandwidth), (one.power_limit, other.power_limit)]
    distances = [abs(np.log(number(value) / number(other_value))) for value, other_value in pairs]
    differences = is_other_device + (precision != other_precision)
    return float(SAME**differences * np.exp(-np.nan_to_num(distances, nan=UNKNOWN).sum()))


def nearest_first(own: MeasuredDevice, siblings: Sequence[MeasuredDevice], precision: str) -> list[Resembling]:
    """Measurements that resemble a device's products in a format enough to be used, the nearest first.

    Its own in this very format are none of them.
    """
    other_format = OTHER_16_BIT.get(precision)
    pairs = [(measured, precision) for measured in siblings]
    pairs += [(measured, other_format) for measured in (own, *siblings) if other_format]
    resembling = [
        Resembling(resemblance(own.device, precision, measured.device, format_), measured, format_)
        for measured, format_ in pairs
    ]
    usable = [each for each in resembling if each.weight >= MIN_WEIGHT]
    return sorted(usable, key=lambda each: (-each.weight, each.measured.device.name, each.precision))
