"""The figure of merit of a machine, as the study defines it, from the chains of its units of work."""

from __future__ import annotations

import numpy as np

from estimator.core.types import Chains, FigureOfMerit, Floats, Number
from estimator.rollup import fom
from estimator.studies.study import Study


def _rates(study: Study, machine: str, chains: Chains) -> Floats:
    """Units per day of one machine (units × samples)."""
    rates = (chains[machine, unit]["units_per_day"].samples for unit in study.units_of_work)
    return np.stack(np.broadcast_arrays(*rates))


def figure_of_merit(study: Study, name: str, chains: Chains) -> FigureOfMerit:
    """The figure of merit of one machine over the baseline, as the study defines it."""
    definition, weights = study.figure_of_merit, np.array([u.weight for u in study.units_of_work.values()])
    rates, baseline = np.broadcast_arrays(_rates(study, name, chains), _rates(study, study.baseline, chains))
    samples = fom.figure_of_merit(rates, baseline, weights, definition)
    return FigureOfMerit(
        target=name,
        samples=samples,
        p_threshold=fom.share_above(samples, definition.threshold),
        dominant_unit=list(study.units_of_work)[fom.dominant_unit(rates, baseline, weights, definition)],
        other_definitions=fom.all_definitions(rates, baseline, weights),
    )


def fom_number(study: Study, found: FigureOfMerit, chains: Chains) -> Number:
    """The figure of merit with its derivation."""
    machines = found.target, study.baseline
    inputs = [chains[machine, unit]["units_per_day"].id for machine in machines for unit in study.units_of_work]
    formula = str(study.figure_of_merit)
    return Number(f"{found.target}/fom", "figure of merit", found.samples, "1", "system", formula, tuple(inputs))
