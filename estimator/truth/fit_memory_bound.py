"""Coefficients of the memory-bound model from TRUTH, in two stages, so that no device bends the kernels' shape.

First what kernels have in common, with a streaming share and a latency of each (data set, device) of its own; then the
share that an unseen device will have: those shares, drawn to what is known of memory in general (STREAM attains about
four fifths of the data sheet's bandwidth on most machines). Few coefficients, each with a prior.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from estimator.core.errors import EstimatorError
from estimator.core.schema import STREAMING
from estimator.core.types import Floats, itemsizes
from estimator.model.memory_bound import MemoryBound, attained_share, stream_time, streams
from estimator.truth import arguments
from estimator.truth.fitting import robust
from estimator.truth.protocol import Predictor

if TYPE_CHECKING:
    import pandas as pd

PRIORS = {  # coefficient: its median, and the standard deviation of its logarithm
    "softmax_short": (1.1, 0.1), "softmax_long": (1.4, 0.2), "row_overhead": (150.0, 0.7),
}  # fmt: skip
PRIOR_WEIGHT = 0.1
SHARE, SHARE_SPREAD, BETWEEN_DEVICES = 0.80, 0.05, 0.10  # of the streaming share: prior, its spread, that of devices
LATENCY_S = 15e-6  # from where the fit of a device's latency starts
FITTED_OVER_S = 5e-5  # roofline time of the rows that are fitted
ROW_NOISE = 0.05  # of a row's logarithm
SMALL = 5e4  # elements; calls that stream fewer are launches
EVALUATIONS = 60  # of the residuals' Jacobian, at most
SOURCE = "NeuSight kernel measurements (sitar-lab/NeuSight, MIT); python -m estimator.truth.fit"


def fit(truth: pd.DataFrame) -> MemoryBound:
    """The coefficients from the memory-bound rows of TRUTH. Raises EstimatorError where there are none."""
    rows = truth[truth["op_class"].isin(STREAMING)]
    fitted = rows[rows["ideal_s"] > FITTED_OVER_S]
    if fitted.empty:
        raise EstimatorError("no memory-bound row is there to fit; the folder lacks neusight/vector_ops.parquet")
    common, shares, latencies = _common(fitted)
    own, prior = len(shares) / BETWEEN_DEVICES**2, 1.0 / SHARE_SPREAD**2
    streaming = (np.log(SHARE) * prior + np.log(shares).mean() * own) / (prior + own)
    return MemoryBound(
        source=SOURCE,
        streaming=float(np.exp(streaming)),
        streaming_spread=BETWEEN_DEVICES,
        latency_s=float(np.exp(np.log(latencies).mean())),
        floor_s=_floor(rows),
        **common,
    )


def _common(rows: pd.DataFrame) -> tuple[dict[str, float], Floats, Floats]:
    """What all devices share, and each one's streaming share and latency [s]; robust least squares in logarithms."""
    from scipy.optimize import least_squares

    of, on = streams(rows), arguments.hardware(rows)
    names, place = np.unique(arguments.groups(rows), return_inverse=True)
    weight = 1.0 / np.sqrt(np.bincount(place)[place])
    measured = np.log(rows["time_s"].to_numpy(dtype=float))
    median, spread = np.array(list(PRIORS.values())).T
    draft = MemoryBound(
        source=SOURCE, streaming=SHARE, streaming_spread=0, latency_s=LATENCY_S, floor_s=1, **_named(np.log(median))
    )

    def residuals(x: Floats) -> Floats:
        share, latency = np.exp(x[len(PRIORS) :].reshape(2, len(names)))[:, place]
        c = draft.model_copy(update=_named(x))
        missed = robust((np.log(stream_time(of, on, c, latency, share=share)) - measured) / ROW_NOISE)
        return np.concatenate([missed * weight, PRIOR_WEIGHT * (x[: len(PRIORS)] - np.log(median)) / spread])

    start = np.concatenate([np.log(median), np.repeat(np.log([SHARE, LATENCY_S]), len(names))])
    found = least_squares(residuals, start, max_nfev=EVALUATIONS).x
    shares, latencies = np.exp(found[len(PRIORS) :].reshape(2, len(names)))
    return _named(found), np.minimum(shares, 1.0), latencies


def _named(x: Floats) -> dict[str, float]:
    """The common coefficients from their logarithms, each at least 1, as the model has them."""
    return {name: max(1.0, float(np.exp(value))) for name, value in zip(PRIORS, x, strict=False)}


def _floor(rows: pd.DataFrame) -> float:
    """The median over devices of the median time of calls too small to stream [s]."""
    small = rows[rows["bytes"] / itemsizes(rows["precision"]) < SMALL]
    calls = small if len(small) else rows.nsmallest(1, "bytes")
    return float(calls.groupby(arguments.groups(calls))["time_s"].median().median())


def method(train: pd.DataFrame) -> Predictor:
    """The model as a method to be judged: fitted on TRUTH of other families, calibrated by one stream and one launch.

    The times of rows of other op classes are NaN.
    """
    c = fit(train)

    def predict(rows: pd.DataFrame, own: pd.DataFrame) -> Floats:
        found = np.full(len(rows), np.nan)
        streaming = rows["op_class"].isin(STREAMING).to_numpy(dtype=bool)
        for device, places in rows[streaming].groupby("device").indices.items():
            here = rows[streaming].iloc[places]
            found[np.flatnonzero(streaming)[places]] = _times(here, own[own["device"] == device], c)
        return found

    return predict


def _times(rows: pd.DataFrame, own: pd.DataFrame, c: MemoryBound) -> Floats:
    """Times [s] of rows of one device; where its stack does not time calls of a framework, kernels are launched."""
    share, latency, floor = calibrate(own, c)
    eager = rows["stack"].isin(arguments.FRAMEWORK_CALLS).to_numpy(dtype=bool)
    launch = np.where(eager, latency, arguments.KERNEL_LATENCY_S)
    return stream_time(streams(rows), arguments.hardware(rows), c, launch, np.where(eager, floor, 0.0), share)


def calibrate(own: pd.DataFrame, c: MemoryBound) -> tuple[float, float, float]:
    """Streaming share, latency and floor of a call [s] by the largest and smallest own plain kernel, else the fitted
    ones. A latency is not measured by itself: it is the share of the floor that it is elsewhere.
    """
    plain = own[(own["op_class"] == "elementwise").to_numpy(dtype=bool)].sort_values("bytes")
    if plain.empty:
        return c.streaming, c.latency_s, c.floor_s
    launch, stream = plain.iloc[0], plain.iloc[-1]
    floor = float(launch["time_s"]) if launch["ideal_s"] < c.latency_s else c.floor_s
    latency = floor * c.latency_s / c.floor_s
    bandwidth = float(arguments.hardware(plain.tail(1)).bandwidth[0])
    return attained_share(float(stream["bytes"]), float(stream["time_s"]), bandwidth, latency), latency, floor
