"""Samples of the time of each op, from its estimate and the drawn uncertain inputs."""

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
from estimator.model.link_draws import link_draws


def sampler(
    work: pd.DataFrame, times: OpTimes, target: DeviceSpec, plan: RunPlan
) -> Callable[[slice], tuple[Floats, Floats]]:
    """A function that samples the time of some ops (1 + draws × ops) [s], and its part of launches and starts."""
    busy, given = _busy_sampler(work, times.kernels, target, plan), _Given(times, target, plan)
    launches, latency = times.launches, uncertainty.latency(target, plan)
    start_share = np.where(given.is_given, 0.0, times.kernels.start_share)
    varies, run_samples = times.run_std > 0, uncertainty.source_run(plan)[:, None]

    def samples(ops: slice) -> tuple[Floats, Floats]:
        time, launch = busy(ops), launches[ops] * latency
        starts = start_share[ops] > 0
        begun = start_share[ops][starts] * time[:, starts]
        time += launch
        launch[:, starts] += begun
        given.put_times(time, ops)
        given.add_waits(time, ops)
        varying = varies[ops]
        if varying.any():
            factor = np.exp(run_samples * times.run_std[ops][varying])
            time[:, varying] *= factor
            launch[:, varying] *= factor
        return time, launch

    return samples


class _Given:
    """What is known of ops' times as intervals: those of ops that are not modelled, and waits for other ranks."""

    def __init__(self, times: OpTimes, target: DeviceSpec, plan: RunPlan) -> None:
        self.times, self.target, self.plan = times, target, plan
        low, _, high = times.interval_s
        self.is_given = times.rung != "modelled"
        self.is_uncertain = self.is_given & (high > low)

    def put_times(self, time: Floats, ops: slice) -> None:
        """Replace the samples of the ops that are not modelled; those of one stream are drawn together."""
        mid, is_given, is_uncertain = self.times.interval_s[1, ops], self.is_given[ops], self.is_uncertain[ops]
        time[:, is_given] = mid[is_given]
        for stream in np.unique(self.times.stream[ops][is_uncertain]):
            drawn = is_uncertain & (self.times.stream[ops] == stream)
            time[:, drawn] = self._draw(stream, self.times.interval_s[:, ops][:, drawn])

    def add_waits(self, time: Floats, ops: slice) -> None:
        """Add what modelled messages wait for other ranks."""
        waits_s = self.times.waits_s[:, ops]
        waits = waits_s[0] > 0
        if waits.any():
            time[:, waits] += self._draw("waits", waits_s[:, waits])

    def _draw(self, stream: str, interval: Floats) -> Floats:
        low, mid, high = interval
        return draw(f"{self.target.name}.{stream}", low, mid, high, self.plan.draws, self.plan.seed)


def _busy_sampler(
    work: pd.DataFrame, kernels: KernelEstimate, target: DeviceSpec, plan: RunPlan
) -> Callable[[slice], Floats]:
    """A function that samples the time of all calls of some ops without launches (1 + draws × ops) [s].

    Peak and bandwidth lengthen a time as far as they bind it, and limit it from below. The logarithm is linear in the
    drawn inputs, hence one matrix product and one exponential. Deviations of compute and of kinds are drawn per model
    and precision, those of memory and shapes once per device.
    """
    peak, bandwidth = uncertainty.peaks(target, work, plan), uncertainty.bandwidth(target, plan)
    stream_names = f"{target.name}." + kernels.model + "." + work["precision"].to_numpy(dtype=object)
    separate = uncertainty.normals(stream_names, OWN, plan)
    shared = uncertainty.independent(f"{target.name}.model", AXES - OWN, plan)
    units = uncertainty.units(target, plan)
    inputs = np.hstack([bandwidth, peak.samples, units, *(stream.samples for stream in separate), shared])
    compute_share, loadings = kernels.compute_share, kernels.loadings
    shortened = 1.0 - np.nan_to_num(kernels.start_share)
    deviations = (stream.weights(loadings[:, axis]) for axis, stream in enumerate(separate))
    by_rates = [(1.0 - compute_share) * shortened, peak.weights(compute_share * shortened), kernels.unit_slopes.T]
    weights = np.vstack([*by_rates, *deviations])
    links = link_draws(work, target, plan)
    lower_bound = uncertainty.RandomStreams(np.exp(np.minimum(peak.samples, bandwidth)), peak.stream_of_op)

    def samples(ops: slice) -> Floats:
        time = inputs @ np.vstack([weights[:, ops], loadings[ops, OWN:].T])
        np.exp(time, out=time)
        time *= kernels.time_s[ops]
        np.fmax(time, lower_bound.of_ops(ops) * kernels.lower_bound_s[ops], out=time)  # NaN: no bandwidth, no bound
        if links is not None:
            time *= links.factor(compute_share, ops)
        return np.asarray(time)

    return samples
