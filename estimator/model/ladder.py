"""The ladder of evidence: choose the evidence for the time of each op on the target.

Models give each op a time from specifications. Similar measurements of the target correct it (isolated.py), and so does
the op's time in the source's run (step_factor.py). Ops without a model keep the source's time.
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
from estimator.model.step_factor import StepEstimate, estimate_in_step

CACHES = ("warm", "cold")


@dataclass(frozen=True)
class SourceRun:
    """The profiled run on the source."""

    device: DeviceSpec | None = None
    measurements: pd.DataFrame | None = field(default=None, repr=False)  # of the device
    # the first rows of WORK as the source ran them, where the target's step differs
    profiled: pd.DataFrame | None = field(default=None, repr=False)
    step_spread: float = 0.0  # as in Profile


@dataclass(frozen=True)
class TargetDevice:
    """The target, with its measurements."""

    device: DeviceSpec
    measurements: pd.DataFrame = field(repr=False)
    same_setting: bool = False  # the profile was taken on it in this precision: its times are the answer


@dataclass(frozen=True)
class OpTimes:
    """The time of all calls of each op, before sampling."""

    kernels: KernelEstimate
    rung: Names  # measured, modelled, unchanged or nothing
    interval_s: Floats  # low end, median and high end (3 × ops) of ops not modelled
    run_std: Floats  # standard deviation of the log of the source run's variation
    source_efficiency: Floats

    @property
    def method(self) -> Names:
        """The method of each time, one of METHODS."""
        return np.asarray(np.where(self.rung == "modelled", self.kernels.method, self.rung))

    @property
    def launches(self) -> Floats:
        """The launches of each op; 0 where it is not modelled."""
        return np.where(self.rung == "modelled", self.kernels.launches, 0.0)


def estimate_op_times(work: pd.DataFrame, source: SourceRun, target: TargetDevice, cache: str = "warm") -> OpTimes:
    """Estimate the time of each op by the first rung of the ladder that applies.

    Args:
        work: WORK as on the target.
        source: the profiled run.
        target: the target device.
        cache: cache state of the target's measured rows, where the source has no measurements.

    Raises:
        EstimatorError: where the target lacks a needed precision, or has neither specifications nor measurements.
    """
    if not target.same_setting:
        _refuse_insufficient(target, work)
    profiled_s = work["time_s"].to_numpy(dtype=float)
    step, table = _estimate_step(work, source, target, cache)
    measured = step.factor * calls_of(work) * measured_times(work, table)
    measured_interval = np.array([profiled_s] * 3) if target.same_setting else measured
    kernels = step.kernels
    is_known = [
        ~np.isnan(values) for values in (measured_interval[1], kernels.time_s + kernels.compute_share, profiled_s)
    ]
    rung = first_met(is_known, ["measured", "modelled", "unchanged"], "")
    return OpTimes(
        kernels,
        rung,
        interval_s=np.where(rung == "unchanged", profiled_s, measured_interval),
        run_std=_run_std(step, target.same_setting | (rung == "unchanged"), source.step_spread),
        source_efficiency=padded(source_efficiency(_profiled_work(work, source), source.device), len(work), np.nan),
    )


def _profiled_work(work: pd.DataFrame, source: SourceRun) -> pd.DataFrame:
    return work if source.profiled is None else source.profiled


def _run_std(step: StepEstimate, is_own_time: Flags, step_spread: float) -> Floats:
    """Variation with the source's run: that of its steps; for times by step factors also between devices."""
    in_step = np.hypot(step_spread, shipped().step_factor.in_step_std)
    return np.where(is_own_time, step_spread, np.where(step.known, in_step, 0.0))


def _estimate_step(
    work: pd.DataFrame, source: SourceRun, target: TargetDevice, cache: str
) -> tuple[StepEstimate, pd.DataFrame]:
    """The estimate of the target's step, and the table of its measured shapes.

    It uses the kernels of both devices where one library was measured on both, else those of the target alone.
    """
    pair = _common_library_ops(work, source, target)
    if pair:
        return estimate_in_step(*pair), pair[1].tables["warm"]
    rows = rows_for_ops(target.measurements, work)
    table = one_row_per_shape(applicable_rows(rows, cache))
    kernels = estimate_kernels(DeviceOps(work, target.device, {cache: table}), cache)
    return StepEstimate(kernels, np.ones(len(work)), np.zeros(len(work), dtype=bool)), table


def _common_library_ops(
    work: pd.DataFrame, source: SourceRun, target: TargetDevice
) -> tuple[DeviceOps, DeviceOps] | None:
    """The ops on source and target with rows measured by a common library; None where there is none."""
    if source.device is None or source.measurements is None:
        return None
    profiled, rows = _profiled_work(work, source), rows_for_ops(target.measurements, work)
    source_rows, target_rows = rows_of_common_libraries(rows_for_ops(source.measurements, profiled), rows)
    if source_rows.empty:
        return None
    fastest = use_fastest_repeats(source_rows, target_rows)
    tables = {
        cache: _without_one_sided_rows(
            [one_row_per_shape(applicable_rows(rows_, cache)) for rows_ in fastest], profiled
        )
        for cache in CACHES
    }
    source_tables, target_tables = ({cache: tables[cache][index] for cache in CACHES} for index in (0, 1))
    return DeviceOps(profiled, source.device, source_tables), DeviceOps(work, target.device, target_tables)


def _without_one_sided_rows(tables: Sequence[pd.DataFrame], profiled: pd.DataFrame) -> list[pd.DataFrame]:
    """Drop the rows of models with a fallback that only one of the tables has.

    Else the factor between the devices would contain the difference between model and fallback.
    """
    names = [name for name, _, _ in models_of(profiled)]
    names += [
        model.fallback for name in names if (model := KERNEL_MODELS[name]).fallback
    ]  # a fallback may have a fallback
    models = [model for name in dict.fromkeys(names) if (model := KERNEL_MODELS[name]).fallback]
    one_sided = [model for model in models if len({bool(model.matches(table).any()) for table in tables}) > 1]
    return [table[~_matches_any(one_sided, table)] for table in tables]


def _matches_any(models: Sequence[KernelModel], rows: pd.DataFrame) -> Flags:
    matches = [model.matches(rows) for model in models]
    return np.any(matches, axis=0) if matches else np.zeros(len(rows), dtype=bool)


def _refuse_insufficient(target: TargetDevice, work: pd.DataFrame) -> None:
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
            known = ", ".join(name for name, rates in device.peak.items() if rates.matrix)
            lacks = "has no hardware path for" if not peak.supported else "gives no peak for"
            raise EstimatorError(f"{device.name} {lacks} {precision}; matrix products run there in {known}")
