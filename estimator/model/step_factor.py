"""The factor of a kernel's time in a step over its isolated time, from the source's run.

In a step caches are cold, memory is new, and other ops run at the same time. Where one library was measured on source
and target, each op's kernel is known on both: its factor on the source is transferred to the target, and so is the
visible part of its launch. Where neither was measured, but both run the kernels of one vendor, the source's times show
what the model does not know of a kernel. Elsewhere nothing is transferred: what a whole model takes beyond its kernels
on one device says nothing of another.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from estimator.core.interval import Z
from estimator.core.physics import ratio
from estimator.core.schema import MATRIX
from estimator.core.types import DeviceSpec, Flags, Floats
from estimator.model.arrays import padded
from estimator.model.coefficients import shipped
from estimator.model.isolated import DeviceOps, KernelEstimate, isolated_time
from estimator.model.kernels.kernel_model import calls_of, launch_latency
from estimator.model.measured_times import timed_cold

MIN_KERNEL_SHARE = 0.1  # least part of an isolated time that is not launch
MIN_COLD_RATIO = 1.05  # least ratio of cold to warm time by which the coldness of a step can be measured


@dataclass(frozen=True)
class StepTimes:
    """The times of ops in the source's step [s]."""

    own_s: Floats
    shared_s: Floats  # with each instant divided among the running ops

    @classmethod
    def of(cls, work: pd.DataFrame) -> StepTimes:
        """The step times of WORK on the source; unknown shared times are those of ops that ran alone."""
        own, shared = (work[name].to_numpy(dtype=float) for name in ("time_s", "shared_s"))
        return cls(own, np.where(np.isnan(shared), own, shared))


@dataclass(frozen=True)
class StepEstimate:
    """Estimate of ops in the target's step."""

    kernels: KernelEstimate  # with times and launches in the step
    factor: Floats  # time of each op in the step / isolated measured time
    known: Flags  # whether the factor is known from the source's run


def estimate_in_step(source: DeviceOps, target: DeviceOps, *, by_models: bool = False) -> StepEstimate:
    """Estimate the target's step from the kernels on both devices and the source's step times.

    The first ops of the target are those of the source. ``by_models``: neither device was measured, so that of a ratio
    to the source's model only the part holds that is :func:`transferable`.
    """
    count = len(target.work)
    estimate, target_warm = isolated_time(target)
    on_source, source_warm = isolated_time(source)
    source_cold, target_cold = _cold_times(source, target, source_warm, target_warm)

    step_times = StepTimes.of(source.work)
    cold = cold_fraction(step_times.shared_s, source_warm, source_cold)
    source_s = source_warm + cold * (source_cold - source_warm)
    target_s = target_warm + padded(cold, count, 1.0) * (target_cold - target_warm)

    source_launch, target_launch = _launches(source), _launches(target)
    hidden = hidden_launch_fraction(step_times.shared_s, source_s, source_launch)
    target_hidden = padded(hidden, count, 0.0)  # the launches of added ops are visible
    source_busy = without_launch(source_s, hidden * source_launch)
    target_busy = without_launch(target_s, target_hidden * target_launch)

    factor = in_step_factor(step_times, source_busy, target_busy[: len(step_times.own_s)])
    factor = padded(transferable(factor, source, target, on_source.log_std) if by_models else factor, count, np.nan)
    is_known = ~np.isnan(factor)
    factor_on_target = np.where(is_known, factor, 1.0) * ratio(target_s, target_warm)
    kernels = _in_step(estimate, factor_on_target, 1.0 - target_hidden, is_known)
    return StepEstimate(kernels, factor_on_target * ratio(target_busy, target_s), is_known)


def has_common_kernels(source: DeviceSpec, target: DeviceSpec) -> bool:
    """Whether a framework runs the kernels of one vendor's libraries on both devices, and both are accelerators."""
    vendors = {device.vendor.lower() for device in (source, target) if device.vendor}
    return not source.is_processor and not target.is_processor and bool(source.vendor) and len(vendors) == 1


def transferable(factor: Floats, source: DeviceOps, target: DeviceOps, log_std: Floats) -> Floats:
    """The part of the ratio of a source's times to its model that holds on the target, from kernels of one vendor.

    On one architecture the same kernels run: the whole ratio holds. On another it is what lies beyond the model's 90 %
    interval on the source, as smaller ratios are mostly a device's own: with r the logarithm of the ratio,
    sign(r) · max(abs(r) − z · log_std, 0). Ops in another number format, and products on other units, run other
    kernels: nothing holds.

    Args:
        factor: time in the source's step / modelled time of each op of the source.
        source, target: ops on both devices; the first of the target are those of the source.
        log_std: standard deviation of the logarithm of the modelled times on the source.
    """
    excess = np.log(factor)
    if source.device.family != target.device.family:
        excess = np.sign(excess) * np.maximum(np.abs(excess) - Z * log_std, 0.0)
    return np.where(_runs_same_kernels(source, target), np.exp(excess), np.nan)


