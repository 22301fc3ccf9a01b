"""Measured siblings: devices of the target's architecture whose products were measured, where its own were not.

A library runs the same kernels on all devices of an architecture, so that the model is off on them in like ways. How
far that holds depends on how much they resemble each other: a board of a quarter of the power runs at other clocks.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from estimator.core.types import DeviceSpec, MeasuredDevice
from estimator.model.hardware import number, peak_of_op

SAME = 0.8  # correlation of residuals of two devices of the same numbers; by eye, from tests/published/test_siblings.py
UNKNOWN = 0.4  # logarithm of the ratio of two numbers where a file lacks one; assumed
MIN_WEIGHT = 0.2  # of a sibling that is used; assumed


def resemblance(one: DeviceSpec, other: DeviceSpec, precision: str) -> float:
    """The correlation of the residuals of products on two devices of one architecture, 0 … 1.

    SAME · exp(−Σ abs(ln(x / y))) over the peak of products in this precision, the bandwidth and the power limit.
    Source: form of this program, judged by pairs of devices (tests/published/test_siblings.py).
    """
    numbers = (
        [number(peak_of_op(device, "gemm", precision)[1]) for device in (one, other)],
        [number(device.memory_bandwidth) for device in (one, other)],
        [number(device.power_limit) for device in (one, other)],
    )
    distances = np.abs(np.diff(np.log(numbers))).ravel()
    return float(SAME * np.exp(-np.nan_to_num(distances, nan=UNKNOWN).sum()))


def nearest_first(
    device: DeviceSpec, siblings: Sequence[MeasuredDevice], precision: str
) -> Iterator[tuple[float, MeasuredDevice]]:
    """The siblings that resemble a device enough to be used, with their weights, the nearest first."""
    weights = [resemblance(device, sibling.device, precision) for sibling in siblings]
    order = sorted(range(len(siblings)), key=lambda i: (-weights[i], siblings[i].device.name))
    return ((weights[i], siblings[i]) for i in order if weights[i] >= MIN_WEIGHT)
