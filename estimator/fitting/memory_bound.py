"""Coefficients of the memory-bound model from TRUTH, in two stages, so that no device bends the kernels' shape.

First what kernels have in common, with a streaming share and a latency of each (data set, device) of its own; then the
share that an unseen device will have: those shares, drawn to what is known of memory in general (STREAM attains about
four fifths of the data sheet's bandwidth on most machines). Few coefficients, each with a prior.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from estimator.core.schema import STREAMING
from estimator.core.types import Floats
from estimator.fitting.optimise import least_squares, robust
from estimator.model.coefficients import shipped
from estimator.model.memory_bound import MemoryBoundCoefficients, stream_calls, stream_time
from estimator.validation import arguments

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
EVALUATIONS = 60  # of the residuals' Jacobian, at most
SOURCE = "NeuSight kernel measurements (sitar-lab/NeuSight, MIT); python -m estimator.fitting.ship"


def fit(truth: pd.DataFrame) -> MemoryBoundCoefficients:
    """The coefficients from the memory-bound rows of TRUTH; without any they are the priors."""
    rows = truth[truth["op_class"].isin(STREAMING)]
    fitted = rows[rows["ideal_s"] > FITTED_OVER_S]
    if fitted.empty:
        return _prior()
    common, shares = _common(fitted)
    own, prior = len(shares) / BETWEEN_DEVICES**2, 1.0 / SHARE_SPREAD**2
    streaming = (np.log(SHARE) * prior + np.log(shares).mean() * own) / (prior + own)
    return MemoryBoundCoefficients(
        source=SOURCE,
        streaming=float(np.exp(streaming)),
        streaming_std=BETWEEN_DEVICES,
        cache=shipped().memory_bound.cache,
        **common,
    )


def _common(rows: pd.DataFrame) -> tuple[dict[str, float], Floats]:
    """What all devices share, and each one's streaming share; robust least squares in logarithms."""
    calls, hardware = stream_calls(rows), arguments.hardware(rows)
    names, place = np.unique(arguments.groups(rows), return_inverse=True)
    weight = 1.0 / np.sqrt(np.bincount(place)[place])
    measured = np.log(rows["time_s"].to_numpy(dtype=float))
    median, spread = np.array(list(PRIORS.values())).T
    draft = _prior()

    def residuals(x: Floats) -> Floats:
        share, latency = np.exp(x[len(PRIORS) :].reshape(2, len(names)))[:, place]
        coefficients = draft.model_copy(update=_named(x))
        time = latency + stream_time(calls, hardware, share * hardware.bandwidth, coefficients)
        missed = robust((np.log(time) - measured) / ROW_NOISE)
        return np.concatenate([missed * weight, PRIOR_WEIGHT * (x[: len(PRIORS)] - np.log(median)) / spread])

    start = np.concatenate([np.log(median), np.repeat(np.log([SHARE, LATENCY_S]), len(names))])
    found = least_squares(residuals, start, evaluations=EVALUATIONS)
    return _named(found), np.minimum(np.exp(found[len(PRIORS) :][: len(names)]), 1.0)


def _prior() -> MemoryBoundCoefficients:
    """What is known before anything is fitted."""
    common = _named(np.log([median for median, _ in PRIORS.values()]))
    return MemoryBoundCoefficients(
        source=SOURCE, streaming=SHARE, streaming_std=BETWEEN_DEVICES, cache=shipped().memory_bound.cache, **common
    )


def _named(x: Floats) -> dict[str, float]:
    """The common coefficients from their logarithms, each at least 1, as the model has them."""
    return {name: max(1.0, float(np.exp(value))) for name, value in zip(PRIORS, x, strict=False)}
