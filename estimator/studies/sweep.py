"""One profile at several batch sizes on several devices: step time, throughput, and where a larger batch gains little.

Throughput is not time to accuracy: of ResNet56 on a P100 at batches of 32, 256 and 2048, Coleman et al. (DAWNBench: An
End-to-End Deep Learning Benchmark and Competition, 2017) found 32 the most accurate, and 256 a fair trade.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np

from estimator.core.errors import EstimatorError
from estimator.core.types import Estimate, Floats, Profile, RunPlan, Workload
from estimator.pipeline.step import estimate
from estimator.profiles import read_profile
from estimator.reports import documents
from estimator.rollup import epoch
from estimator.rollup.memory_fit import DoesNotFitError

DOUBLINGS = 3  # on each side of the profiled batch
LITTLE_GAIN = 0.1  # gain in throughput per doubling of the batch below which it is marked
ROUNDING = {"floor": epoch.steps_per_epoch_floor, "ceil": epoch.steps_per_epoch_ceil}
ACCURACY = (
    "throughput is not time to accuracy: a larger batch raises samples per second, but may need more epochs for the "
    "same accuracy or never reach it (DAWNBench, Coleman et al. 2017), and no profile can show that"
)
MEMORY = "batches that the memory of a device cannot hold are left out; 'estimator memory' lists what a batch holds"


def sweep(name: str, targets: Sequence[str], batches: Sequence[int], plan: RunPlan) -> dict[str, Any]:
    """Estimate a profile on every target at every batch size, as a document; by default powers of two around its batch.

    ``plan`` gives all but target and batch. Raises EstimatorError where the profiled batch is not known.
    """
    profile = read_profile(name)
    profiled = profile.workload.batch_size
    if profiled is None:
        raise EstimatorError(f"{profile.where}: the batch size is not known; add batch_size to its workload.yaml")
    sizes = sorted(set(batches or batches_around(profiled)))
    estimates, unfit = {}, []
    for target in dict.fromkeys(targets):
        estimates[target], sentences = _estimates_that_fit(profile, replace(plan, target=target), sizes)
        unfit += sentences
    results = [result for by_batch in estimates.values() for result in by_batch.values()]
    batch_warnings = [text for by_batch in estimates.values() for text in _warn_of_own_times(by_batch)]
    return {
        "workload": profile.workload.name,
        "mode": results[0].profile.workload.mode,
        "profiled_batch_size": profiled,
        "little_gain": LITTLE_GAIN,
        "targets": [_target_entry(by_batch) for by_batch in estimates.values()],
        "notes": [ACCURACY, MEMORY],
        "assumptions": list(dict.fromkeys(text for result in results for text in result.assumptions)),
        "left_open": list(dict.fromkeys(text for result in results for text in result.left_open)),
        "warnings": list(
            dict.fromkeys((*unfit, *batch_warnings, *(text for result in results for text in result.warnings)))
        ),
    }


def _estimates_that_fit(profile: Profile, plan: RunPlan, sizes: Sequence[int]) -> tuple[dict[int, Estimate], list[str]]:
    """The estimates at the batches that the target's memory can hold, and a sentence on the first that it cannot.

    Raises DoesNotFitError where not even the smallest fits.
    """
    estimates: dict[int, Estimate] = {}
    for size in sizes:
        try:
            estimates[size] = estimate(profile, replace(plan, batch=size))
        except DoesNotFitError as error:
            if not estimates:
                raise
            return estimates, [f"left out from batch {size} on: {error}"]
    return estimates, []


def _warn_of_own_times(estimates: dict[int, Estimate]) -> Iterator[str]:
    """Warn where the step at one batch is measured and those at others are predicted."""
    measured = {size: (estimate.prediction.ops["method"] == "measured").all() for size, estimate in estimates.items()}
    sizes = [size for size in estimates if measured[size]]
    if sizes and len(sizes) < len(estimates):
        name = estimates[sizes[0]].target.name
        yield (
            f"{name}: the step at batch {sizes[0]} is the profile's own, the others are predicted; the gain between "
            "them holds the errors of the models"
        )


def batches_around(batch: int) -> list[int]:
    """The batch and the powers of two around it."""
    nearest = round(math.log2(batch))
    return sorted({batch, *(2**power for power in range(max(nearest - DOUBLINGS, 0), nearest + DOUBLINGS + 1))})


def _target_entry(estimates: dict[int, Estimate]) -> dict[str, Any]:
    first = next(iter(estimates.values()))
    rates = {size: size / estimate.step.total for size, estimate in estimates.items()}
    gains = gains_per_doubling({size: float(samples[0]) for size, samples in rates.items()})
    return {
        "target": first.target.name,
        "precision": first.precision,
        "levels_off_beyond": levels_off(gains, list(estimates)),
        "batches": [_batch_entry(size, estimates[size], rates[size], gains.get(size)) for size in estimates],
    }


def gains_per_doubling(rates: dict[int, float]) -> dict[int, float]:
    """Relative gain in throughput per doubling, from the next smaller batch to each; none for the first."""
    return {
        size: (rates[size] / rates[smaller]) ** (1 / math.log2(size / smaller)) - 1 for smaller, size in pairwise(rates)
    }


def levels_off(gains: dict[int, float], sizes: Sequence[int]) -> int | None:
    """The smallest batch beyond which throughput gains little each time; None where it still gains more at the end."""
    largest = None
    for smaller, size in reversed(list(pairwise(sizes))):
        if gains[size] >= LITTLE_GAIN:
            break
        largest = smaller
    return largest


def _batch_entry(size: int, estimate: Estimate, rate: Floats, gain: float | None) -> dict[str, Any]:
    total = estimate.step.total
    steps = steps_per_epoch(estimate.profile.workload, size)
    parts = {name: float(samples[0] / total[0]) for name, samples in estimate.step.parts().items()}
    return {
        "batch_size": size,
        "step_s": documents.interval(total, "all"),
        "samples_per_s": documents.interval(rate, "all"),
        "gain_per_doubling": gain,
        "epoch_s": documents.interval(epoch.epoch_time(total, np.asarray(steps)), "all") if steps else None,
        "steps_per_epoch": steps,
        "shares": parts,
        "efficiency": estimate.floor_s / float(total[0]),
        "evidence": dict(estimate.evidence),
    }


def steps_per_epoch(workload: Workload, batch: int) -> int | None:
    """Steps of one pass over the samples; None where they are not known, or fill no step."""
    if workload.samples is None:
        return None
    rounded = ROUNDING[workload.steps_rounding]
    return int(rounded(np.asarray(float(workload.samples)), np.asarray(float(batch)))) or None
