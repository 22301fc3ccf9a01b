"""Predicted steps conditioned on timed ones: what some steps of a machine tell about its others.

The logarithms of steps are taken to be jointly normal, about those of the nominal steps. Steps that share an uncertain
input (host, links, kernels) are wrong together: the draws have that covariance. Two errors come on top, of which no
draw knows: one of the whole program, and one of each configuration.

    state  x_i = log t_i + p + e_i                      p ~ N(0, PROGRAM²), e_i ~ N(0, CONFIGURATION²), see below
    gain   K = cov(x, x_T) (cov(x_T, x_T) + diag(s²/n))⁻¹     T: the configurations that were timed, each n times
    given  x + K (y + ε − x_T)                          y: their mean logarithms, ε ~ N(0, s²/n); 0 at nominal inputs

s is the standard deviation of the logarithms of a configuration's times, at least REPEATS.

The error of a timed configuration is one of Student's t, whose tails are heavier, so that one odd step among several
moves the others little: its own e_i is wider in their covariance, see :func:`error_of_each`.

Timed steps that are further from the prediction or from each other than all these uncertainties and chance explain show
that one of them is too small. Nothing tells which; so all deviations from the nominal steps are multiplied by a Birge
ratio.

Sources: Rasmussen and Williams, Gaussian Processes for Machine Learning, 2006, eq. 2.22 to 2.24; draw by draw: Evensen,
Data Assimilation, 2009, ch. 4 (Matheron's rule); the errors: Kennedy and O'Hagan, J. R. Statist. Soc. B 63, 2001; odd
steps: Lange, Little and Taylor, J. Am. Stat. Assoc. 84, 881, 1989; the ratio: Birge, Phys. Rev. 40, 207, 1932; Particle
Data Group, Review of Particle Physics, introduction, section 5.2.2.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from estimator.core.interval import Z, standard
from estimator.core.types import Floats, Integers

# Standard deviations of logarithms. The first two by published steps that are predicted from one timed step (MLPerf
# between scales: ResNet-50, BERT) or ten (three tables of language models), without their device's family, each set
# with equal weight. Their likelihood rises with PROGRAM up to 1 and is flat beyond; it is highest for CONFIGURATION
# 0.10, and 0.11 is the least at which 85 % of the 90 % intervals hold in each set.
PROGRAM = 1.0
CONFIGURATION = 0.11
FREEDOM = 4.0  # degrees of freedom of a timed configuration's error: assumed, as is usual where few rows could tell
# Rounds of these errors: enough for one odd step, too few to take the side of one of two that contradict each other.
ROUNDS = 3
REPEATS = 0.02  # of the same step timed again: MLPerf's runs differ by 0.5 % in the median, by 9 % one time in twenty


def conditioned(
    steps_s: Floats, names: Sequence[str], timed: Sequence[int], measured_s: Sequence[float], seed: int = 0
) -> Floats:
    """Samples of steps (1 + draws × configurations) [s], given that some of them were timed.

    Args:
        steps_s: predicted samples [s], each draw of all configurations by the same inputs; entry 0 at nominal ones.
        names: of the configurations, each once; their errors are drawn by name, whatever their order.
        timed: the configuration of each timed step. One may be timed several times.
        measured_s: what these took [s].
        seed: of the drawn errors.

    Without timed steps nothing changes.
    """
    if not len(timed):
        return steps_s
    draws, log_steps = len(steps_s) - 1, np.log(steps_s)
    rows, mean, std = _repeated(timed, measured_s)
    shared, error = _shared_covariance(log_steps), np.full(len(names), CONFIGURATION)
    error[rows] = error_of_each(shared[np.ix_(rows, rows)], mean - log_steps[0, rows], std)
    state = log_steps + PROGRAM * standard("timed.program", draws, seed)[:, None]
    state += error * _columns([f"timed.configuration.{name}" for name in names], draws, seed)
    covariance = shared + np.diag(error**2)
    gain = np.linalg.solve(_of_times(covariance, rows, std), covariance[rows])
    observed = mean + std * _columns([f"timed.{names[row]}" for row in rows], draws, seed)
    given = state + (observed - state[:, rows]) @ gain
    return np.asarray(np.exp(given[0] + birge_ratio(steps_s, timed, measured_s) * (given - given[0])))


def error_of_each(shared: Floats, off: Floats, std: Floats) -> Floats:
    """Standard deviation σ_i of the error e_i of each timed configuration (logarithm), by Student's t.

        σ_i² = (ν σ_0² + E[e_i²]) / (ν + 1),   E[e_i²] = (σ_i² [A r]_i)² + σ_i² − σ_i⁴ A_ii

    with A = (S + diag(σ² + std²))⁻¹.
    σ_0 = CONFIGURATION, with which the first of ROUNDS begins; ν = FREEDOM. More rounds would sharpen it: where half of
    the steps contradict the other half, one half would be taken to be odd by a hair.

    Args:
        shared: S, the covariance of what configurations share (n × n).
        off: r, their mean logarithms less those of the nominal steps.
        std: the standard error of these means.

    Source: expectation and maximisation in turn; Lange, Little and Taylor, J. Am. Stat. Assoc. 84, 881, 1989.
    """
    variance = np.full(len(off), CONFIGURATION**2)
    for _ in range(ROUNDS):
        inverse = np.linalg.inv(shared + np.diag(variance + std**2))
        square = (variance * (inverse @ off)) ** 2 + variance - variance**2 * np.diag(inverse)
        variance = (FREEDOM * CONFIGURATION**2 + square) / (FREEDOM + 1.0)
    return np.asarray(np.sqrt(variance))


def birge_ratio(steps_s: Floats, timed: Sequence[int], measured_s: Sequence[float]) -> float:
    """By how much the uncertainties must grow to explain the timed steps, beyond what chance does: R of

        R² = 1 + max(0, χ² / n − q(n), Σ z² / n − q(ν))

    χ² = rᵀ C⁻¹ r of the n configurations that were timed, as far as they are from the prediction; z_i, r and C of
    :func:`surprise`, as far as each is from what the prediction and the others foretell. The second tells more of steps
    that contradict each other, as the prediction leaves much open of all of them together. q(ν) is the 95 % point of
    χ²/ν for ν degrees of freedom; those of Σ z² are n² / Σ ρ², with the correlations ρ of all z.

    Sources: Birge, 1932, and Particle Data Group (its scale factor), who take R² = χ²/n; degrees of freedom of
    correlated squares: Satterthwaite, Biometrics Bull. 2, 110, 1946.
    """
    if not len(timed):
        return 1.0
    rows, off, inverse = _residuals(steps_s, timed, measured_s)
    count, scale = len(rows), np.sqrt(np.diag(inverse))
    freedom = count**2 / float(((inverse / np.outer(scale, scale)) ** 2).sum())
    beyond_all = float(off @ inverse @ off) / count - _by_chance(count)
    beyond_each = float((_surprises(off, inverse) ** 2).mean()) - _by_chance(freedom)
    return float(np.sqrt(1.0 + max(0.0, beyond_all, beyond_each)))


def _by_chance(freedom: float) -> float:
    """The 95 % point of χ²/ν. Source: Wilson and Hilferty, Proc. Natl. Acad. Sci. 17, 684, 1931."""
    spread = 2.0 / (9.0 * freedom)
    return float((1.0 - spread + Z * np.sqrt(spread)) ** 3)


def surprise(steps_s: Floats, timed: Sequence[int], measured_s: Sequence[float]) -> tuple[Integers, Floats]:
    """The configurations that were timed, and how far each is from what the prediction and the others foretell of it.

    z_i = [C⁻¹ r]_i / √[C⁻¹]_ii, in standard deviations; r: mean logarithms of the times less those of the nominal
    steps, C: their covariance with the spread of repeats, where the error of each is CONFIGURATION. Source: Rasmussen
    and Williams, 2006, eq. 5.10 to 5.12.
    """
    rows, off, inverse = _residuals(steps_s, timed, measured_s)
    return rows, _surprises(off, inverse)


def _surprises(off: Floats, inverse: Floats) -> Floats:
    """z of each timed configuration, from their residuals and the inverse of the covariance of these."""
    return np.asarray(inverse @ off / np.sqrt(np.diag(inverse)))


def _residuals(steps_s: Floats, timed: Sequence[int], measured_s: Sequence[float]) -> tuple[Integers, Floats, Floats]:
    """The configurations that were timed, their mean logarithms less those of the nominal steps, and C⁻¹ of these."""
    rows, mean, std = _repeated(timed, measured_s)
    covariance = _shared_covariance(np.log(steps_s)) + CONFIGURATION**2 * np.eye(steps_s.shape[1])
    inverse = np.linalg.inv(_of_times(covariance, rows, std))
    return rows, np.asarray(mean - np.log(steps_s[0, rows])), np.asarray(inverse)


def _repeated(timed: Sequence[int], measured_s: Sequence[float]) -> tuple[Integers, Floats, Floats]:
    """The configurations that were timed, the mean logarithm of each one's times, and its standard error."""
    logs = np.log(np.asarray(measured_s, dtype=float))
    rows, place, count = np.unique(np.asarray(timed, dtype=int), return_inverse=True, return_counts=True)
    mean = np.bincount(place, logs) / count
    spread = np.sqrt(np.bincount(place, (logs - mean[place]) ** 2) / np.maximum(count - 1, 1))
    return rows, mean, np.maximum(spread, REPEATS) / np.sqrt(count)


def _shared_covariance(log_steps: Floats) -> Floats:
    """The covariance of configurations by what they share: the inputs that are drawn, and the program's error."""
    count = log_steps.shape[1]
    of_draws = np.cov(log_steps[1:], rowvar=False).reshape(count, count) if len(log_steps) > 2 else 0.0
    return np.asarray(of_draws + np.full((count, count), PROGRAM**2))


def _of_times(covariance: Floats, rows: Integers, std: Floats) -> Floats:
    """The covariance of the mean logarithms of timed configurations, with the spread of their repeats."""
    return np.asarray(covariance[np.ix_(rows, rows)] + np.diag(std**2))


def _columns(streams: Sequence[str], draws: int, seed: int) -> Floats:
    """Standard normal samples (1 + draws × streams); 0 at nominal inputs."""
    return np.stack([standard(stream, draws, seed) for stream in streams], axis=1)
