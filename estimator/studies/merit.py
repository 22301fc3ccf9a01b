"""Figures of merit, as a study defines them, from the chains of its units of work."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from estimator.core.types import Chains, FigureOfMerit, Floats, Number, Refusal
from estimator.rollup import chain, fom
from estimator.studies.study import Study


def _rates(study: Study, machine: str, chains: Chains) -> Floats:
    """Units per day of one machine (units × samples)."""
    rates = (chains[machine, unit]["units_per_day"].samples for unit in study.units_of_work)
    return np.stack(np.broadcast_arrays(*rates))


def figure_of_merit(study: Study, machine: str, chains: Chains) -> FigureOfMerit:
    """The figure of merit of one machine over the baseline, as the study defines it."""
    definition, weights = study.figure_of_merit, np.array([unit.weight for unit in study.units_of_work.values()])
    rates, baseline = np.broadcast_arrays(_rates(study, machine, chains), _rates(study, study.baseline, chains))
    samples = fom.figure_of_merit(rates, baseline, weights, definition)
    return FigureOfMerit(
        target=machine,
        samples=samples,
        p_threshold=fom.share_above(samples, definition.threshold),
        dominant_unit=list(study.units_of_work)[fom.dominant_unit(rates, baseline, weights, definition)],
        other_definitions=fom.all_definitions(rates, baseline, weights),
    )


def machines_without_figure(study: Study, refusals: Mapping[tuple[str, str], Refusal]) -> dict[str, str]:
    """The machines without a figure of merit, and why: it is never that of the units that are left."""
    reasons: dict[str, str] = {}
    for machine in study.machines:
        sides = [(side, unit) for side in (machine, study.baseline) for unit in study.units_of_work]
        refused = [f"{unit} on {side}: {refusals[side, unit].why}" for side, unit in sides if (side, unit) in refusals]
        if machine != study.baseline and refused:
            reasons[machine] = "; ".join(refused)
    return reasons


def fom_number(study: Study, merit: FigureOfMerit, chains: Chains) -> Number:
    """The figure of merit with its derivation."""
    machines, units = (merit.target, study.baseline), study.units_of_work
    inputs = [chains[machine, unit]["units_per_day"].id for machine in machines for unit in units]
    weights = list(weight_numbers(study))
    formula = str(study.figure_of_merit)
    samples = merit.samples
    return Number(f"{merit.target}/fom", "figure of merit", samples, "1", "system", formula, (*inputs, *weights))


def weight_numbers(study: Study) -> dict[str, Number]:
    """The weight of each unit of work, by id."""
    numbers = (
        chain.given(f"weights/{name}", f"weight of {name}", unit.weight, "1", "study", "study file, else 1")
        for name, unit in study.units_of_work.items()
    )
    return {number.id: number for number in numbers}
