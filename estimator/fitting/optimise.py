"""Optimisation shared by fits: robust loss, bounded least squares, and hyperparameters of residuals."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt
from numpy.typing import ArrayLike

from estimator.core.types import Floats
from estimator.model.calibration import KernelHyperparameters, OpFeatures, covariance

EVALUATIONS = 15  # of the residuals' Jacobian
STD_BOUNDS = {  # standard deviations of the hyperparameters: bounds
    "compute": (0.02, 1.0), "memory": (0.02, 1.0), "kind": (0.02, 1.0), "shape": (0.02, 1.0), "noise": (0.01, 0.2),
}  # fmt: skip
PRIOR_WEIGHT = 0.02  # of the squared log ratio to the prior, relative to the likelihood of one residual


def robust(residuals: Floats) -> Floats:
    """Residuals whose squares are the soft-L1 loss: quadratic near 0, linear beyond 1."""
    return np.asarray(np.sign(residuals) * np.sqrt(2.0 * (np.sqrt(1.0 + residuals**2) - 1.0)))


def least_squares(
    residuals: Callable[[Floats], Floats],
    start: ArrayLike,
    bounds: tuple[ArrayLike, ArrayLike] = (-np.inf, np.inf),
    scale: ArrayLike = 1.0,
    own: npt.NDArray[np.int_] | None = None,
    evaluations: int = EVALUATIONS,
) -> Floats:
    """Minimize the sum of squared residuals within bounds, with at most ``evaluations`` Jacobians.

    ``own``: for the first residuals, the index of the only one of the last parameters that each depends on. This
    sparsity gives the derivatives by all of these parameters in one evaluation.
    """
    from scipy import optimize

    start_values = np.asarray(start, float)
    sparsity = None if own is None else _sparsity(len(residuals(start_values)), len(start_values), own)
    solution = optimize.least_squares(
        residuals, start_values, bounds=bounds, x_scale=scale, max_nfev=evaluations, jac_sparsity=sparsity
    )
    return np.asarray(solution.x)


def _sparsity(residuals: int, parameters: int, own: npt.NDArray[np.int_]) -> npt.NDArray[np.int_]:
    """The Jacobian's sparsity: which parameters each residual depends on."""
    matrix = np.ones((residuals, parameters), dtype=int)
    matrix[: len(own), parameters - own.max() - 1 :] = np.eye(own.max() + 1, dtype=int)[own]
    return matrix


def fit_hyperparameters(
    data_sets: Sequence[tuple[OpFeatures, Floats]], start: KernelHyperparameters
) -> KernelHyperparameters:
    """Fit the standard deviations of the hyperparameters to residuals of several independent devices.

    It maximizes the likelihood, with a weak prior at ``start``; scales stay.
    """
    from scipy import optimize

    prior = np.log([getattr(start, name) for name in STD_BOUNDS])

    def objective(log_stds: Floats) -> float:
        hyperparameters = _with_stds(start, log_stds)
        penalty = PRIOR_WEIGHT * np.square(log_stds - prior).sum()
        return float(
            np.mean([_negative_log_likelihood(ops, residual, hyperparameters) for ops, residual in data_sets]) + penalty
        )

    solution = optimize.minimize(objective, prior, method="L-BFGS-B", bounds=np.log(list(STD_BOUNDS.values())))
    return _with_stds(start, solution.x)


def _with_stds(start: KernelHyperparameters, log_stds: Floats) -> KernelHyperparameters:
    """The hyperparameters with standard deviations from their logarithms."""
    return start.model_copy(
        update={name: float(value) for name, value in zip(STD_BOUNDS, np.exp(log_stds), strict=True)}
    )


def _negative_log_likelihood(ops: OpFeatures, residual: Floats, hyperparameters: KernelHyperparameters) -> float:
    """Negative log likelihood per residual (Rasmussen & Williams, 2006, eq. 2.30)."""
    noise = hyperparameters.noise**2 * np.eye(len(residual))
    cholesky = np.linalg.cholesky(covariance(ops, ops, hyperparameters) + noise)
    whitened = np.linalg.solve(cholesky, residual)
    return float((0.5 * whitened @ whitened + np.log(np.diag(cholesky)).sum()) / len(residual))
