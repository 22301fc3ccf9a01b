"""Run → units per day → ratio, in the lecture's own steps (Foster & Stevens, Learning Systems 2018, Lecture 10)."""

from __future__ import annotations

import functools

import numpy as np

from estimator.core.types import Floats

DAY_S = 86400.0


def runs_per_day(time_per_unit_s: Floats) -> Floats:
    """Units that one worker (a device, or a whole node) completes in a day [1/day]: the day ÷ the time per run."""
    return DAY_S / time_per_unit_s


def runs_per_day_per_node(runs_per_day: Floats, workers_per_node: Floats, efficiency: Floats | float = 1.0) -> Floats:
    """Units per day of a node whose workers run separate units [1/day]: units per day of one worker × workers.

    ``efficiency``: the share of the rate that each has alone which workers keep while the whole machine works.
    """
    return runs_per_day * workers_per_node * efficiency


def trainings_at_once(nodes: Floats, devices_per_node: Floats, devices_per_training: Floats) -> Floats:
    """Trainings that a machine runs at once, as their steps are timed; the rest is idle.

    Trainings that fit in a node do not straddle nodes: nodes · floor(devices per node / devices per training). A larger
    one has its nodes for itself: floor(nodes / ceil(devices per training / devices per node)).
    """
    in_nodes = nodes * np.floor(devices_per_node / devices_per_training)
    of_nodes = np.floor(nodes / np.ceil(devices_per_training / devices_per_node))
    return np.where(devices_per_training <= devices_per_node, in_nodes, of_nodes)


def units_per_node(runs_at_once: Floats, nodes: Floats) -> Floats:
    """Units that a node runs at once, of those of a whole machine; less than 1 where one takes several nodes."""
    return runs_at_once / nodes


def units_on_nodes(nodes: Floats, nodes_per_unit: Floats) -> Floats:
    """Units of several nodes each that a machine runs at once: floor(nodes / nodes of one unit)."""
    return np.asarray(np.floor(nodes / nodes_per_unit))


def units_at_once(nodes: Floats, workers_per_node: Floats) -> Floats:
    """Units that a machine runs at once: floor(nodes × workers per node), as none begins without all of its nodes."""
    return np.asarray(np.floor(np.round(nodes * workers_per_node, 9)))  # a node's share of 1/60 is not exact


def waves(count: Floats, runs_at_once: Floats) -> Floats:
    """Times that a machine is filled to run so many units: ceil(count / units at once)."""
    return np.asarray(np.ceil(count / runs_at_once))


def phase_time(times: Floats, time_per_unit_s: Floats, *shares: Floats) -> Floats:
    """Time of many like units [s]: so many times that of one, over each share: of the time that the machine is up, and
    of their rate that units keep when the whole machine runs such units.
    """
    return functools.reduce(np.divide, shares, times * time_per_unit_s)


def of_all(count: Floats, each: Floats) -> Floats:
    """What so many units take together, of energy or money."""
    return count * each


def units_per_day(runs_per_day_per_node: Floats, nodes: Floats, availability: Floats | float = 1.0) -> Floats:
    """Units per day of the whole machine [1/day]: those of a node × nodes × the share of the time that it is up."""
    return runs_per_day_per_node * nodes * availability


def linear_units_per_day(units_per_day: Floats, nodes: Floats, nodes_per_unit: Floats) -> Floats:
    """Units per day were no node idle, as a part of a unit counted too [1/day]."""
    return units_per_day * nodes / nodes_per_unit / units_on_nodes(nodes, nodes_per_unit)


def ratio(rate: Floats, baseline_rate: Floats) -> Floats:
    """A rate / the baseline's rate."""
    return rate / baseline_rate
