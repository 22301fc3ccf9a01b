"""Intervals of whole steps on devices never seen: as the pipeline states them, and how many hold the measured step."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

import numpy as np

from estimator.core.interval import bounds
from estimator.core.schema import MEASUREMENTS, WORK
from estimator.core.types import Floats, RunPlan
from estimator.devices import load_device
from estimator.model import SourceRun, TargetDevice, coefficients, predict
from estimator.model.coefficients import Coefficients
from estimator.validation import arguments

if TYPE_CHECKING:
    import pandas as pd

DRAWS = 400
LEAST_KERNEL = 0.3  # of a measured call, that is the kernel's own at least
ENDS = ["low_s", "high_s"]
OURS, WITH_KIT = "ours", "-kit"  # the judged method; how the name of a problem ends that differs by the kit alone
Stated = tuple[float, float]  # low and high end [s]


def our_columns(samples: Floats) -> dict[str, Floats]:
    """Our predictions by column: the value at nominal inputs, and the ends of its interval."""
    low, mid, high = bounds(samples)
    return {OURS: mid, ENDS[0]: low, ENDS[1]: high}


def step_intervals(
    launched: pd.DataFrame, by: list[str], device: str, own: pd.DataFrame, fitted: Coefficients
) -> dict[tuple[str, ...], Stated]:
    """The 90 % interval of each step [s] by its key.

    Args:
        launched: TRUTH rows of the kernels that the steps launch, with ``calls`` and the columns of ``by``.
        by: the columns that name a step, two or more.
        device: the target.
        own: TRUTH rows measured on it, which may be empty.
        fitted: coefficients that have not seen the target.
    """
    calls = launched["calls"].to_numpy(dtype=float)
    amounts = {name: launched[name] * calls for name in ("flop", "bytes")}
    work = WORK.conform(launched.assign(**amounts, op="kernel", time_s=0.0)[_known(launched, WORK.names())], "steps")
    target = TargetDevice(load_device(device), _as_measurements(own, device), same_setting=False)
    with coefficients.replaced(fitted):
        prediction = predict(work, SourceRun(), target, RunPlan(device, draws=DRAWS))
    samples = prediction.samples - prediction.launch + arguments.KERNEL_LATENCY_S * calls
    steps = launched.reset_index(drop=True).groupby(by).indices
    ends = {key: bounds(samples[:, rows].sum(axis=1)) for key, rows in steps.items()}
    return {key: (float(low), float(high)) for key, (low, _, high) in ends.items()}


def _known(rows: pd.DataFrame, names: list[str]) -> list[str]:
    return [name for name in names if name in rows or name in ("op", "time_s")]


def _as_measurements(own: pd.DataFrame, device: str) -> pd.DataFrame:
    """MEASUREMENTS of kernels by themselves: without what a call of the stack takes beside its kernel."""
    beside_s = arguments.latencies(own)
    kernel_s = np.maximum(own["time_s"] - beside_s, LEAST_KERNEL * own["time_s"])
    rows = own.assign(time_s=kernel_s, device=device, kernel=own["op"], library=own["stack"])
    return MEASUREMENTS.conform(rows[[name for name in MEASUREMENTS.names() if name in rows]], "the kit's rows")


def coverage_notes(judged: Mapping[str, pd.DataFrame]) -> Iterator[str]:
    """Yield for each problem of steps how many of the 90 % intervals hold the measured step, and where fewest do.

    Where the same steps are judged with and without the kit, it is said on which devices the kit makes them worse.
    """
    steps = {name: rows for name, rows in judged.items() if set(ENDS) <= set(rows.columns)}
    for name, rows in steps.items():
        held, by_target = _held(rows), _held(rows).groupby(rows["target"]).mean()
        each = f"; {100 * by_target.mean():.0f} % with each device counted alike" if len(by_target) > 1 else ""
        worst = f", fewest on {by_target.idxmin()}, {100 * by_target.min():.0f} %" if len(by_target) > 1 else ""
        yield f"{name}: {int(held.sum())} of {len(rows)} 90 % intervals hold the measured step{each}{worst}"
    for name in steps:
        if f"{name}{WITH_KIT}" in steps:
            yield _worse_by_the_kit(f"{name}{WITH_KIT}", steps[name], steps[f"{name}{WITH_KIT}"])


def _held(rows: pd.DataFrame) -> pd.Series:
    """Whether the interval of each judged step holds the measured one."""
    return rows["time_s"].between(rows["low_s"], rows["high_s"])


def mean_errors(rows: pd.DataFrame) -> pd.Series:
    """Mean absolute error of our predictions by target [%]."""
    return (100.0 * (rows[OURS] / rows["time_s"] - 1.0).abs()).groupby(rows["target"]).mean()


def _worse_by_the_kit(name: str, specs: pd.DataFrame, kit: pd.DataFrame) -> str:
    """On which devices the mean error is larger with the kit, and how many intervals hold there."""
    without, with_kit, held = mean_errors(specs), mean_errors(kit), _held(kit).groupby(kit["target"]).mean()
    worse = [
        f"{device} ({with_kit[device]:.1f} % with it, {without[device]:.1f} % without; {100 * held[device]:.0f} % hold)"
        for device in with_kit.index
        if with_kit[device] > without[device]
    ]
    return f"{name}: the kit makes the mean error larger on {', '.join(worse) or 'no device'}"
