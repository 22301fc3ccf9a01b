"""The numbers of a device for kernel models, one entry per op; NaN where its file gives none."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from estimator.core.schema import MATRIX, STREAMING
from estimator.core.types import ITEMSIZE, DeviceSpec, Flags, Floats, Sourced

FACTOR_BYTES = {**ITEMSIZE, "tf32": 2.0}  # bytes of a factor in a multiplier; tf32 is as long as fp16
TYPICAL_YEAR = 2022  # where a device file gives none
VECTOR_LOAD = 16  # bytes of a vector load
LANES = 128  # fp32 lanes of one unit, as in an SM of Maxwell
# fp32 lanes that a unit's four schedulers fill, with 32 lanes each and now and then a second instruction: 128 lanes of
# Maxwell do 90 % of what 192 of Kepler do (NVIDIA, "5 Things You Should Know About the New Maxwell GPU Architecture",
# 2014, from memory)
FILLED_LANES = LANES / 0.9


@dataclass(frozen=True)
class Hardware:
    """One entry per op in every field."""

    peak: Floats  # [FLOP/s], dense, as quoted for the op's precision and path
    tensor: Flags  # whether that path is the tensor units
    factor_bytes: Floats  # of a factor, which determines a multiplier's power
    bandwidth: Floats  # [B/s]
    units: Floats
    cache: Floats  # last level [B]
    power: Floats  # limit [W]
    year: Floats
    measured_peak: Flags  # whether the peak was measured, not quoted
    measured_bandwidth: Flags
    filled: Floats  # share of the fp32 lanes for which a unit issues instructions
    unit_rate: Floats  # cycles of all units of a GPU together [1/s]; NaN on other devices, and where nothing tells

    def attained_bandwidth(self, share: ArrayLike) -> Floats:
        """The attained bandwidth [B/s]: a share of the quoted one, or the measured one."""
        return np.where(self.measured_bandwidth, 1.0, share) * self.bandwidth

    def at(self, rows: Flags) -> Hardware:
        """Select ops."""
        return Hardware(*(values[rows] for values in vars(self).values()))


def hardware_of(device: DeviceSpec, op_class: pd.Series, precision: pd.Series) -> Hardware:
    """The numbers of a device for each op. An unknown peak of memory-bound work is infinite."""
    kind_of_row, texts = pd.factorize(op_class.str.cat(precision, sep=" "))
    kinds = [text.split(" ") for text in texts]
    paths = [peak_of_op(device, *kind) for kind in kinds]

    def by_kind(values: Iterable[float]) -> Floats:
        return np.asarray(np.array([*values], dtype=float)[kind_of_row])

    def of_device(value: float) -> Floats:
        return np.full(len(kind_of_row), value, dtype=float)

    peak, lanes = by_kind(number(rate) for _, rate in paths), filled_lanes(device)
    return Hardware(
        peak=np.where(np.isnan(peak) & op_class.isin(STREAMING).to_numpy(dtype=bool), np.inf, peak),
        tensor=by_kind(name.endswith(".tensor") for name, _ in paths) > 0,
        factor_bytes=by_kind(FACTOR_BYTES.get(precision, np.nan) for _, precision in kinds),
        bandwidth=of_device(number(device.memory_bandwidth)),
        units=of_device(number(device.compute_units)),
        cache=of_device(number(device.last_level_cache)),
        power=of_device(number(device.power_limit)),
        year=of_device(device.year or TYPICAL_YEAR),
        measured_peak=by_kind(is_measured(rate) for _, rate in paths) > 0,
        measured_bandwidth=of_device(is_measured(device.memory_bandwidth)) > 0,
        filled=by_kind(lanes if name.endswith("fp32.vector") else 1.0 for name, _ in paths),
        unit_rate=of_device(unit_rate(device) if device.is_gpu else np.nan),
    )


def unit_rate(device: DeviceSpec) -> float:
    """The cycles of all units of a device together [1/s]; NaN where its units or their clock are unknown."""
    return number(device.compute_units) * (device.clock or np.nan)


def filled_lanes(device: DeviceSpec) -> float:
    """The share of a unit's fp32 lanes for which it issues instructions; 1 where the file gives no FLOP per clock."""
    peak = device.peak_of("fp32").vector
    return min(1.0, 2.0 * FILLED_LANES / peak.flop_per_clock) if peak and peak.flop_per_clock else 1.0


def peak_of_op(device: DeviceSpec, op_class: str, precision: str) -> tuple[str, Sourced | None]:
    """The dotted name of the peak that an op of this class and precision takes on a device, and that peak.

    Matrix products and convolutions use tensor units where there are any, other ops vector units. There, narrow formats
    without a peak run at that of fp32, and so do products of fp16 whose sums would be in fp16: frameworks sum in fp32
    (cuBLAS documentation, cublasSgemmEx; P100 in DeepBench). The peak of a collective is the rate of the device's link.
    """
    if op_class == "collective":
        return "link.per_direction", device.link.one_way if device.link else None
    tensor = device.peak_of(precision).tensor if op_class in MATRIX else None
    if tensor:
        return f"peak.{precision}.tensor", tensor
    vector = device.peak_of(precision).vector
    may_widen = precision == "fp16" and op_class in MATRIX and device.peak_of("fp32").vector is not None
    sums_widely = vector is not None and not (may_widen and vector.accumulate in (None, "fp16"))
    name = precision if sums_widely or precision == "fp64" else "fp32"
    return f"peak.{name}.vector", device.peak_of(name).vector


def is_measured(rate: Sourced | None) -> bool:
    """Whether a rate is known, and was measured."""
    return rate is not None and rate.status == "measured"


def number(value: Sourced | None) -> float:
    """The value in SI units; NaN where there is none."""
    return np.nan if value is None else value.value
