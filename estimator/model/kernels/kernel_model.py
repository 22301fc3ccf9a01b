"""The model of a family of kernels, and its inputs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd

from estimator.core.passes import pass_names
from estimator.core.schema import complete, numbers
from estimator.core.types import DeviceSpec, Flags, Floats
from estimator.model.calibration import KernelHyperparameters, OpFeatures
from estimator.model.coefficients import Coefficients
from estimator.model.hardware import Hardware, hardware_of
from estimator.model.kernel_priors import KernelPrior, KernelPriors

PASS_KINDS = {"grad_input": 1, "backward": 1, "grad_weights": 2}


@dataclass(frozen=True)
class BusyTime:
    """Time of one call of each op without launches."""

    time_s: Floats
    serial_s: Floats  # arithmetic and traffic one after the other
    lower_bound_s: Floats  # at the quoted peak and bandwidth
    compute_share: Floats  # how far the peak binds the time, 0 … 1; the rest is bound by bandwidth
    launches: Floats  # number of kernels
    start_share: Floats | float = 0.0  # of the time: waits that neither the peak nor the bandwidth shortens


@dataclass(frozen=True)
class KernelInputs:
    """Ops (rows of WORK, MEASUREMENTS or TRUTH) and their device."""

    rows: pd.DataFrame
    hardware: Hardware  # one entry per row
    device: DeviceSpec
    coefficients: Coefficients

    @classmethod
    def on_device(cls, rows: pd.DataFrame, device: DeviceSpec, coefficients: Coefficients) -> KernelInputs:
        """Ops on a device, each at the peak of its class and precision."""
        return cls(rows, hardware_of(device, rows["op_class"], rows["precision"]), device, coefficients)

    def at(self, rows: Flags) -> KernelInputs:
        """Select ops."""
        return KernelInputs(self.rows[rows], self.hardware.at(rows), self.device, self.coefficients)

    @property
    def launch_s(self) -> float:
        """Time of one launch [s], at nominal inputs."""
        return launch_latency(self.device, self.coefficients)


@dataclass(frozen=True)
class KernelModel:
    """The model of one family of kernels, and how measurements correct it."""

    matches: Callable[[pd.DataFrame], Flags]  # which rows it models
    busy_time: Callable[[KernelInputs], BusyTime]
    features: Callable[[KernelInputs, BusyTime], OpFeatures]
    hyperparameters: Callable[[Coefficients], KernelHyperparameters]
    by_precision: bool = True  # whether only measurements of the same precision correct it
    by_format: bool = True  # whether rows of other formats replace a format without rows
    on_gpus_only: bool = False  # whether other devices run its ops by a later model of the registry
    fallback: str = ""  # the model used where none of its own ops was measured
    by_resemblance: bool = False  # whether measurements that resemble its ops correct it (resemblance.py)


def pass_kinds(rows: pd.DataFrame) -> npt.NDArray[np.int_]:
    """The pass of each row as a kind of op: 0 forward, 1 the gradient of the input or both, 2 that of the weights."""
    return np.array([PASS_KINDS.get(name, 0) for name in pass_names(rows)], dtype=int)


def uncached_features(coordinates: Floats, busy: BusyTime, kind: npt.NDArray[np.int_]) -> OpFeatures:
    """The features of ops whose time does not depend on what the cache holds."""
    return OpFeatures(coordinates, busy.compute_share, kind, cached=np.zeros(len(kind), dtype=bool))


def by_prior(choose: Callable[[KernelPriors], KernelPrior]) -> Callable[[Coefficients], KernelHyperparameters]:
    """The hyperparameters of a prior, with the spread of streams between devices' memories."""
    return lambda coefficients: choose(coefficients.kernel_priors).hyperparameters(
        coefficients.memory_bound.streaming_std
    )


def calls_of(rows: pd.DataFrame) -> Floats:
    """Calls of each row; 1 where unknown."""
    return numbers(rows, "calls")


def counted_calls(rows: pd.DataFrame) -> Floats:
    """Calls that a row's amounts belong to; 1 where there are none, as the amounts are 0."""
    calls = calls_of(rows)
    return np.where(calls == 0.0, 1.0, calls)


def amounts_per_call(rows: pd.DataFrame) -> tuple[Floats, Floats]:
    """FLOP and bytes of one call of each row; rows have those of all calls."""
    calls = counted_calls(rows)
    return numbers(rows, "flop") / calls, numbers(rows, "bytes") / calls


def launch_latency(device: DeviceSpec, coefficients: Coefficients) -> float:
    """Time of one launch [s], at nominal inputs."""
    return device.launch_latency.value if device.launch_latency else coefficients.launches.latency_s.mid


def have_all(
    rows: pd.DataFrame,
    op_classes: Sequence[str],
    needed: Sequence[str],
    condition: Callable[[pd.DataFrame], Flags] | None = None,
) -> Flags:
    """Which rows are of one of the classes, have all needed columns, and meet a further condition."""
    matches = np.asarray(rows["op_class"].array.isin(op_classes), dtype=bool)
    if matches.any():  # most profiles lack most classes
        matches = matches & complete(rows, needed)
    return matches & condition(rows) if condition and matches.any() else matches
