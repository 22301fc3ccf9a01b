"""Correction of modelled times by measured ones: a Gaussian process on the logarithm of measured over modelled time.

The prior mean of the logarithm is 0. Its prior covariance has these parts: the sustained shares of peak and of
bandwidth (of memory and of cache), weighted by how far each binds an op; what ops of one kind have in common; and the
shape, by an exponential kernel of the distance (Rasmussen & Williams, Gaussian Processes for Machine Learning, 2006,
eq. 2.25 f.). Measurements narrow all parts at once: a few show what the device sustains, many are interpolated.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from estimator.core.types import File, Flags, Floats

NEAREST = 64  # measured ops that correct one op
KINDS, WAVES = 3, 32  # kinds of op at most; random Fourier features of the kernel
OWN = 1 + KINDS  # columns of loadings that are separate for each model and precision: compute, and the kinds
AXES = OWN + 2 + WAVES
BATCH_OPS = 256  # whose neighbours are held in memory
OUTLIER_ROWS = 30  # measured ops of a kind; with more of them outliers are clipped less
OUTLIER_STD = 2.0  # standard deviations beyond which residuals are clipped
OfKinds = float | tuple[float, ...]  # one number for ops of all kinds, or one for each kind


class KernelHyperparameters(File):
    """Standard deviations of log residuals, and the scale of each coordinate."""

    compute: float  # between devices, of what is bound by compute
    memory: float  # of what is bound by memory
    kind: OfKinds  # between kinds of op
    shape: OfKinds  # between distant shapes
    noise: float  # of one measurement
    scales: tuple[float, ...]  # of the coordinates: that of distance 1
    shape_in_cache: float | None = None  # between distant shapes, with operands in caches of different speeds

    def isolated(self) -> KernelHyperparameters:
        """The hyperparameters of ops timed by themselves, with operands in the cache."""
        if self.shape_in_cache is None:
            return self
        shape = np.maximum(_of_kinds(self.shape), self.shape_in_cache)
        return self.model_copy(update={"shape": tuple(shape.tolist())})


@dataclass(frozen=True)
class OpFeatures:
    """Features of ops for their similarity; one entry per op in every field."""

    coordinates: Floats  # ops × coordinates: near ops are similar
    compute_share: Floats  # how far compute binds each op, 0 … 1
    kind: npt.NDArray[np.int_]
    cached: Flags  # whether its data fit the last-level cache, which has its own bandwidth

    def at(self, positions: npt.NDArray[np.int_]) -> OpFeatures:
        """The ops at these positions, an array of any shape."""
        return OpFeatures(
            self.coordinates[positions], self.compute_share[positions], self.kind[positions], self.cached[positions]
        )


@dataclass(frozen=True)
class Residuals:
    """Residuals of the model for measured ops."""

    features: OpFeatures
    log_residual: Floats  # logarithm of measured over modelled time
    residual_std: Floats  # its standard deviation by the measurement's own interval

    def at(self, positions: npt.NDArray[np.int_]) -> Residuals:
        """The measured ops at these positions."""
        return Residuals(self.features.at(positions), self.log_residual[positions], self.residual_std[positions])


NO_RESIDUALS = Residuals(
    OpFeatures(np.empty((0, 0)), np.empty(0), np.empty(0, dtype=int), np.empty(0, dtype=bool)), np.empty(0), np.empty(0)
)


@dataclass(frozen=True)
class Correction:
    """Logarithm of true over modelled time of each op: mean, standard deviation and loadings."""

    mean: Floats
    std: Floats
    loadings: Floats  # ops × AXES, on independent standard normals; each row's norm is the standard deviation
    common_share: Floats  # share of the prior variance that ops of all shapes have in common
    explained_share: Floats  # share of the prior variance removed by measurements


@dataclass(frozen=True)
class _MeasuredOps:
    """Measured ops, prepared for the posterior."""

    features: OpFeatures
    log_residual: Floats  # without outliers
    variance: Floats  # of each measurement
    loadings: Floats


def estimate_correction(
    residuals: Residuals, wanted: OpFeatures, hyperparameters: KernelHyperparameters, weight: float = 1.0
) -> Correction:
    """Estimate the correction of the wanted ops from the residuals of measured ones.

    ``weight``: correlation of the residuals of the measured device with those of the wanted ops' device; 1: it is the
    same. The mean is multiplied by it, and what measurements take from the prior variance by its square (Bonilla et
    al., Multi-task Gaussian Process Prediction, 2007, eq. 2).
    """
    prior = _variance(wanted, hyperparameters)
    common_share, zeros = 1.0 - _by_kind(hyperparameters.shape, wanted) ** 2 / prior, np.zeros(len(prior))
    if not len(residuals.log_residual):
        return Correction(zeros, np.sqrt(prior), loadings(wanted, hyperparameters), common_share, zeros)
    measured = _measured_ops(residuals, hyperparameters)
    batches = (np.arange(i, min(i + BATCH_OPS, len(prior))) for i in range(0, len(prior), BATCH_OPS))
    posteriors = [_posterior(measured, wanted.at(positions), hyperparameters) for positions in batches]
    mean, variance, remaining = (np.concatenate(part) for part in zip(*posteriors, strict=True))
    if weight < 1.0:
        mean, variance = weight * mean, prior - weight**2 * (prior - variance)
        remaining = weight**2 * remaining + (1.0 - weight**2) * loadings(wanted, hyperparameters)
    scale = np.sqrt(variance) / np.maximum(np.linalg.norm(remaining, axis=1), np.finfo(float).tiny)
    return Correction(mean, np.sqrt(variance), remaining * scale[:, None], common_share, 1.0 - variance / prior)


def _measured_ops(residuals: Residuals, hyperparameters: KernelHyperparameters) -> _MeasuredOps:
    order = np.lexsort((residuals.log_residual, *residuals.features.coordinates.T))
    ordered = residuals.at(order)  # a fixed order, so that ties are resolved the same way
    return _MeasuredOps(
        ordered.features,
        _winsorised(ordered, hyperparameters),
        ordered.residual_std**2 + hyperparameters.noise**2,
        loadings(ordered.features, hyperparameters),
    )


def _winsorised(residuals: Residuals, hyperparameters: KernelHyperparameters) -> Floats:
    """Clip residuals to OUTLIER_STD around the median of their kind; wider for kinds of many ops."""
    kind, residual, stds = residuals.features.kind, residuals.log_residual, _of_kinds(hyperparameters.shape)
    clipped = residual.copy()
    for kind_number in np.unique(kind):
        of_kind = residual[kind == kind_number]
        limit = OUTLIER_STD * stds[kind_number] * np.sqrt(max(1.0, len(of_kind) / OUTLIER_ROWS))
        clipped[kind == kind_number] = np.median(of_kind) + np.clip(of_kind - np.median(of_kind), -limit, limit)
    return clipped


def _posterior(
    measured: _MeasuredOps, wanted: OpFeatures, hyperparameters: KernelHyperparameters
) -> tuple[Floats, Floats, Floats]:
    """Mean, variance and loadings of each wanted op's logarithm, given the nearest measured ops."""
    scales = hyperparameters.scales
    nearest = _nearest(measured.features.coordinates / scales, wanted.coordinates / scales)
    neighbours, op_itself = measured.features.at(nearest), wanted.at(np.arange(len(nearest))[:, None])
    noise = measured.variance[nearest][:, :, None] * np.eye(nearest.shape[1])
    covariances = covariance(neighbours, neighbours, hyperparameters) + noise
    to_neighbours = covariance(op_itself, neighbours, hyperparameters)[:, 0]
    weights = np.linalg.solve(covariances, to_neighbours[:, :, None])[..., 0]
    mean, explained = (
        np.einsum("ij,ij->i", weights, values) for values in (measured.log_residual[nearest], to_neighbours)
    )
    remaining = loadings(wanted, hyperparameters) - np.einsum("ij,ijk->ik", weights, measured.loadings[nearest])
    return (
        np.asarray(mean),
        np.maximum(_variance(wanted, hyperparameters) - explained, hyperparameters.noise**2),
        remaining,
    )


