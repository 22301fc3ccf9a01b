"""Run → units per day → ratio, in the lecture's own steps (Foster & Stevens, Learning Systems 2018, Lecture 10)."""

from __future__ import annotations

from estimator.core.types import Floats

DAY_S = 86400.0


def runs_per_day(time_per_unit_s: Floats) -> Floats:
    """Units that one worker (a device, or a whole node) completes in a day [1/day]: the day ÷ the time per run."""
    return DAY_S / time_per_unit_s


def extrapolated_runs_per_day(time_per_unit_s: Floats, efficiency: Floats) -> Floats:
    """Units per day of one worker where the whole machine works [1/day]: the day ÷ its time alone × the efficiency."""
    return DAY_S / time_per_unit_s * efficiency


def runs_per_day_per_node(runs_per_day: Floats, workers_per_node: Floats) -> Floats:
    """Units per day of a node whose workers run separate units [1/day]: units per day of one worker × workers."""
    return runs_per_day * workers_per_node


def units_per_day(runs_per_day_per_node: Floats, nodes: Floats) -> Floats:
    """Units per day of the whole machine [1/day]: runs per day per node × nodes."""
    return runs_per_day_per_node * nodes


def ratio(rate: Floats, baseline_rate: Floats) -> Floats:
    """A rate / the baseline's rate."""
    return rate / baseline_rate
