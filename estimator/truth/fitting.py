"""What fits of several models share: robust losses, bounded least squares, and how far alike ops err alike."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import numpy.typing as npt
from numpy.typing import ArrayLike

from estimator.core.types import Floats
from estimator.model.calibration import Likeness, Ops, covariance

EVALUATIONS = 15  # of the residuals' Jacobian
SCALE, SCALE_WEIGHT = 4.0, 0.005  # of every feature's scale: its prior's median, and the weight of that
SCALES, SPREADS, NOISES = (0.5, 60.0), (0.02, 1.0), (0.01, 0.2)  # bounds
STEPS = 25


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


def likeness(known: Sequence[tuple[Ops, Floats]], start: Mapping[str, float]) -> Likeness:
    """The likeness under which residuals of several devices, independent of each other, are most probable."""
    from scipy import optimize

    width = known[0][0].features.shape[1]

    def surprise(x: Floats) -> float:
        like, scales = _likeness(x, start), x[len(start) :]
        unusual = SCALE_WEIGHT * np.square(scales - np.log(SCALE)).sum()
        return float(np.mean([_surprise(ops, residual, like) for ops, residual in known]) + unusual)

    x = np.log([*start.values(), *[SCALE] * width])
    of_spreads = [NOISES if name == "noise" else SPREADS for name in start]
    bounds = np.log([*of_spreads, *[SCALES] * width])
    found = optimize.minimize(surprise, x, method="L-BFGS-B", bounds=bounds, options={"maxiter": STEPS})
    return _likeness(found.x, start)


def _likeness(x: Floats, names: Mapping[str, float]) -> Likeness:
    values = [float(value) for value in np.exp(x)]
    return Likeness(**dict(zip(names, values, strict=False)), scales=tuple(values[len(names) :]))


def _surprise(ops: Ops, residual: Floats, like: Likeness) -> float:
    """Negative logarithm of the residuals' probability, per residual (Rasmussen & Williams, 2006, eq. 2.30)."""
    lower = np.linalg.cholesky(covariance(ops, ops, like) + like.noise**2 * np.eye(len(residual)))
    white = np.linalg.solve(lower, residual)
    return float((0.5 * white @ white + np.log(np.diag(lower)).sum()) / len(residual))