def covariance(a: OpFeatures, b: OpFeatures, hyperparameters: KernelHyperparameters) -> Floats:
    """Covariance (… × p × q) of the logarithms of ops a (… × p) and b (… × q)."""
    compute = a.compute_share[..., :, None] * b.compute_share[..., None, :]
    memory = (1.0 - a.compute_share[..., :, None]) * (1.0 - b.compute_share[..., None, :])
    same_memory = a.cached[..., :, None] == b.cached[..., None, :]
    scales = hyperparameters.scales
    similarity = np.exp(-_distance(a.coordinates / scales, b.coordinates / scales))
    same_kind = a.kind[..., :, None] == b.kind[..., None, :]
    stds = hyperparameters.kind, hyperparameters.shape
    kinds, shapes = (_by_kind(std, a)[..., :, None] * _by_kind(std, b)[..., None, :] for std in stds)
    device = hyperparameters.compute**2 * compute + hyperparameters.memory**2 * memory * same_memory
    return np.asarray(device + kinds * same_kind + shapes * similarity)


def _of_kinds(std: OfKinds) -> Floats:
    """The standard deviation of each kind."""
    return np.broadcast_to(np.asarray(std, float), KINDS)


def _by_kind(std: OfKinds, ops: OpFeatures) -> Floats:
    """The standard deviation of each op, by its kind."""
    return np.asarray(_of_kinds(std)[ops.kind])


