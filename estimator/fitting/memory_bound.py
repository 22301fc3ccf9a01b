"""Fit the coefficients of the memory-bound model to TRUTH in two stages.

First the coefficients common to all devices, with a separate streaming share and latency of each (data set, device), so
that no device distorts them. Then the share of an unseen device: the mean of those shares and a prior (STREAM attains
about four fifths of the data sheet's bandwidth on most machines).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

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
SHARE, SHARE_STD, DEVICE_STD = 0.80, 0.05, 0.10  # streaming share: prior mean, prior std, std between devices
LATENCY_S = 15e-6  # initial latency of a device
FITTED_OVER_S = 5e-5  # least roofline time of the fitted rows
ROW_NOISE = 0.05  # standard deviation of a row's logarithm
EVALUATIONS = 60  # of the residuals' Jacobian, at most
SOURCE = "NeuSight kernel measurements (sitar-lab/NeuSight, MIT); python -m estimator.fitting.ship"


def fit(truth: pd.DataFrame) -> MemoryBoundCoefficients:
    """Fit the coefficients to the memory-bound rows of TRUTH; without any they are the priors."""
    rows = truth[truth["op_class"].isin(STREAMING)]
    fitted = rows[rows["ideal_s"] > FITTED_OVER_S]
    if fitted.empty:
        return _prior_coefficients()
    common, shares = _fit_common(fitted)
    device_precision, prior_precision = len(shares) / DEVICE_STD**2, 1.0 / SHARE_STD**2
    streaming = (np.log(SHARE) * prior_precision + np.log(shares).mean() * device_precision) / (
        prior_precision + device_precision
    )
    return MemoryBoundCoefficients(
        source=SOURCE, streaming=float(np.exp(streaming)), streaming_std=DEVICE_STD, **_chosen(), **common
    )


def _fit_common(rows: pd.DataFrame) -> tuple[dict[str, float], Floats]:
    """Fit the common coefficients and each group's streaming share, by robust least squares of logarithms."""
    calls, hardware = stream_calls(rows), arguments.hardware(rows)
    names, group_of_row = np.unique(arguments.groups(rows), return_inverse=True)
    weights = 1.0 / np.sqrt(np.bincount(group_of_row)[group_of_row])
    measured = np.log(rows["time_s"].to_numpy(dtype=float))
    median, spread = np.array(list(PRIORS.values())).T
    draft = _prior_coefficients()

    def residuals(parameters: Floats) -> Floats:
        share, latency = np.exp(parameters[len(PRIORS) :].reshape(2, len(names)))[:, group_of_row]
        coefficients = draft.model_copy(update=_coefficients_from_logs(parameters))
        time = latency + stream_time(calls, hardware, share * hardware.bandwidth, coefficients)
        data_residuals = robust((np.log(time) - measured) / ROW_NOISE)
        return np.concatenate(
            [data_residuals * weights, PRIOR_WEIGHT * (parameters[: len(PRIORS)] - np.log(median)) / spread]
        )

    start = np.concatenate([np.log(median), np.repeat(np.log([SHARE, LATENCY_S]), len(names))])
    solution = least_squares(residuals, start, evaluations=EVALUATIONS)
    return _coefficients_from_logs(solution), np.minimum(np.exp(solution[len(PRIORS) :][: len(names)]), 1.0)


def _prior_coefficients() -> MemoryBoundCoefficients:
    """The prior coefficients."""
    common = _coefficients_from_logs(np.log([median for median, _ in PRIORS.values()]))
    return MemoryBoundCoefficients(source=SOURCE, streaming=SHARE, streaming_std=DEVICE_STD, **_chosen(), **common)


def _chosen() -> dict[str, Any]:
    """The coefficients that no fit moves."""
    own = shipped().memory_bound
    return {"cache": own.cache, "unit_elements": own.unit_elements}


def _coefficients_from_logs(log_values: Floats) -> dict[str, float]:
    """The common coefficients from their logarithms, each at least 1."""
    return {name: max(1.0, float(np.exp(value))) for name, value in zip(PRIORS, log_values, strict=False)}
