"""Campaigns of a study: what a workflow of counted units takes on each machine."""

from __future__ import annotations

from collections.abc import Mapping

from estimator.core.types import Chains, Number, pair_id
from estimator.rollup import chain
from estimator.rollup.campaign import PHASES, campaign_links
from estimator.studies.study import Study


def campaigns(study: Study, chains: Chains) -> dict[str, dict[str, Number]]:
    """The numbers of a campaign on every machine that can run all of its units; none where no unit has a count."""
    units = [name for name, unit in study.units_of_work.items() if unit.count is not None]
    able = [name for name in study.machines if units and all((name, unit) in chains for unit in units)]
    baseline = _campaign(study.baseline, units, chains, {}) if study.baseline in able else {}
    return {name: _campaign(name, units, chains, baseline) for name in able}


def _campaign(machine: str, units: list[str], chains: Chains, baseline: Mapping[str, Number]) -> dict[str, Number]:
    """What follows from the phases of one machine's units, and from the baseline's campaign where it has one."""
    phases = {
        f"{unit}.{name}": chains[machine, unit][name]
        for unit in units
        for name in PHASES
        if name in chains[machine, unit]
    }
    given = phases | {f"baseline.{name}": number for name, number in baseline.items()}
    numbers = chain.derive(pair_id((machine,)), "system", given, campaign_links(units))
    return {name: number for name, number in numbers.items() if name not in given}
