"""Predicted steps conditioned on timed ones: what some steps of a machine tell about its others.

The logarithms of steps are taken to be jointly normal, about those of the nominal steps. Their covariance is that of
their draws, as steps that share an uncertain input (host, links, kernels) are wrong together, and that of two errors
which no draw holds: one of the whole program, and one of each configuration.

    state  x_i = log t_i + p + e_i                      p ~ N(0, PROGRAM²), e_i ~ N(0, CONFIGURATION²)
    gain   K = cov(x, x_T) (cov(x_T, x_T) + REPEATS² I)⁻¹     T: the configurations that were timed
    given  x + K (log y + ε − x_T)                      y: the timed steps, ε ~ N(0, REPEATS²); 0 at nominal inputs

Sources: Rasmussen and Williams, Gaussian Processes for Machine Learning, 2006, eq. 2.22 to 2.24; draw by draw: Evensen,
Data Assimilation, 2009, ch. 4 (Matheron's rule); the errors: Kennedy and O'Hagan, J. R. Statist. Soc. B 63, 2001.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from estimator.core.interval import standard
from estimator.core.types import Floats

# Standard deviations of logarithms. The first two by published steps that are predicted from one timed step (MLPerf
# between scales: ResNet-50, BERT) or ten (three tables of language models), without their device's family, each set
# with equal weight. Their likelihood rises with PROGRAM up to 1 and is flat beyond; it is highest for CONFIGURATION
# 0.10, and 0.11 is the least at which 85 % of the 90 % intervals hold in each set.
PROGRAM = 1.0
CONFIGURATION = 0.11
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
    draws, rows, measured = len(steps_s) - 1, np.asarray(timed, dtype=int), np.log(np.asarray(measured_s, float))
    log_steps = np.log(steps_s)
    state = log_steps + PROGRAM * standard("timed.program", draws, seed)[:, None]
    state += CONFIGURATION * _columns([f"timed.configuration.{name}" for name in names], draws, seed)
    covariance = _covariance(log_steps)
    gain = np.linalg.solve(covariance[np.ix_(rows, rows)] + REPEATS**2 * np.eye(len(rows)), covariance[rows])
    again = [f"timed.{names[row]}.{measured_s[place]!r}" for place, row in enumerate(rows)]
    observed = measured + REPEATS * _columns(again, draws, seed)
    return np.asarray(np.exp(state + (observed - state[:, rows]) @ gain))


def _covariance(log_steps: Floats) -> Floats:
    """The covariance of configurations: of their draws, and of the errors that no draw holds."""
    count = log_steps.shape[1]
    of_draws = np.cov(log_steps[1:], rowvar=False).reshape(count, count) if len(log_steps) > 2 else 0.0
    return np.asarray(of_draws + PROGRAM**2 + CONFIGURATION**2 * np.eye(count))


def _columns(streams: Sequence[str], draws: int, seed: int) -> Floats:
    """Standard normal samples (1 + draws × streams); 0 at nominal inputs."""
    return np.stack([standard(stream, draws, seed) for stream in streams], axis=1)
