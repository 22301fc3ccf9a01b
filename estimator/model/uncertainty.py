"""The uncertain inputs of a prediction, drawn once: every rung divides by the same samples."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from estimator.core.errors import EstimatorError
from estimator.core.interval import draw, draw_sourced
from estimator.core.schema import MATRIX, STREAMING, Flags
from estimator.core.types import DeviceSpec, Floats, RunPlan, Sourced
from estimator.model import coefficients


@dataclass(frozen=True)
class Rates:
    """Samples (1 + draws × ops, or × 1) of what a device sustains. NaN where the device file does not say.

    peak [FLOP/s] of each op's precision and path; bandwidth [B/s]; latency [s] of one launch; efficiency, the
    attained share of the roofline.
    """

    peak: Floats
    bandwidth: Floats
    latency: Floats
    efficiency: Floats


def draw_rates(device: DeviceSpec, work: pd.DataFrame, plan: RunPlan) -> Rates:
    """Samples of a device's rates for every op."""
    paths = pd.Series(
        [_path(device, c, p) for c, p in zip(work["op_class"], work["precision"], strict=True)], dtype=object
    )
    return Rates(
        peak=_peaks(device, work, paths, plan),
        bandwidth=_sourced_or_nan(f"{device.name}.memory_bandwidth", device.memory_bandwidth, plan),
        latency=_latency(device, plan),
        efficiency=_efficiencies(device, work, paths, plan),
    )


def _path(device: DeviceSpec, op_class: str, precision: str) -> str:
    """Matrix products and convolutions take the tensor units where there are any; all else the vector units."""
    return "tensor" if op_class in MATRIX and device.peak_of(precision).tensor else "vector"


def peak_of_op(device: DeviceSpec, op_class: str, precision: str) -> tuple[str, Sourced | None]:
    """The dotted field of the peak that an op of this class and precision takes on a device, and the peak."""
    path = _path(device, op_class, precision)
    name, rate = _rate(device, precision, path)
    return f"peak.{name}.{path}", rate


def refuse_unsupported(device: DeviceSpec, work: pd.DataFrame) -> None:
    """Raise EstimatorError where the device lacks the precision of a matrix product or convolution."""
    for precision in sorted(set(work.loc[work["op_class"].isin(MATRIX), "precision"])):
        peak = device.peak_of(precision)
        if peak.matrix is None:
            known = ", ".join(p for p, rates in device.peak.items() if rates.matrix)
            lacks = "has no hardware path for" if not peak.supported else "gives no peak for"
            raise EstimatorError(f"{device.name} {lacks} {precision}; matrix products run there in {known}")


def _peaks(device: DeviceSpec, work: pd.DataFrame, paths: pd.Series, plan: RunPlan) -> Floats:
    """Peak of each op [1 + draws × ops]; infinite for memory-bound work whose vector peak no one gives."""
    out = np.full((1 + plan.draws, len(work)), np.nan)
    for precision in work["precision"].unique():
        for path in ("vector", "tensor"):
            columns = ((work["precision"] == precision).to_numpy() & (paths == path).to_numpy()).astype(bool)
            name, rate = _rate(device, precision, path)
            out[:, columns] = _sourced_or_nan(f"{device.name}.peak.{name}.{path}", rate, plan)
    streaming = work["op_class"].isin(STREAMING).to_numpy(dtype=bool)
    return np.where(np.isnan(out) & streaming, np.inf, out)


def _rate(device: DeviceSpec, precision: str, path: str) -> tuple[str, Sourced | None]:
    """The peak that work takes; narrow formats without a vector peak of their own run at fp32's."""
    rate = getattr(device.peak_of(precision), path)
    if rate is None and path == "vector" and precision != "fp64":
        return "fp32", device.peak_of("fp32").vector
    return precision, rate


def _efficiencies(device: DeviceSpec, work: pd.DataFrame, paths: pd.Series, plan: RunPlan) -> Floats:
    """Attained shares [1 + draws × ops]. A measured rate is what the best case attains: shares are of that best."""
    shipped = coefficients.load()
    matrix = work["op_class"].isin(MATRIX).to_numpy()
    out = np.empty((1 + plan.draws, len(work)))
    names = np.where(matrix, np.where(paths == "tensor", "matrix_tensor", "matrix_vector"), "memory")
    measured = _measured(device, work, paths, matrix)
    for name in set(names):
        c = getattr(shipped, name)
        samples = draw(f"{device.name}.efficiency.{name}", c.low, c.mid, c.high, plan.draws, plan.seed)
        best = np.where(measured[names == name], c.high, 1.0)
        out[:, names == name] = np.minimum(samples[:, None] / best, 1.0)
    return out


def _measured(device: DeviceSpec, work: pd.DataFrame, paths: pd.Series, matrix: Flags) -> Flags:
    """Whether the rate that binds each op was measured: the peak of matrix products, the bandwidth of all else."""

    def measured(rate: Sourced | None) -> bool:
        return rate is not None and rate.status == "measured"

    kinds = list(zip(work["precision"], paths, strict=True))
    peaks = {kind: measured(_rate(device, *kind)[1]) for kind in set(kinds)}
    of_peak = np.array([peaks[kind] for kind in kinds], dtype=bool)
    return np.where(matrix, of_peak, measured(device.memory_bandwidth))


def _latency(device: DeviceSpec, plan: RunPlan) -> Floats:
    if device.launch_latency:
        return _sourced_or_nan(f"{device.name}.launch_latency", device.launch_latency, plan)
    c = coefficients.load().launch_latency_s
    return draw(f"{device.name}.launch_latency", c.low, c.mid, c.high, plan.draws, plan.seed)[:, None]


def _sourced_or_nan(stream: str, sourced: Sourced | None, plan: RunPlan) -> Floats:
    if sourced is None:
        return np.full((1 + plan.draws, 1), np.nan)
    return draw_sourced(stream, sourced, plan.draws, plan.seed)[:, None]
