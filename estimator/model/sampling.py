"""Samples of the time of each op, from what is known of it and the uncertain inputs that were drawn."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pandas as pd

from estimator.core.interval import draw
from estimator.core.types import DeviceSpec, Floats, RunPlan
from estimator.model import uncertainty
from estimator.model.calibration import AXES, OWN
from estimator.model.isolated import KernelEstimate
from estimator.model.ladder import OpTimes


def sampler(
    work: pd.DataFrame, times: OpTimes, target: DeviceSpec, plan: RunPlan
) -> Callable[[slice], tuple[Floats, Floats]]:
    """What gives samples (1 + draws × ops) of the time of some ops [s], and of what launches take of it."""
    busy, launches, latency = (
        _busy(work, times.kernels, target, plan),
        times.launches,
        uncertainty.latency(target, plan),
    )
    low, mid, high = times.interval_s
    given = times.rung != "modelled"
    uncertain, moves = given & (high > low), times.run_std > 0
    run = uncertainty.source_run(plan)[:, None]

    def samples(ops: slice) -> tuple[Floats, Floats]:
        time, launch = busy(ops), launches[ops] * latency
        time += launch
        time[:, given[ops]] = mid[ops][given[ops]]
        wide = uncertain[ops]
        if wide.any():
            ends = low[ops][wide], mid[ops][wide], high[ops][wide]
            time[:, wide] = draw(f"{target.name}.measurements", *ends, plan.draws, plan.seed)
        moved = moves[ops]
        if moved.any():
            longer = np.exp(run * times.run_std[ops][moved])
            time[:, moved] *= longer
            launch[:, moved] *= longer
        return time, launch

    return samples


def _busy(work: pd.DataFrame, kernels: KernelEstimate, target: DeviceSpec, plan: RunPlan) -> Callable[[slice], Floats]:
    """What gives samples (1 + draws × ops) of the time of all calls of some ops beside their launches [s].

    Peak and bandwidth lengthen a time as far as they bind it; nothing is faster than they allow. The logarithm is
    linear in what is drawn, of which many ops share most: one matrix product and one exponential. What compute and the
    kinds of op deviate by is drawn for each model and precision, what memory and shapes do for all of a device.
    """
    peak, bandwidth = uncertainty.peaks(target, work, plan), uncertainty.bandwidth(target, plan)
    families = f"{target.name}." + kernels.model + "." + work["precision"].to_numpy(dtype=object)
    own = uncertainty.normals(families, OWN, plan)
    shared = uncertainty.independent(f"{target.name}.model", AXES - OWN, plan)
    inputs = np.hstack([bandwidth, peak.samples, *(stream.samples for stream in own), shared])
    compute_share, loadings = kernels.compute_share, kernels.loadings
    deviations = (stream.weights(loadings[:, axis]) for axis, stream in enumerate(own))
    weights = np.vstack([1.0 - compute_share, peak.weights(compute_share), *deviations])
    lower_bound = uncertainty.RandomStreams(np.exp(np.minimum(peak.samples, bandwidth)), peak.taken)

    def samples(ops: slice) -> Floats:
        time = inputs @ np.vstack([weights[:, ops], loadings[ops, OWN:].T])
        np.exp(time, out=time)
        time *= kernels.time_s[ops]
        return np.asarray(np.maximum(time, lower_bound.of_ops(ops) * kernels.lower_bound_s[ops], out=time))

    return samples
