"""What times of some ops say of others: a Gaussian process on the logarithm of measured over modelled time.

Before anything is measured, the logarithm is 0 give or take what devices differ by: in the share that they sustain of
their peak and of their bandwidth, from memory and from the cache, which moves each op as far as that binds it; in what
ops of one kind have in common; and in the shape, alike for ops that are alike (Rasmussen & Williams, Gaussian Processes
for Machine Learning, 2006, eq. 2.25 f.; exponential kernel). Measurements narrow all of it at once: a few tell what the
device sustains, many are interpolated.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from estimator.core.types import File, Flags, Floats

NEAREST = 64  # measured ops that tell of one other
KINDS, WAVES = 3, 32  # kinds of op at most; random Fourier features of the kernel
OWN = 1 + KINDS  # columns of loadings that ops of one model and precision have to themselves: compute, and the kinds
AXES = OWN + 2 + WAVES
AT_ONCE = 256  # ops whose neighbours are held in memory
FEW = 30  # measured ops of a kind, of which one that is far off the others tells nothing but of itself
REACH = 2.0  # standard deviations of shapes that are far


class Likeness(File):
    """How far residuals differ: standard deviations of logarithms, and the scale of each feature."""

    compute: float  # between devices, of what is bound by compute
    memory: float  # of what is bound by memory
    kind: float  # between kinds of op
    shape: float  # between shapes that have nothing in common
    noise: float  # of one measurement
    scales: tuple[float, ...]  # of the features: distance 1 is so much


@dataclass(frozen=True)
class Ops:
    """Ops by what makes them alike; one entry per op in every field."""

    features: Floats  # ops × features
    compute_share: Floats  # how far compute binds each op, 0 … 1
    kind: npt.NDArray[np.int_]
    cached: Flags  # whether the last-level cache holds what each moves, at a bandwidth of its own

    def at(self, places: npt.NDArray[np.int_]) -> Ops:
        """The ops at those places, an array of any shape."""
        return Ops(self.features[places], self.compute_share[places], self.kind[places], self.cached[places])


@dataclass(frozen=True)
class Correction:
    """Logarithm of true over modelled time of each op: mean and standard deviation, and on what it depends."""

    mean: Floats
    spread: Floats
    loadings: Floats  # ops × AXES, on independent standard normals; each row's norm is the spread
    common: Floats  # share of the variance before any measurement that ops of all shapes have in common
    told: Floats  # share of that variance that the measurements removed


def correction(known: Ops, residual: Floats, doubt: Floats, wanted: Ops, like: Likeness) -> Correction:
    """What residuals (logarithm of measured over modelled time) of known ops say of the wanted ones.

    ``doubt``: standard deviation of each residual that its measurement itself states.
    """
    prior = _variance(wanted, like)
    common, nothing = 1.0 - like.shape**2 / prior, np.zeros(len(prior))
    if not len(residual):
        return Correction(nothing, np.sqrt(prior), loadings(wanted, like), common, nothing)
    order = np.lexsort((residual, *known.features.T))  # so that of equally near ones always the same are asked
    known, residual, doubt = known.at(order), residual[order], doubt[order]
    clipped, noise = _winsorised(known.kind, residual, like), doubt**2 + like.noise**2
    places = (np.arange(i, min(i + AT_ONCE, len(prior))) for i in range(0, len(prior), AT_ONCE))
    before = loadings(known, like)
    parts = [_posterior(known, before, clipped, noise, wanted.at(some), like) for some in places]
    mean, variance, left = (np.concatenate(part) for part in zip(*parts, strict=True))
    scale = np.sqrt(variance) / np.maximum(np.linalg.norm(left, axis=1), np.finfo(float).tiny)
    return Correction(mean, np.sqrt(variance), left * scale[:, None], common, 1.0 - variance / prior)


def _winsorised(kind: npt.NDArray[np.int_], residual: Floats, like: Likeness) -> Floats:
    """Residuals drawn to within REACH around the median of their kind; wider, where many tell that there are such."""
    out = residual.copy()
    for each in np.unique(kind):
        of_kind = residual[kind == each]
        reach = REACH * like.shape * np.sqrt(max(1.0, len(of_kind) / FEW))
        out[kind == each] = np.median(of_kind) + np.clip(of_kind - np.median(of_kind), -reach, reach)
    return out


def _posterior(
    known: Ops, before: Floats, residual: Floats, noise: Floats, wanted: Ops, like: Likeness
) -> tuple[Floats, Floats, Floats]:
    """Mean, variance and loadings of each wanted op's logarithm, given the known ops nearest to it.

    ``before``: the loadings of the known ones.
    """
    near = _nearest(known.features / like.scales, wanted.features / like.scales)
    given, alone = known.at(near), wanted.at(np.arange(len(near))[:, None])
    among = covariance(given, given, like) + noise[near][:, :, None] * np.eye(near.shape[1])
    across = covariance(alone, given, like)[:, 0]
    weight = np.linalg.solve(among, across[:, :, None])[..., 0]
    mean, explained = (np.einsum("ij,ij->i", weight, told) for told in (residual[near], across))
    left = loadings(wanted, like) - np.einsum("ij,ijk->ik", weight, before[near])
    return np.asarray(mean), np.maximum(_variance(wanted, like) - explained, like.noise**2), left


def covariance(a: Ops, b: Ops, like: Likeness) -> Floats:
    """Covariance (… × p × q) of the logarithms of ops a (… × p) and b (… × q)."""
    computing = a.compute_share[..., :, None] * b.compute_share[..., None, :]
    moving = (1.0 - a.compute_share[..., :, None]) * (1.0 - b.compute_share[..., None, :])
    there = a.cached[..., :, None] == b.cached[..., None, :]
    alike = np.exp(-_distance(a.features / like.scales, b.features / like.scales))
    kinds = a.kind[..., :, None] == b.kind[..., None, :]
    device = like.compute**2 * computing + like.memory**2 * moving * there
    return np.asarray(device + like.kind**2 * kinds + like.shape**2 * alike)


def loadings(ops: Ops, like: Likeness) -> Floats:
    """How each op's logarithm loads on independent standard normals (ops × AXES), so that ops move together as
    :func:`covariance` has it: exactly by what devices and kinds do, and give or take 1/√WAVES by shape, with random
    features of the exponential kernel, whose spectrum is Cauchy's (Rahimi & Recht, NeurIPS 2007).
    """
    rng = np.random.default_rng(0)
    direction = rng.standard_normal((ops.features.shape[1], WAVES)) / np.abs(rng.standard_normal(WAVES))
    wave = np.cos(ops.features / like.scales @ direction + rng.uniform(0.0, 2.0 * np.pi, WAVES))
    wave *= like.shape / np.linalg.norm(wave, axis=1, keepdims=True)
    moving = like.memory * (1.0 - ops.compute_share)
    device = [like.compute * ops.compute_share, *(like.kind * (ops.kind == kind) for kind in range(KINDS))]
    return np.column_stack([*device, moving * ~ops.cached, moving * ops.cached, wave])


def _variance(ops: Ops, like: Likeness) -> Floats:
    """What is not known of each op before anything is measured: the diagonal of its covariance."""
    device = like.compute**2 * ops.compute_share**2 + like.memory**2 * (1.0 - ops.compute_share) ** 2
    return np.asarray(device + like.kind**2 + like.shape**2)


def _nearest(known: Floats, wanted: Floats) -> npt.NDArray[np.int_]:
    """Wanted × up to NEAREST places of the known ops that are least far."""
    count = min(NEAREST, len(known))
    return np.argpartition(_distance(wanted, known), count - 1, axis=1)[:, :count]


def _distance(a: Floats, b: Floats) -> Floats:
    """Distances (… × p × q) of places a (… × p × features) and b (… × q × features)."""
    square = (a**2).sum(axis=-1)[..., :, None] + (b**2).sum(axis=-1)[..., None, :] - 2.0 * a @ np.swapaxes(b, -1, -2)
    return np.asarray(np.sqrt(np.maximum(square, 0.0)))
