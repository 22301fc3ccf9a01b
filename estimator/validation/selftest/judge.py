"""Predictions of each setting from every other one, compared with its real runs."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import pandas as pd

from estimator.core.interval import bounds
from estimator.core.types import Profile, RunPlan
from estimator.devices import load_device
from estimator.pipeline.step import estimate
from estimator.profiles import read_profile
from estimator.validation.selftest.folder import Folder
from estimator.validation.selftest.runs import read_steps, seconds_of, step_time
from estimator.validation.selftest.settings import Setting
from estimator.validation.selftest.tables import highest_rate
from estimator.validation.selftest.workloads import Workload

COLUMNS = (
    "workload", "source", "target", "source_s", "source_spread", "predicted_s", "low_s", "high_s", "measured_s",
    "error", "noise", "error_if_unchanged", "error_by_peaks",
)  # fmt: skip
TARGET_ERROR, NOISE_FACTOR = 0.10, 1.5  # limit of the median error, or so many noise floors where these are more
MAX_ERROR = 0.25  # limit of the worst


def judge(folder: Folder, workloads: Sequence[Workload], settings: Sequence[Setting]) -> pd.DataFrame:
    """Judge each workload and ordered pair of settings: one row with COLUMNS each.

    Errors are signed and relative; ``noise`` is the error of the target's repeats for predictions against its truth.
    """
    steps = read_steps(folder)
    rows = [
        _row(folder, steps, workload, profile, source, target)
        for workload, source in itertools.product(workloads, settings)
        for profile in [read_profile(str(folder.captures(source) / workload.name))]
        for target in settings
        if target != source
    ]
    return pd.DataFrame(rows, columns=list(COLUMNS))


def summary(rows: pd.DataFrame) -> dict[str, Any]:
    """Median and worst error with their limits, the noise floor, errors of simpler methods, and interval coverage."""
    error, noise = rows["error"].abs(), float(rows["noise"].abs().median())
    in_interval = rows["measured_s"].between(rows["low_s"], rows["high_s"])
    median_limit = max(TARGET_ERROR, NOISE_FACTOR * noise)
    return {
        "median_error": float(error.median()), "worst_error": float(error.max()), "noise_floor": noise,
        "median_reach": median_limit, "worst_reach": MAX_ERROR,
        "reached": bool(error.median() <= median_limit and error.max() <= MAX_ERROR),
        "median_error_if_unchanged": float(rows["error_if_unchanged"].abs().median()),
        "median_error_by_peaks": float(rows["error_by_peaks"].abs().median()),
        "interval_coverage": float(in_interval.mean()),
    }  # fmt: skip


def _row(
    folder: Folder, steps: pd.DataFrame, workload: Workload, profile: Profile, source: Setting, target: Setting
) -> tuple[Any, ...]:
    low_s, predicted_s, high_s = _predict(profile, folder, source, target)
    source_s, repeated_s = (
        step_time(seconds_of(steps, setting, workload, for_predictions=True)) for setting in (source, target)
    )
    measured_s = step_time(seconds_of(steps, target, workload, for_predictions=False))
    by_peaks_s = source_s * _highest_peak(folder, source) / _highest_peak(folder, target)
    errors = (time_s / measured_s - 1 for time_s in (predicted_s, repeated_s, source_s, by_peaks_s))
    names = (workload.name, source.name, target.name)
    return (*names, source_s, profile.step_spread, predicted_s, low_s, high_s, measured_s, *errors)


def _predict(profile: Profile, folder: Folder, source: Setting, target: Setting) -> tuple[float, ...]:
    """Low end, nominal value and high end of the step's time [s]."""
    precision = target.precision if target.precision != source.precision else None
    device, measurements, source_device = (
        str(path) for path in (folder.device(target), folder.known_rows(source, target), folder.device(source))
    )
    plan = RunPlan(target=device, measurements=measurements, source=source_device, precision=precision)
    return tuple(float(end) for end in bounds(estimate(profile, plan).step.total))


def _highest_peak(folder: Folder, setting: Setting) -> float:
    """The best rate [FLOP/s] of any product in a setting."""
    return highest_rate(load_device(str(folder.device(setting))), setting.precision)
