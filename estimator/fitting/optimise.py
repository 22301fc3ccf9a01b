"""What fits of several models share: robust losses, bounded least squares, and how far similar ops are missed alike."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt
from numpy.typing import ArrayLike

from estimator.core.types import Floats
from estimator.model.calibration import KernelHyperparameters, OpFeatures, covariance

EVALUATIONS = 15  # of the residuals' Jacobian
SPREADS = {  # of the hyperparameters: bounds
    "compute": (0.02, 1.0), "memory": (0.02, 1.0), "kind": (0.02, 1.0), "shape": (0.02, 1.0), "noise": (0.01, 0.2),
}  # fmt: skip
SPREAD_WEIGHT = 0.02  # of the squared logarithm of a spread over its prior's, beside the surprise of one residual


def robust(missed: Floats) -> Floats:
    """Residuals whose squares are the soft-L1 loss: quadratic near 0, linear beyond 1."""
    return np.asarray(np.sign(missed) * np.sqrt(2.0 * (np.sqrt(1.0 + missed**2) - 1.0)))


def least_squares(
    residuals: Callable[[Floats], Floats],
    start: ArrayLike,
    bounds: tuple[ArrayLike, ArrayLike] = (-np.inf, np.inf),
    scale: ArrayLike = 1.0,
    own: npt.NDArray[np.int_] | None = None,
    evaluations: int = EVALUATIONS,
) -> Floats:
    """Where the sum of squared residuals is least within bounds, after so many ``evaluations`` at most.

    ``own``: of the first residuals, which of the last parameters concerns each, all others of these not; so that one
    evaluation tells the derivatives by all of them.
    """
    from scipy import optimize

    x = np.asarray(start, float)
    sparsity = None if own is None else _concerned(len(residuals(x)), len(x), own)
    found = optimize.least_squares(
        residuals, x, bounds=bounds, x_scale=scale, max_nfev=evaluations, jac_sparsity=sparsity
    )
    return np.asarray(found.x)


def _concerned(residuals: int, parameters: int, own: npt.NDArray[np.int_]) -> npt.NDArray[np.int_]:
    """Which parameters each residual depends on."""
    matrix = np.ones((residuals, parameters), dtype=int)
    matrix[: len(own), parameters - own.max() - 1 :] = np.eye(own.max() + 1, dtype=int)[own]
    return matrix


def fit_hyperparameters(
    known: Sequence[tuple[OpFeatures, Floats]], start: KernelHyperparameters
) -> KernelHyperparameters:
    """The hyperparameters under which residuals of several devices, independent of each other, are most probable: the
    spreads those of ``start`` as far as residuals tell nothing, the scales the same.
    """
    from scipy import optimize

    prior = np.log([getattr(start, name) for name in SPREADS])

    def surprise(x: Floats) -> float:
        hyperparameters = _spread(start, x)
        unusual = SPREAD_WEIGHT * np.square(x - prior).sum()
        return float(np.mean([_surprise(ops, residual, hyperparameters) for ops, residual in known]) + unusual)

    found = optimize.minimize(surprise, prior, method="L-BFGS-B", bounds=np.log(list(SPREADS.values())))
    return _spread(start, found.x)


def _spread(start: KernelHyperparameters, x: Floats) -> KernelHyperparameters:
    """The hyperparameters with SPREADS whose logarithms are x."""
    return start.model_copy(update={name: float(value) for name, value in zip(SPREADS, np.exp(x), strict=True)})


def _surprise(ops: OpFeatures, residual: Floats, hyperparameters: KernelHyperparameters) -> float:
    """Negative logarithm of the residuals' probability, per residual (Rasmussen & Williams, 2006, eq. 2.30)."""
    noise = hyperparameters.noise**2 * np.eye(len(residual))
    lower = np.linalg.cholesky(covariance(ops, ops, hyperparameters) + noise)
    white = np.linalg.solve(lower, residual)
    return float((0.5 * white @ white + np.log(np.diag(lower)).sum()) / len(residual))
