"""What failures of nodes and checkpoints against them make of a run, and how many nodes of a machine count.

Nodes fail independently, at a constant rate; a failure of one node ends the training that runs on it, which starts anew
from its last checkpoint, or from its beginning.

Source: Daly, "A higher order estimate of the optimum checkpoint interval for restart dumps", Future Generation Computer
Systems 22(3), 2006; Young, "A first order approximation to the optimum checkpoint interval", CACM 17(9), 1974.
"""

from __future__ import annotations

import numpy as np

from estimator.core.types import Floats

LARGEST_EXPONENT = 300.0  # of a run that never ends: its time stays a number
ROUNDING = 1e-9  # 0.29 × 100 nodes are 29


def nodes_in_use(all_nodes: Floats, fraction: Floats) -> Floats:
    """Nodes of a machine that run units: floor(all nodes × fraction)."""
    return np.asarray(np.floor(all_nodes * fraction + ROUNDING))


def nodes_of_training(devices_per_training: Floats, devices_per_node: Floats) -> Floats:
    """Nodes that a training takes, and whose failure ends it: ceil(devices per training / devices per node)."""
    return np.asarray(np.ceil(devices_per_training / devices_per_node))


def mean_time_between(mtbf_node_s: Floats, nodes: Floats) -> Floats:
    """Mean time between failures of any of so many nodes [s]: that of one node / nodes."""
    return mtbf_node_s / nodes


def training_time(epoch_s: Floats, epochs: Floats) -> Floats:
    """Time of the steps of a run without failures [s]."""
    return epoch_s * epochs


def best_interval(write_s: Floats, mtbf_s: Floats) -> Floats:
    """Time of training between two checkpoints that loses least [s].

    τ = √(2δM) · (1 + ⅓·√(δ/2M) + ⅑·δ/2M) − δ for δ < 2M, else M; δ: time to write one, M: mean time between failures.

    Source: Daly 2006; its first term is Young's.
    """
    ratio = write_s / (2.0 * mtbf_s)
    higher = np.sqrt(2.0 * write_s * mtbf_s) * (1.0 + np.sqrt(ratio) / 3.0 + ratio / 9.0) - write_s
    return np.asarray(np.where(write_s < 2.0 * mtbf_s, higher, mtbf_s))


def time_with_checkpoints(
    training_s: Floats, load_s: Floats, every_s: Floats, write_s: Floats, mtbf_s: Floats
) -> Floats:
    """Expected time of a run with checkpoints and failures [s]: R + M · e^(R/M) · (e^((τ+δ)/M) − 1) · T/τ.

    T: time of its steps, R: load time, spent at each start, τ: time between checkpoints, δ: time to write one, M: mean
    time between failures. A run that is shorter than τ writes none.

    Source: Daly 2006, the complete cost function.
    """
    between_s, writes_s = np.minimum(every_s, training_s), np.where(training_s > every_s, write_s, 0.0)
    exponent = np.minimum((between_s + writes_s) / mtbf_s, LARGEST_EXPONENT)
    restarts = np.exp(np.minimum(load_s / mtbf_s, LARGEST_EXPONENT))
    return np.asarray(load_s + mtbf_s * restarts * np.expm1(exponent) * training_s / between_s)


def time_without_checkpoints(training_s: Floats, load_s: Floats, mtbf_s: Floats) -> Floats:
    """Expected time of a run that failures send back to its beginning [s]: R + M · e^(R/M) · (e^(T/M) − 1)."""
    return time_with_checkpoints(training_s, load_s, training_s, np.zeros(1), mtbf_s)


def lost_share(time_per_unit_s: Floats, training_s: Floats, load_s: Floats) -> Floats:
    """Share of a run's time that failures and checkpoints take."""
    return 1.0 - (training_s + load_s) / time_per_unit_s
