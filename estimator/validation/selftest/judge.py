"""Predictions of each setting from every other one, beside what really ran there."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import pandas as pd

from estimator.core.interval import bounds
from estimator.core.types import Profile, RunPlan
from estimator.devices import load_device
from estimator.pipeline import estimate
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
REACH, NOISES, WORST = 0.10, 1.5, 0.25  # the median error may be the reach, or so many noise floors; the worst error


def judge(folder: Folder, workloads: Sequence[Workload], settings: Sequence[Setting]) -> pd.DataFrame:
    """One row for each workload and ordered pair of settings, with the columns COLUMNS. Errors are signed and relative;
    ``noise`` is how far the target's repeats for predictions are from its truth.
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


def _row(
    folder: Folder, steps: pd.DataFrame, workload: Workload, profile: Profile, source: Setting, target: Setting
) -> tuple[Any, ...]:
    low, predicted, high = _predicted(profile, folder, source, target)
    own, again = (step_time(seconds_of(steps, setting, workload, known=True)) for setting in (source, target))
    measured = step_time(seconds_of(steps, target, workload, known=False))
    by_peaks = own * _peak(folder, source) / _peak(folder, target)
    errors = (time / measured - 1 for time in (predicted, again, own, by_peaks))
    names = (workload.name, source.name, target.name)
    return (*names, own, profile.step_spread, predicted, low, high, measured, *errors)


def _predicted(profile: Profile, folder: Folder, source: Setting, target: Setting) -> tuple[float, ...]:
    """Low end, nominal value and high end of the step's time [s]."""
    crossed = target.precision if target.precision != source.precision else None
    device, known, own = (str(p) for p in (folder.device(target), folder.known(source, target), folder.device(source)))
    plan = RunPlan(target=device, measurements=known, source=own, precision=crossed)
    return tuple(float(end) for end in bounds(estimate(profile, plan).step.total))


def _peak(folder: Folder, setting: Setting) -> float:
    """The best rate [FLOP/s] of any product in a setting."""
    return highest_rate(load_device(str(folder.device(setting))), setting.precision)