def loadings(ops: OpFeatures, hyperparameters: KernelHyperparameters) -> Floats:
    """Loadings (ops × AXES) of the logarithms on independent standard normals, which reproduce :func:`covariance`.

    The parts of devices and kinds are exact. The part of shapes has an error of order 1/√WAVES: random features of the
    exponential kernel, whose spectrum is Cauchy's (Rahimi & Recht, NeurIPS 2007).
    """
    rng = np.random.default_rng(0)
    frequencies = rng.standard_normal((ops.coordinates.shape[1], WAVES)) / np.abs(rng.standard_normal(WAVES))
    shape = np.cos(ops.coordinates / hyperparameters.scales @ frequencies + rng.uniform(0.0, 2.0 * np.pi, WAVES))
    shape *= (_by_kind(hyperparameters.shape, ops) / np.linalg.norm(shape, axis=1))[:, None]
    memory = hyperparameters.memory * (1.0 - ops.compute_share)
    of_kind = _by_kind(hyperparameters.kind, ops)
    kinds = (of_kind * (ops.kind == kind) for kind in range(KINDS))
    device = [hyperparameters.compute * ops.compute_share, *kinds]
    return np.column_stack([*device, memory * ~ops.cached, memory * ops.cached, shape])


def _variance(ops: OpFeatures, hyperparameters: KernelHyperparameters) -> Floats:
    """The prior variance of each op: the diagonal of the covariance."""
    compute, memory = ops.compute_share**2, (1.0 - ops.compute_share) ** 2
    device = hyperparameters.compute**2 * compute + hyperparameters.memory**2 * memory
    return np.asarray(device + _by_kind(hyperparameters.kind, ops) ** 2 + _by_kind(hyperparameters.shape, ops) ** 2)


def _nearest(measured: Floats, wanted: Floats) -> npt.NDArray[np.int_]:
    """Positions of the nearest measured ops (wanted × up to NEAREST)."""
    count = min(NEAREST, len(measured))
    return np.argpartition(_distance(wanted, measured), count - 1, axis=1)[:, :count]


def _distance(a: Floats, b: Floats) -> Floats:
    """Distances (… × p × q) of points a (… × p × coordinates) and b (… × q × coordinates)."""
    square = (a**2).sum(axis=-1)[..., :, None] + (b**2).sum(axis=-1)[..., None, :] - 2.0 * a @ np.swapaxes(b, -1, -2)
    return np.asarray(np.sqrt(np.maximum(square, 0.0)))
