"""What a step makes of a kernel's time, as the source's run shows it: cold caches, new memory, ops beside it.

Where one library was measured on the source and on the target, each op's kernel is known on both: what its step made
of it on the source goes with it, and what launches it counts on the target as far as it does on the source.

Where not, a class of ops is known by how much its sum misses the model on the source. A part of such a miss is the ops'
own (work that is not as counted, kernels of an unusual kind) and goes with them to the target; the rest is the source
device's. Sums over a class are used: single ops carry the noise of one profile. A class that is far off the model is
unlike what the model was fitted to, and has no bias.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

import numpy as np
import pandas as pd

from estimator.core.types import DeviceSpec, Flags, Floats
from estimator.model.arrays import padded, ratio
from estimator.model.coefficients import Coefficients, shipped
from estimator.model.isolated import DeviceOps, KernelEstimate, isolated_time
from estimator.model.kernels.kernel_model import KernelInputs, calls_of, launch_latency
from estimator.model.kernels.registry import models_of
from estimator.model.measured_times import timed_cold

BESIDE = 2.0  # times the share of its time that is another's, of an op beside which one other ran throughout
LEAST = 0.1  # of what an op takes by itself, that is left of it without its launch
LONGER = (
    1.05  # than in the cache that an op must take out of it, beyond the noise of repeats, to show how cold its step is
)


@dataclass(frozen=True)
class StepTimes:
    """The times of ops in the source's step [s]."""

    own_s: Floats
    shared_s: Floats  # what is left of them once each instant is divided among the ops that ran

    @classmethod
    def of(cls, work: pd.DataFrame) -> StepTimes:
        """Of WORK as the source ran it; an op that ran alone, where nothing else is known."""
        own, shared = (work[name].to_numpy(dtype=float) for name in ("time_s", "shared_s"))
        return cls(own, np.where(np.isnan(shared), own, shared))


@dataclass(frozen=True)
class StepEstimate:
    """What is known of ops in the target's step."""

    kernels: KernelEstimate  # with times and launches as long as the step makes them
    factor: Floats  # time of each op in the step over its measured time by itself
    known: Flags  # whether the factor is known from the source's run


def estimate_in_step(source: DeviceOps, target: DeviceOps) -> StepEstimate:
    """The target's step by the kernels of both devices: on the source, in whose step each op took its time, and on the
    target, whose first ops are the source's.
    """
    count = len(target.work)
    estimate, target_warm = isolated_time(target)
    _, source_warm = isolated_time(source)
    source_cold, target_cold = _cold_times(source, target, source_warm, target_warm)

    step = StepTimes.of(source.work)
    cold = cold_fraction(step.shared_s, source_warm, source_cold)
    source_s = source_warm + cold * (source_cold - source_warm)
    target_s = target_warm + padded(cold, count, 1.0) * (target_cold - target_warm)

    source_launch, target_launch = _launches(source), _launches(target)
    hidden = hidden_launch_fraction(step.shared_s, source_s, source_launch)
    target_hidden = padded(hidden, count, 0.0)  # ops that are added to a step are launched in it, beside the others
    source_busy = without_launch(source_s, hidden * source_launch)
    target_busy = without_launch(target_s, target_hidden * target_launch)

    factor = padded(in_step_factor(step, source_busy, target_busy[: len(step.own_s)]), count, np.nan)
    known = ~np.isnan(factor)
    longer = np.where(known, factor, 1.0) * ratio(target_s, target_warm)
    kernels = _in_step(estimate, longer, 1.0 - target_hidden, known)
    return StepEstimate(kernels, longer * ratio(target_busy, target_s), known)


def _launches(ops: DeviceOps) -> Floats:
    """What launches of all calls of each op take [s] on a device."""
    return calls_of(ops.work) * launch_latency(ops.device, shipped())


def _cold_times(
    source: DeviceOps, target: DeviceOps, source_warm: Floats, target_warm: Floats
) -> tuple[Floats, Floats]:
    """What all calls of each op take by themselves [s] where no cache holds their operands, on the source and on the
    target; as in the cache where that was not timed on both.
    """
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


def _in_step(estimate: KernelEstimate, longer: Floats, launched: Floats, known: Flags) -> KernelEstimate:
    """What the models say of ops by themselves, with times and launches longer by a factor; of the launches a part is
    ``launched`` within the step. What did not move on the source moves nowhere.
    """
    method = np.where(known & ~np.isnan(estimate.time_s), "transferred", estimate.method)
    return dataclasses.replace(
        estimate,
        method=method,
        time_s=longer * estimate.time_s,
        serial_s=longer * estimate.serial_s,
        launches=longer * launched * estimate.launches,
        lower_bound_s=np.minimum(longer, 1.0) * estimate.lower_bound_s,
    )


