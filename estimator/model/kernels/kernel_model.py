"""What a model of a family of kernels is, and what it computes from."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from estimator.core.schema import complete, numbers
from estimator.core.types import DeviceSpec, Flags, Floats
from estimator.model.calibration import KernelHyperparameters, OpFeatures
from estimator.model.coefficients import Coefficients
from estimator.model.hardware import Hardware, hardware_of


@dataclass(frozen=True)
class BusyTime:
    """What one call of each op takes beside its launches."""

    time_s: Floats
    serial_s: Floats  # arithmetic and traffic one after the other
    lower_bound_s: Floats  # what the quoted peak and bandwidth allow at best
    compute_share: Floats  # how far the peak binds the time, 0 … 1; the bandwidth does the rest
    launches: Floats  # kernels that it is made of


@dataclass(frozen=True)
class KernelInputs:
    """Ops, rows of WORK, MEASUREMENTS or TRUTH, and the device that they run on."""

    rows: pd.DataFrame
    hardware: Hardware  # one entry per row
    device: DeviceSpec
    coefficients: Coefficients

    @classmethod
    def on_device(cls, rows: pd.DataFrame, device: DeviceSpec, coefficients: Coefficients) -> KernelInputs:
        """Ops on a device, each at the peak of its class and precision."""
        return cls(rows, hardware_of(device, rows["op_class"], rows["precision"]), device, coefficients)

    def at(self, rows: Flags) -> KernelInputs:
        """Some of the ops."""
        return KernelInputs(self.rows[rows], self.hardware.at(rows), self.device, self.coefficients)

    @property
    def launch_s(self) -> float:
        """What launching one kernel takes [s], at nominal inputs."""
        return launch_latency(self.device, self.coefficients)


@dataclass(frozen=True)
class KernelModel:
    """How the ops of one family of kernels are modelled, and how measured ones correct the model."""

    matches: Callable[[pd.DataFrame], Flags]  # which rows it models
    busy_time: Callable[[KernelInputs], BusyTime]
    features: Callable[[KernelInputs, BusyTime], OpFeatures]
    hyperparameters: Callable[[Coefficients], KernelHyperparameters]
    by_precision: bool = True  # whether measurements of one precision do not correct another
    by_format: bool = True  # whether rows of other formats stand for one that nobody measured: bytes are bytes
    fallback: str = ""  # the model that is corrected where nothing of its own was measured


def calls_of(rows: pd.DataFrame) -> Floats:
    """Calls of each row; one where it does not say."""
    return numbers(rows, "calls")


def counted_calls(rows: pd.DataFrame) -> Floats:
    """Calls that a row's amounts are of; one where it has none, as its amounts are 0."""
    calls = calls_of(rows)
    return np.where(calls == 0.0, 1.0, calls)


def amounts_per_call(rows: pd.DataFrame) -> tuple[Floats, Floats]:
    """FLOP and bytes of one call of each row, which states those of all its calls."""
    calls = counted_calls(rows)
    return numbers(rows, "flop") / calls, numbers(rows, "bytes") / calls


def launch_latency(device: DeviceSpec, coefficients: Coefficients) -> float:
    """What launching one kernel takes [s], at nominal inputs."""
    return device.launch_latency.value if device.launch_latency else coefficients.launches.latency_s.mid


def have_all(
    rows: pd.DataFrame,
    op_classes: Sequence[str],
    needed: Sequence[str],
    condition: Callable[[pd.DataFrame], Flags] | None = None,
) -> Flags:
    """Which rows are of one of the classes, have all columns that are needed of them, and meet a further condition."""
    found = np.asarray(rows["op_class"].isin(op_classes) & complete(rows, needed), dtype=bool)
    return found & condition(rows) if condition and found.any() else found
