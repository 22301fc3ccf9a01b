"""Correction of modelled times by measured ones: a Gaussian process on the logarithm of measured over modelled time.

Before anything is measured, the logarithm is 0 give or take what devices differ by: in the share that they sustain of
their peak and of their bandwidth, from memory and from the cache, which moves each op as far as that binds it; in what
ops of one kind have in common; and in the shape, the less the closer two shapes are (Rasmussen & Williams, Gaussian
Processes for Machine Learning, 2006, eq. 2.25 f.; exponential kernel). Measurements narrow all of it at once: a few
show what the device sustains, many are interpolated.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from estimator.core.types import File, Flags, Floats

NEAREST = 64  # measured ops that one op's correction rests on
KINDS, WAVES = 3, 32  # kinds of op at most; random Fourier features of the kernel
OWN = 1 + KINDS  # columns of loadings that ops of one model and precision have to themselves: compute, and the kinds
AXES = OWN + 2 + WAVES
AT_ONCE = 256  # ops whose neighbours are held in memory
FEW = 30  # measured ops of a kind, of which one that is far off the others corrects nothing but itself
REACH = 2.0  # standard deviations of shapes that are far


class KernelHyperparameters(File):
    """How far residuals differ: standard deviations of logarithms, and the scale of each coordinate."""

    compute: float  # between devices, of what is bound by compute
    memory: float  # of what is bound by memory
    kind: float  # between kinds of op
    shape: float  # between shapes that have nothing in common
    noise: float  # of one measurement
    scales: tuple[float, ...]  # of the coordinates: distance 1 is so much
    shape_in_cache: float | None = None  # between shapes that caches of unlike speeds hold

    def isolated(self) -> KernelHyperparameters:
        """Those of ops that were timed by themselves, with their operands in the cache."""
        return self.model_copy(update={"shape": max(self.shape, self.shape_in_cache or 0.0)})


@dataclass(frozen=True)
class OpFeatures:
    """By what ops resemble each other; one entry per op in every field."""

    coordinates: Floats  # ops × coordinates: the nearer, the more they resemble
    compute_share: Floats  # how far compute binds each op, 0 … 1
    kind: npt.NDArray[np.int_]
    cached: Flags  # whether the last-level cache holds what each moves, at a bandwidth of its own

    def at(self, places: npt.NDArray[np.int_]) -> OpFeatures:
        """The ops at those places, an array of any shape."""
        return OpFeatures(self.coordinates[places], self.compute_share[places], self.kind[places], self.cached[places])


@dataclass(frozen=True)
class Residuals:
    """Measured ops: by what factor the model misses each."""

    features: OpFeatures
    log_residual: Floats  # logarithm of measured over modelled time
    residual_std: Floats  # its standard deviation, as far as the measurement itself states it

    def at(self, places: npt.NDArray[np.int_]) -> Residuals:
        """The measured ops at those places."""
        return Residuals(self.features.at(places), self.log_residual[places], self.residual_std[places])


NO_RESIDUALS = Residuals(
    OpFeatures(np.empty((0, 0)), np.empty(0), np.empty(0, dtype=int), np.empty(0, dtype=bool)), np.empty(0), np.empty(0)
)


@dataclass(frozen=True)
class Correction:
    """Logarithm of true over modelled time of each op: mean and standard deviation, and on what it depends."""

    mean: Floats
    std: Floats
    loadings: Floats  # ops × AXES, on independent standard normals; each row's norm is the standard deviation
    common_share: Floats  # share of the variance before any measurement that ops of all shapes have in common
    explained_share: Floats  # share of that variance that the measurements removed


@dataclass(frozen=True)
class _Known:
    """Measured ops as the posterior takes them."""

    features: OpFeatures
    log_residual: Floats  # without outliers
    variance: Floats  # of each measurement
    loadings: Floats


def estimate_correction(residuals: Residuals, wanted: OpFeatures, hyperparameters: KernelHyperparameters) -> Correction:
    """The correction of the wanted ops, given the residuals of measured ones."""
    prior = _variance(wanted, hyperparameters)
    common, zero = 1.0 - hyperparameters.shape**2 / prior, np.zeros(len(prior))
    if not len(residuals.log_residual):
        return Correction(zero, np.sqrt(prior), loadings(wanted, hyperparameters), common, zero)
    known = _known(residuals, hyperparameters)
    places = (np.arange(i, min(i + AT_ONCE, len(prior))) for i in range(0, len(prior), AT_ONCE))
    parts = [_posterior(known, wanted.at(some), hyperparameters) for some in places]
    mean, variance, left = (np.concatenate(part) for part in zip(*parts, strict=True))
    scale = np.sqrt(variance) / np.maximum(np.linalg.norm(left, axis=1), np.finfo(float).tiny)
    return Correction(mean, np.sqrt(variance), left * scale[:, None], common, 1.0 - variance / prior)


def _known(residuals: Residuals, hyperparameters: KernelHyperparameters) -> _Known:
    order = np.lexsort((residuals.log_residual, *residuals.features.coordinates.T))
    ordered = residuals.at(order)  # so that of equally near ones always the same are asked
    return _Known(
        ordered.features,
        _winsorised(ordered, hyperparameters),
        ordered.residual_std**2 + hyperparameters.noise**2,
        loadings(ordered.features, hyperparameters),
    )


def _winsorised(residuals: Residuals, hyperparameters: KernelHyperparameters) -> Floats:
    """Residuals drawn to within REACH around the median of their kind; wider, where many show that there are such."""
    kind, residual = residuals.features.kind, residuals.log_residual
    out = residual.copy()
    for each in np.unique(kind):
        of_kind = residual[kind == each]
        reach = REACH * hyperparameters.shape * np.sqrt(max(1.0, len(of_kind) / FEW))
        out[kind == each] = np.median(of_kind) + np.clip(of_kind - np.median(of_kind), -reach, reach)
    return out


def _posterior(
    known: _Known, wanted: OpFeatures, hyperparameters: KernelHyperparameters
) -> tuple[Floats, Floats, Floats]:
    """Mean, variance and loadings of each wanted op's logarithm, given the known ops nearest to it."""
    scales = hyperparameters.scales
    near = _nearest(known.features.coordinates / scales, wanted.coordinates / scales)
    given, single = known.features.at(near), wanted.at(np.arange(len(near))[:, None])
    among = covariance(given, given, hyperparameters) + known.variance[near][:, :, None] * np.eye(near.shape[1])
    across = covariance(single, given, hyperparameters)[:, 0]
    weight = np.linalg.solve(among, across[:, :, None])[..., 0]
    mean, explained = (np.einsum("ij,ij->i", weight, values) for values in (known.log_residual[near], across))
    left = loadings(wanted, hyperparameters) - np.einsum("ij,ijk->ik", weight, known.loadings[near])
    return np.asarray(mean), np.maximum(_variance(wanted, hyperparameters) - explained, hyperparameters.noise**2), left