def cold_fraction(shared_s: Floats, warm_s: Floats, cold_s: Floats) -> Floats:
    """How far a step empties the cache for an op, 0 to 1: (shared − warm) / (cold − warm); 1 where an empty cache costs
    hardly more, or a time is not known: between two uses of an array, steps use many others.

    Args:
        shared_s: in its step once each instant is divided among the ops that ran [s].
        warm_s: by itself with its operands in the cache [s].
        cold_s: by itself with its operands out of the cache [s].

    Returns:
        Fraction of each op.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        fraction = np.clip((shared_s - warm_s) / (cold_s - warm_s), 0.0, 1.0)
    return np.where((shared_s > 0) & (cold_s > LONGER * warm_s), fraction, 1.0)


def hidden_launch_fraction(shared_s: Floats, isolated_s: Floats, launch_s: Floats) -> Floats:
    """Fraction, 0 to 1, of an op's launch that its time in its step does not hold: (isolated − shared) / launch. What
    launches an op from a processor is no part of its time in most profiles, but of its time by itself, where ops are
    timed in a chain. 0 where a time is not known.

    Args:
        shared_s: in its step once each instant is divided among the ops that ran [s].
        isolated_s: by itself [s].
        launch_s: of all its calls [s].

    Returns:
        Fraction of each op.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        fraction = np.clip((isolated_s - shared_s) / launch_s, 0.0, 1.0)
    return np.where((shared_s > 0) & (launch_s > 0) & (isolated_s > 0), fraction, 0.0)


def without_launch(isolated_s: Floats, launch_s: Floats) -> Floats:
    """What an op takes by itself [s] without the part that launches it; at least a little of it."""
    return np.asarray(np.maximum(isolated_s - launch_s, LEAST * isolated_s))


def in_step_factor(step: StepTimes, source_s: Floats, target_s: Floats) -> Floats:
    """Time of each op in a step on the target over that by itself, as its times on the source have it.

    Of what a step adds to an op, a part grows with it (memory that is new) and a part does not (threads that wake).
    No single run shows which: it grows as the root of the time by itself does, and as that time where it is not known
    on the target. As far as others ran beside the op, it waited for them, and what is added grows as all ops do.

    Args:
        step: of the ops in the source's step.
        source_s: by themselves on the source [s].
        target_s: by themselves on the target [s].

    Returns:
        Factor of each op; NaN where its time in the step or by itself on the source is 0 or not known.
    """
    known = (step.own_s > 0) & (source_s > 0)
    with np.errstate(divide="ignore", invalid="ignore"):
        longer, growth = step.shared_s / source_s, target_s / source_s
        beside = np.clip(BESIDE * (1.0 - step.shared_s / step.own_s), 0.0, 1.0)
        added_growth = growth ** (0.5 * (1.0 - beside)) * _growth_of_all(source_s, target_s, known) ** beside
        on_target = (1.0 + (longer - 1.0) * added_growth / growth) / longer  # over the factor on the source
        factor = step.own_s / source_s * np.where((longer > 1.0) & (target_s > 0), on_target, 1.0)
    return np.where(known, factor, np.nan)


def _growth_of_all(source_s: Floats, target_s: Floats, known: Flags) -> float:
    """The time of all known ops by themselves on the target, over that on the source."""
    both = known & (target_s > 0)
    return float(target_s[both].sum() / source_s[both].sum()) if both.any() else 1.0


def class_bias(work: pd.DataFrame, source: DeviceSpec | None, coefficients: Coefficients) -> Floats:
    """Logarithm by which each op's time on any device is longer than modelled, as the source's run has its class; 0
    where the specifications of the source are not known, or no model matches.
    """
    out = np.zeros(len(work))
    if source is None or source.specifications != "known":
        return out
    inputs, calls = KernelInputs.on_device(work, source, coefficients), calls_of(work)
    share, limit = coefficients.step_factor.class_bias_share, coefficients.step_factor.class_bias_limit
    for _, model, rows in models_of(work):
        busy = model.busy_time(inputs.at(rows))
        modelled = float((calls[rows] * (busy.time_s + busy.launches * inputs.launch_s)).sum())
        taken = float(work.loc[rows, "time_s"].sum())
        miss = np.log(taken / modelled) if min(taken, modelled) > 0 else np.nan
        out[rows] = share * miss if abs(miss) <= limit else 0.0
    return out
