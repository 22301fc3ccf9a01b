"""Predictions of each setting from every other one, beside what really ran there.

A run's figure is the median of its steps, that of several runs the least: what else the machine does only adds.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import pandas as pd

from estimator.core.interval import bounds
from estimator.core.types import RunPlan
from estimator.devices import load_device
from estimator.pipeline import estimate
from estimator.profiles import read_profile
from estimator.truth.selftest.runs import Folder, Workload, predicts, wall
from estimator.truth.selftest.settings import Setting

COLUMNS = (
    "workload", "source", "target", "source_s", "predicted_s", "low_s", "high_s", "measured_s", "error", "noise",
    "error_if_unchanged", "error_by_peaks",
)  # fmt: skip
REACH, NOISES, WORST = 0.10, 1.5, 0.25  # the median error may be the reach, or so many noise floors; the worst error


def judge(folder: Folder, workloads: Sequence[Workload], settings: Sequence[Setting], repeats: int) -> pd.DataFrame:
    """One row for each workload and ordered pair of settings, with the columns COLUMNS. Errors are signed and relative;
    ``noise`` is how far the target's repeats for predictions are from its truth.
    """
    numbers = range(1, repeats + 1)
    pairs = itertools.product(workloads, itertools.permutations(settings, 2))
    rows = [_row(folder, workload.name, source, target, numbers) for workload, (source, target) in pairs]
    return pd.DataFrame(rows, columns=list(COLUMNS))


def summary(rows: pd.DataFrame) -> dict[str, Any]:
    """Median and worst error, the noise floor, what they may be, the same of simpler methods, and how many intervals
    hold the truth.
    """
    error, noise = rows["error"].abs(), float(rows["noise"].abs().median())
    inside = rows["measured_s"].between(rows["low_s"], rows["high_s"])
    reach = max(REACH, NOISES * noise)
    return {
        "median_error": float(error.median()), "worst_error": float(error.max()), "noise_floor": noise,
        "median_reach": reach, "worst_reach": WORST,
        "reached": bool(error.median() <= reach and error.max() <= WORST),
        "median_error_if_unchanged": float(rows["error_if_unchanged"].abs().median()),
        "median_error_by_peaks": float(rows["error_by_peaks"].abs().median()),
        "interval_coverage": float(inside.mean()),
    }  # fmt: skip


def _row(folder: Folder, workload: str, source: Setting, target: Setting, numbers: Sequence[int]) -> tuple[Any, ...]:
    known, truth = ([n for n in numbers if predicts(n) is use] for use in (True, False))
    best = min((folder.capture(n, source, workload) for n in known), key=wall)
    low, predicted, high = _predicted(folder, best, source, target)
    measured, again = (min(wall(folder.capture(n, target, workload)) for n in some) for some in (truth, known))
    own = wall(best)
    times = (own, predicted, low, high, measured)
    by_peaks = own * _peak(folder, source) / _peak(folder, target)
    errors = (predicted, again, own, by_peaks)
    return (workload, source.name, target.name, *times, *(time / measured - 1 for time in errors))


def _predicted(folder: Folder, profile: Any, source: Setting, target: Setting) -> tuple[float, ...]:
    """Low end, nominal value and high end of the step's time [s]."""
    crossed = target.precision if target.precision != source.precision else None
    plan = RunPlan(target=str(folder.device(target)), source=str(folder.device(source)), precision=crossed)
    return tuple(float(end) for end in bounds(estimate(read_profile(str(profile)), plan).step.total))


def _peak(folder: Folder, setting: Setting) -> float:
    """The best rate [FLOP/s] of any product in a setting; in fp32 where its own precision is no faster."""
    device = load_device(str(folder.device(setting)))
    found = device.peak_of(setting.precision).matrix or device.peak_of("fp32").matrix
    return found.value if found else float("nan")
