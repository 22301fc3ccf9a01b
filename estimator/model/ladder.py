"""The ladder of evidence: which evidence the time of each op on the target stands on.

The models give each op a time from specifications. The target's own measurements correct it as far as they resemble it
(isolated.py), and so does what the source's run made of the op (step_factor.py). Ops that no model matches keep the
source's time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import pandas as pd

from estimator.core.errors import EstimatorError
from estimator.core.schema import MATRIX
from estimator.core.types import DeviceSpec, Flags, Floats, Names
from estimator.model.arrays import first_met, padded
from estimator.model.coefficients import shipped
from estimator.model.efficiency import source_efficiency
from estimator.model.isolated import DeviceOps, KernelEstimate, estimate_kernels
from estimator.model.kernels.kernel_model import KernelModel, calls_of
from estimator.model.kernels.registry import KERNEL_MODELS, models_of
from estimator.model.measured_rows import (
    applicable_rows,
    one_row_per_shape,
    rows_for_ops,
    rows_of_common_libraries,
    use_fastest_repeats,
)
from estimator.model.measured_times import measured_times
from estimator.model.step_factor import StepEstimate, class_bias, estimate_in_step

CACHES = ("warm", "cold")


@dataclass(frozen=True)
class SourceRun:
    """What is known of the run that was profiled."""

    device: DeviceSpec | None = None
    measurements: pd.DataFrame | None = field(default=None, repr=False)  # of the device
    # the first rows of WORK as the source ran them, where the target's step differs
    profiled: pd.DataFrame | None = field(default=None, repr=False)
    step_spread: float = 0.0  # as Profile has it


@dataclass(frozen=True)
class TargetDevice:
    """What is known of the device that is asked about."""

    device: DeviceSpec
    measurements: pd.DataFrame = field(repr=False)
    same_setting: bool = False  # the profile was taken on it in this very precision, so its own times are the answer


@dataclass(frozen=True)
class OpTimes:
    """What is known of the time of all calls of each op, before anything is drawn."""

    kernels: KernelEstimate
    rung: Names  # measured, modelled, unchanged or nothing
    interval_s: Floats  # low end, median and high end (3 × ops) of what is not modelled
    run_std: Floats  # standard deviation of the logarithm by which it moves with the source's run
    source_efficiency: Floats

    @property
    def method(self) -> Names:
        """How the time was made, one of METHODS."""
        return np.asarray(np.where(self.rung == "modelled", self.kernels.method, self.rung))

    @property
    def launches(self) -> Floats:
        """Those that a time is made of beside the busy time; 0 where it is not modelled."""
        return np.where(self.rung == "modelled", self.kernels.launches, 0.0)


def estimate_op_times(work: pd.DataFrame, source: SourceRun, target: TargetDevice, cache: str = "warm") -> OpTimes:
    """The time of each op by the first rung of the ladder that knows it.

    Args:
        work: WORK, as the target is to run it.
        source: the run that was profiled.
        target: the device that is asked about.
        cache: state in which the measured rows of the target count, where no table of the source is at hand.

    Raises:
        EstimatorError: where the target lacks a precision that is asked of it, or all that a time could follow from.
    """
    if not target.same_setting:
        _refuse(target, work)
    own = work["time_s"].to_numpy(dtype=float)
    step, table = _step(work, source, target, cache)
    measured = step.factor * calls_of(work) * measured_times(work, table)
    interval = np.array([own] * 3) if target.same_setting else measured
    kernels = step.kernels
    known = [~np.isnan(values) for values in (interval[1], kernels.time_s + kernels.compute_share, own)]
    rung = first_met(known, ["measured", "modelled", "unchanged"], "")
    return OpTimes(
        kernels,
        rung,
        interval_s=np.where(rung == "unchanged", own, interval),
        run_std=_run_std(step, target.same_setting | (rung == "unchanged"), source.step_spread),
        source_efficiency=padded(source_efficiency(_profiled(work, source), source.device), len(work), np.nan),
    )


def _profiled(work: pd.DataFrame, source: SourceRun) -> pd.DataFrame:
    return work if source.profiled is None else source.profiled


def _run_std(step: StepEstimate, own: Flags, step_spread: float) -> Floats:
    """By how much times move with the source's run: the source's ``own`` as its steps differ; by the factor of a step
    also as steps of other devices do.
    """
    in_step = np.hypot(step_spread, shipped().step_factor.in_step_std)
    return np.where(own, step_spread, np.where(step.known, in_step, 0.0))


def _step(work: pd.DataFrame, source: SourceRun, target: TargetDevice, cache: str) -> tuple[StepEstimate, pd.DataFrame]:
    """What is known of the target's step, and the table of its measured shapes: by the kernels of both devices, where
    one library was measured on both, else by the target's alone.
    """
    sides = _of_one_library(work, source, target)
    if sides:
        return estimate_in_step(*sides), sides[1].tables["warm"]
    rows = rows_for_ops(target.measurements, work)
    table = one_row_per_shape(applicable_rows(rows, cache))
    bias = padded(class_bias(_profiled(work, source), source.device, shipped()), len(work), 0.0)
    kernels = estimate_kernels(DeviceOps(work, target.device, {cache: table}), cache, class_bias=bias)
    return StepEstimate(kernels, np.ones(len(work)), np.zeros(len(work), dtype=bool)), table


def _of_one_library(work: pd.DataFrame, source: SourceRun, target: TargetDevice) -> tuple[DeviceOps, DeviceOps] | None:
    """The ops on the source and on the target, with the rows that a library in common measured; None where there is
    none.
    """
    if source.device is None or source.measurements is None:
        return None
    ran, rows = _profiled(work, source), rows_for_ops(target.measurements, work)
    on_source, on_target = rows_of_common_libraries(rows_for_ops(source.measurements, ran), rows)
    if on_source.empty:
        return None
    both = use_fastest_repeats(on_source, on_target)
    tables = {cache: _comparable([one_row_per_shape(applicable_rows(r, cache)) for r in both], ran) for cache in CACHES}
    of_source, of_target = ({cache: tables[cache][side] for cache in CACHES} for side in (0, 1))
    return DeviceOps(ran, source.device, of_source), DeviceOps(work, target.device, of_target)


def _comparable(tables: Sequence[pd.DataFrame], ran: pd.DataFrame) -> list[pd.DataFrame]:
    """The tables without what one of them alone says in place of another model, of ops such as the source ran: the
    factor between devices would hold the difference between the models.
    """
    names = [name for name, _, _ in models_of(ran)]
    names += [model.fallback for name in names if (model := KERNEL_MODELS[name]).fallback]  # may have one as well
    models = [model for name in dict.fromkeys(names) if (model := KERNEL_MODELS[name]).fallback]
    one_sided = [model for model in models if len({bool(model.matches(table).any()) for table in tables}) > 1]
    return [table[~_matches_any(one_sided, table)] for table in tables]


def _matches_any(models: Sequence[KernelModel], rows: pd.DataFrame) -> Flags:
    matches = [model.matches(rows) for model in models]
    return np.any(matches, axis=0) if matches else np.zeros(len(rows), dtype=bool)


def _refuse(target: TargetDevice, work: pd.DataFrame) -> None:
    device = target.device
    if device.specifications == "known":
        _refuse_unsupported(device, work)
    elif target.measurements.empty:
        lacks = [
            *(["peak"] if not any(peak.matrix for peak in device.peak.values()) else []),
            *(["memory_bandwidth"] if device.memory_bandwidth is None else []),
        ]
        raise EstimatorError(
            f"{device.name} has no specifications of {' and '.join(lacks)}, and no measurements; "
            "write a device file with them, or choose another target"
        )


def _refuse_unsupported(device: DeviceSpec, work: pd.DataFrame) -> None:
    """Raise EstimatorError where the device lacks the precision of a matrix product or convolution."""
    for precision in sorted(set(work.loc[work["op_class"].isin(MATRIX), "precision"])):
        peak = device.peak_of(precision)
        if peak.matrix is None:
            known = ", ".join(p for p, rates in device.peak.items() if rates.matrix)
            lacks = "has no hardware path for" if not peak.supported else "gives no peak for"
            raise EstimatorError(f"{device.name} {lacks} {precision}; matrix products run there in {known}")