def _runs_same_kernels(source: DeviceOps, target: DeviceOps) -> Flags:
    """Whether each op of the source keeps its number format, and runs on the like units of the target."""
    before, after = source.work, target.work.iloc[: len(source.work)]
    like_units = {
        name: (source.device.peak_of(name).tensor is None) == (target.device.peak_of(name).tensor is None)
        for name in before["precision"].dropna().unique()
    }
    on_like_units = before["precision"].map(like_units).fillna(True) | ~before["op_class"].isin(MATRIX)
    same = before["precision"].fillna("").to_numpy() == after["precision"].fillna("").to_numpy()
    return np.asarray(same & on_like_units.to_numpy(dtype=bool), dtype=bool)


def _launches(ops: DeviceOps) -> Floats:
    """Time of the launches of all calls of each op [s]."""
    return calls_of(ops.work) * launch_latency(ops.device, shipped())


def _cold_times(
    source: DeviceOps, target: DeviceOps, source_warm: Floats, target_warm: Floats
) -> tuple[Floats, Floats]:
    """Isolated times with a cold cache [s], on source and target; warm ones where not timed on both."""
    on_target = timed_cold(target.work, target.tables["cold"])
    on_both = on_target[: len(source.work)] & timed_cold(source.work, source.tables["cold"])
    on_target = np.append(on_both, on_target[len(on_both) :])
    if not on_target.any():
        return source_warm, target_warm
    source_cold, target_cold = (isolated_time(side, "cold")[1] for side in (source, target))
    return (
        np.fmax(np.where(on_both, source_cold, np.nan), source_warm),
        np.fmax(np.where(on_target, target_cold, np.nan), target_warm),
    )


def _in_step(estimate: KernelEstimate, factor: Floats, launched_share: Floats, known: Flags) -> KernelEstimate:
    """Scale isolated estimates by the step factor; of the launches only the visible share counts."""
    method = np.where(known & ~np.isnan(estimate.time_s), "transferred", estimate.method)
    return replace(
        estimate,
        method=method,
        time_s=factor * estimate.time_s,
        serial_s=factor * estimate.serial_s,
        launches=factor * launched_share * estimate.launches,
        lower_bound_s=np.minimum(factor, 1.0) * estimate.lower_bound_s,
    )


def cold_fraction(shared_s: Floats, warm_s: Floats, cold_s: Floats) -> Floats:
    """Coldness of the cache for each op in its step: (shared − warm) / (cold − warm), 0 … 1.

    1 where cold is hardly longer or a time is unknown, as a step uses many arrays between two uses of one.

    Args:
        shared_s: time in the step, with each instant divided among the running ops [s].
        warm_s: isolated time with a warm cache [s].
        cold_s: isolated time with a cold cache [s].

    Returns:
        Fraction of each op.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        fraction = np.clip((shared_s - warm_s) / (cold_s - warm_s), 0.0, 1.0)
    return np.where((shared_s > 0) & (cold_s > MIN_COLD_RATIO * warm_s), fraction, 1.0)


def hidden_launch_fraction(shared_s: Floats, isolated_s: Floats, launch_s: Floats) -> Floats:
    """Fraction of an op's launch not in its step time: (isolated − shared) / launch, 0 … 1; 0 where unknown.

    Most profiles do not count the launch by a processor as time of the op; isolated times, of chains of ops, contain
    it.

    Args:
        shared_s: time in the step, with each instant divided among the running ops [s].
        isolated_s: isolated time [s].
        launch_s: launch time of all calls [s].

    Returns:
        Fraction of each op.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        fraction = np.clip((isolated_s - shared_s) / launch_s, 0.0, 1.0)
    return np.where((shared_s > 0) & (launch_s > 0) & (isolated_s > 0), fraction, 0.0)


def without_launch(isolated_s: Floats, launch_s: Floats) -> Floats:
    """Isolated time without launch [s]; at least MIN_KERNEL_SHARE of it."""
    return np.asarray(np.maximum(isolated_s - launch_s, MIN_KERNEL_SHARE * isolated_s))


def in_step_factor(step: StepTimes, source_s: Floats, target_s: Floats) -> Floats:
    """Time of each op in the target's step / its isolated time, from its times on the source.

    A part of the time that a step adds to an op grows with the op (new memory), a part does not (waking threads); one
    run cannot separate them. With r the factor on the source, by shared times, and g the isolated time on the target
    over that on the source, the factor on the target is that on the source × (1 + (r − 1) / √g) / r where r > 1: the
    added time grows as the square root of the isolated time. The factor stays where r ≤ 1, or the target's time is
    unknown.

    Args:
        step: times in the source's step.
        source_s: isolated times on the source [s].
        target_s: isolated times on the target [s].

    Returns:
        Factor of each op; NaN where its step time or isolated time on the source is 0 or unknown.
    """
    is_known = (step.own_s > 0) & (source_s > 0)
    with np.errstate(divide="ignore", invalid="ignore"):
        source_factor, growth = step.shared_s / source_s, target_s / source_s
        relative_factor = (1.0 + (source_factor - 1.0) / np.sqrt(growth)) / source_factor
        factor = step.own_s / source_s * np.where((source_factor > 1.0) & (target_s > 0), relative_factor, 1.0)
    return np.where(is_known, factor, np.nan)