def covariance(a: OpFeatures, b: OpFeatures, hyperparameters: KernelHyperparameters) -> Floats:
    """Covariance (… × p × q) of the logarithms of ops a (… × p) and b (… × q)."""
    computing = a.compute_share[..., :, None] * b.compute_share[..., None, :]
    moving = (1.0 - a.compute_share[..., :, None]) * (1.0 - b.compute_share[..., None, :])
    same_memory = a.cached[..., :, None] == b.cached[..., None, :]
    scales = hyperparameters.scales
    nearness = np.exp(-_distance(a.coordinates / scales, b.coordinates / scales))
    same_kind = a.kind[..., :, None] == b.kind[..., None, :]
    device = hyperparameters.compute**2 * computing + hyperparameters.memory**2 * moving * same_memory
    return np.asarray(device + hyperparameters.kind**2 * same_kind + hyperparameters.shape**2 * nearness)


def loadings(ops: OpFeatures, hyperparameters: KernelHyperparameters) -> Floats:
    """How each op's logarithm loads on independent standard normals (ops × AXES), so that ops move together as
    :func:`covariance` has it: exactly by what devices and kinds do, and give or take 1/√WAVES by shape, with random
    features of the exponential kernel, whose spectrum is Cauchy's (Rahimi & Recht, NeurIPS 2007).
    """
    rng = np.random.default_rng(0)
    direction = rng.standard_normal((ops.coordinates.shape[1], WAVES)) / np.abs(rng.standard_normal(WAVES))
    wave = np.cos(ops.coordinates / hyperparameters.scales @ direction + rng.uniform(0.0, 2.0 * np.pi, WAVES))
    wave *= hyperparameters.shape / np.linalg.norm(wave, axis=1, keepdims=True)
    moving = hyperparameters.memory * (1.0 - ops.compute_share)
    kinds = (hyperparameters.kind * (ops.kind == kind) for kind in range(KINDS))
    device = [hyperparameters.compute * ops.compute_share, *kinds]
    return np.column_stack([*device, moving * ~ops.cached, moving * ops.cached, wave])


def _variance(ops: OpFeatures, hyperparameters: KernelHyperparameters) -> Floats:
    """What is not known of each op before anything is measured: the diagonal of its covariance."""
    computing, moving = ops.compute_share**2, (1.0 - ops.compute_share) ** 2
    device = hyperparameters.compute**2 * computing + hyperparameters.memory**2 * moving
    return np.asarray(device + hyperparameters.kind**2 + hyperparameters.shape**2)


def _nearest(known: Floats, wanted: Floats) -> npt.NDArray[np.int_]:
    """Wanted × up to NEAREST places of the known ops that are least far."""
    count = min(NEAREST, len(known))
    return np.argpartition(_distance(wanted, known), count - 1, axis=1)[:, :count]


def _distance(a: Floats, b: Floats) -> Floats:
    """Distances (… × p × q) of places a (… × p × coordinates) and b (… × q × coordinates)."""
    square = (a**2).sum(axis=-1)[..., :, None] + (b**2).sum(axis=-1)[..., None, :] - 2.0 * a @ np.swapaxes(b, -1, -2)
    return np.asarray(np.sqrt(np.maximum(square, 0.0)))
