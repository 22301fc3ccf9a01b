"""Several trainings that share one device.

Fused into one program, they make one step together (``work/training_array.py``). In turn, each uses the time in which
the others leave the device idle.

A training alone keeps the device busy for a part of its step; the rest is host, launches and input. N of them are a
closed system of N customers with one server of demand D (busy) and think time Z (the rest), whose cycle is

    max(N·D, D + Z)  ≤  t  ≤  N·D + Z

Source: Lazowska, Zahorjan, Graham & Sevcik, Quantitative System Performance, 1984, chapter 5, asymptotic bounds.
"""

from __future__ import annotations

import numpy as np

from estimator.core.types import Floats


def busy_time(compute_s: Floats, memory_s: Floats, unmodelled_s: Floats) -> Floats:
    """Time of a step in which the device runs ops [s]: no other training can run then."""
    return compute_s + memory_s + unmodelled_s


def shared_step(alone_s: Floats, busy_s: Floats, trainings: Floats, gaps_left: Floats) -> Floats:
    """Time of a step of each of N trainings [s]: max(N·busy, alone) + gaps left · (longest − that).

    Args:
        alone_s: step of a training by itself [s].
        busy_s: time of it in which the device is busy [s].
        trainings: N.
        gaps_left: from 0, where trainings fill each other's gaps as far as possible, to 1, where each waits for all
            others: N·busy + (alone − busy).
    """
    shortest, longest = np.maximum(trainings * busy_s, alone_s), alone_s + (trainings - 1.0) * busy_s
    return np.asarray(shortest + gaps_left * (longest - shortest))


def shared_forward(forward_alone_s: Floats, step_s: Floats, alone_s: Floats) -> Floats:
    """Time of a forward pass beside other trainings [s]: as much longer as a step is."""
    return forward_alone_s * step_s / alone_s


def workers(devices_per_node: Floats, trainings: Floats) -> Floats:
    """Trainings that run on a node at once."""
    return devices_per_node * trainings


def share_of_power(power_alone_w: Floats, idle_w: Floats, alone_s: Floats, step_s: Floats, trainings: Floats) -> Floats:
    """One training's share of the power of its device [W]: (alone − idle) · alone_s / step_s + idle / N.

    What a step takes beyond idle power is the same energy as alone, over a longer time.
    """
    return np.asarray((power_alone_w - idle_w) * alone_s / step_s + idle_w / trainings)


def equal_share(power_w: Floats, trainings: Floats) -> Floats:
    """One training's share of the power of its device [W], where it is idle, or runs all trainings as one program."""
    return power_w / trainings
