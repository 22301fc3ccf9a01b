"""A workflow of several phases: many units of each kind, one kind after another, such as search, training, inference.

A phase waits for the last stop of the one before it. Its units have the same work; their devices differ in speed. They
run in waves of as many as the machine runs at once; the last wave may leave a part of it idle.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from estimator.core.types import Floats
from estimator.rollup.chain import Link
from estimator.rollup.throughput import DAY_S, ratio


def sum_of_phases(*phases: Floats) -> Floats:
    """What all phases in turn take, of time, energy or money."""
    return np.asarray(sum(phases))


def campaigns_per_day(campaign_s: Floats) -> Floats:
    """Campaigns that a machine completes in a day, one after another [1/day]."""
    return DAY_S / campaign_s


def campaign_links(units: Sequence[str]) -> tuple[Link, ...]:
    """The links from the phases of these units, named ``UNIT.phase_s`` and so on, to those of the campaign."""
    times, energies, prices = (tuple(f"{unit}.{name}" for unit in units) for name in PHASES)
    return (
        Link("campaign_s", "time of a campaign", "s", "system", "sum of its phases", sum_of_phases, times),
        Link("campaigns_per_day", "campaigns per day", "1/day", "system", "1 day / time of a campaign",
             campaigns_per_day, ("campaign_s",)),
        Link("campaign_energy_kwh", "energy of a campaign", "kWh", "system", "sum of its phases",
             sum_of_phases, energies),
        Link("campaign_usd", "price of a campaign", "USD", "system", "sum of its phases", sum_of_phases, prices),
        Link("campaign_ratio", "campaigns per day over the baseline's", "1", "system",
             "campaigns per day / the baseline's", ratio, ("campaigns_per_day", "baseline.campaigns_per_day")),
    )  # fmt: skip


PHASES = "phase_s", "phase_energy_kwh", "phase_usd"
