"""Intervals of whole models: the 90 % interval of the sum of a run's kernels, as a user's prediction has it.

The kernels are predicted by ``estimator.model``, by the coefficients of a fit that has not seen the target's family;
own rows are given to it as MEASUREMENTS, without what a framework's call takes beside its kernel.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from estimator.core.interval import bounds
from estimator.core.schema import MEASUREMENTS, WORK
from estimator.core.types import RunPlan
from estimator.devices import load_device
from estimator.model import SourceRun, TargetDevice, coefficients
from estimator.model.coefficients import Coefficients
from estimator.model.isolated import MIN_LAUNCHES
from estimator.model.ladder import estimate_op_times
from estimator.model.sampling import sampler
from estimator.validation import arguments

if TYPE_CHECKING:
    import pandas as pd

ENDS = ["low_s", "high_s"]
PER_PASS = ("flop", "bytes")  # WORK counts all calls of an op, TRUTH one
SPECS, KIT = "whole", "whole-kit"  # problems that differ by the kit alone


def sums(rows: pd.DataFrame, runs: pd.DataFrame, device: str, own: pd.DataFrame, fitted: Coefficients) -> pd.DataFrame:
    """The ends of the interval of each run's sum of kernels on a device [s], by the columns of ``runs``.

    Args:
        rows: TRUTH rows of kernels, each with its ``calls``.
        runs: the run of each row, in their order: one column a key.
        device: the target.
        own: TRUTH rows of the target that are known.
        fitted: the coefficients to predict by.
    """
    import pandas as pd

    runs = runs.reset_index(drop=True)
    order = runs.sort_values(list(runs.columns), kind="stable").index  # so that each run is a slice
    work, sizes = _work(rows.iloc[order]), runs.groupby(list(runs.columns)).size()
    stops = sizes.cumsum().to_numpy()
    with coefficients.replaced(fitted):
        target, plan = TargetDevice(load_device(device), measurements(own)), RunPlan(device)
        sampled = sampler(work, estimate_op_times(work, SourceRun(), target), target.device, plan)
        slices = (slice(stop - size, stop) for stop, size in zip(stops, sizes, strict=True))
        found = [bounds(sampled(of_run)[0].sum(axis=1)) for of_run in slices]
    return pd.DataFrame(found, index=sizes.index, columns=["low_s", "mid_s", "high_s"])[ENDS].astype(float)


def _work(rows: pd.DataFrame) -> pd.DataFrame:
    """WORK of kernels that no profile has timed."""
    of_pass = {name: rows[name] * rows["calls"] for name in PER_PASS}
    op = rows["op"].fillna(rows["op_class"])
    known = [name for name in WORK.names() if name in rows]
    return WORK.conform(rows.assign(op=op, **of_pass)[known].assign(time_s=0.0), "kernels of whole models")


def measurements(own: pd.DataFrame) -> pd.DataFrame:
    """MEASUREMENTS of TRUTH rows of one device, as a library's loop would time them.

    Rows that a framework's call dominates are left out.
    """
    call_s = arguments.latencies(own)
    kernel_s = own["time_s"].to_numpy(dtype=float) - call_s
    long = kernel_s >= MIN_LAUNCHES * call_s
    rows = own.assign(kernel=own["op"], time_s=kernel_s + arguments.KERNEL_LATENCY_S, time_low_s=None, time_high_s=None)
    return MEASUREMENTS.conform(rows.loc[long, MEASUREMENTS.names()], "own rows of whole models")


def held(rows: pd.DataFrame) -> pd.Series:
    """Whether the interval of each judged row holds the measured time."""
    return rows["time_s"].between(rows["low_s"], rows["high_s"])


def coverage_notes(judged: Mapping[str, pd.DataFrame]) -> Iterator[str]:
    """Yield how many intervals hold the measured time, and where the kit is worse than specifications alone."""
    whole = {name: rows for name, rows in judged.items() if {"source", "model", *ENDS} <= {*rows.columns}}
    for name, rows in whole.items():
        missed = (~held(rows)).groupby(rows["target"]).sum()
        where = ", ".join(f"{device} ({count})" for device, count in missed[missed > 0].items())
        each = held(rows).groupby(rows["target"]).mean().mean()
        yield (
            f"{name}: {int(held(rows).sum())} of {len(rows)} 90 % intervals hold the measured time, {each:.0%} with "
            f"each device counted alike; those that do not are on {where or 'none'}"
        )
    if {SPECS, KIT} <= whole.keys():
        yield _comparison(whole[SPECS], whole[KIT])


def mean_errors(rows: pd.DataFrame) -> pd.Series:
    """Mean absolute error of our predictions on each target [%]."""
    return (100.0 * (rows["ours"] / rows["time_s"] - 1.0).abs()).groupby(rows["target"]).mean()


def _comparison(specs: pd.DataFrame, kit: pd.DataFrame) -> str:
    """On which devices the kit's mean error is larger than without it, and how many intervals hold there."""
    without, with_kit, hold = mean_errors(specs), mean_errors(kit), held(kit).groupby(kit["target"]).mean()
    worse = [
        f"{device} ({with_kit[device]:.1f} % with it, {without[device]:.1f} % without; {hold[device]:.0%} hold)"
        for device in with_kit.index
        if with_kit[device] > without[device]
    ]
    return f"{KIT}: the kit makes the mean error larger on {', '.join(worse) or 'no device'}"
