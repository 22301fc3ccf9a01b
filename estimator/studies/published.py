"""Compare published figures with ours; where they differ, with a stated reason."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np

from estimator.core import units
from estimator.core.errors import EstimatorError, suggestion
from estimator.core.types import Chains, Comparison, Estimate, FigureOfMerit, Number, Profile
from estimator.studies.merit import figure_of_merit, rate_name
from estimator.studies.merit_numbers import fom_number
from estimator.studies.size import machine_size
from estimator.studies.study import Machine, Published, Study
from estimator.studies.unit import estimate_unit
from estimator.studies.unit_chain import derive_chain


def compare_published(
    study: Study,
    folder: Path,
    profiles: Mapping[str, Profile],
    chains: Chains,
    foms: Mapping[str, FigureOfMerit],
    unfit: Collection[tuple[str, str]],
) -> tuple[Comparison, ...]:
    """Compare every published figure of a study with ours, except those that unfit (machine, unit) leave without.

    Raises EstimatorError for an unknown quantity.
    """
    unfit_machines = {machine for machine, _ in unfit}
    without_fom = set(study.machines) if study.baseline in unfit_machines else unfit_machines
    compared: list[Comparison] = []
    for figure in study.published:
        if figure.quantity == "fom" and figure.machine not in without_fom:
            compared.append(_compare_fom(study, figure, chains, foms))
        elif figure.quantity != "fom" and (figure.machine, figure.unit) not in unfit:
            compared.append(_compare_quantity(study, figure, folder, profiles, chains))
    return tuple(compared)


def _compare_fom(study: Study, figure: Published, chains: Chains, foms: Mapping[str, FigureOfMerit]) -> Comparison:
    machine = str(figure.machine)
    if machine not in foms:
        raise EstimatorError(f"published fom: '{machine}' has none; the machines that do are {', '.join(foms)}")
    return Comparison(
        quantity="figure of merit",
        unit=None,
        on=machine,
        printed=_printed(figure, "1"),
        ours=fom_number(study, foms[machine], chains),
        source=figure.source,
        reason=figure.reason,
        with_their_rates=_fom_with_their_rates(study, figure, chains) if figure.units_per_day else None,
    )


def _fom_with_their_rates(study: Study, figure: Published, exact_chains: Chains) -> float:
    """The figure of merit by the source's own rates, of the level of the figure, in place of the exact ones."""
    chains = dict(exact_chains)
    for machine, rates in figure.units_per_day.items():
        for unit, rate in rates.items():
            if (machine, unit) not in chains:
                raise EstimatorError(f"published fom: there is no unit '{unit}' on a machine '{machine}' in this study")
            numbers = chains[machine, unit]
            name = rate_name(numbers, study.figure_of_merit)
            chains[machine, unit] = {**numbers, name: replace(numbers[name], samples=np.array([float(rate)]))}
    return float(figure_of_merit(study, str(figure.machine), chains).samples[0])


def _compare_quantity(
    study: Study, figure: Published, folder: Path, profiles: Mapping[str, Profile], chains: Chains
) -> Comparison:
    numbers, estimate = _numbers(study, figure, folder, profiles, chains)
    if figure.quantity not in numbers:
        hint = suggestion(figure.quantity, numbers.keys())
        raise EstimatorError(f"published: unknown quantity '{figure.quantity}'.{hint}")
    ours = numbers[figure.quantity]
    printed = _printed(figure, "s" if ours.unit == "s" else "1")
    steps = numbers.get("steps_per_epoch")
    return Comparison(
        quantity=ours.label,
        unit=figure.unit,
        on=figure.device or str(figure.machine),
        printed=printed,
        ours=ours,
        source=figure.source,
        reason=figure.reason,
        implied_step_s=printed / float(steps.samples[0]) if steps and figure.quantity == "epoch_s" else None,
        estimate=estimate,
        numbers=tuple(numbers.values()) if estimate else (),
    )


def _numbers(
    study: Study, figure: Published, folder: Path, profiles: Mapping[str, Profile], chains: Chains
) -> tuple[dict[str, Number], Estimate | None]:
    """The chain that a published figure belongs to; estimated for a device that is no machine of the study."""
    unit = str(figure.unit)
    if figure.device is None:
        return chains[str(figure.machine), unit], None
    machine = Machine(device=figure.device, nodes=1)
    size = machine_size(machine, folder)
    estimate = estimate_unit(study, unit, machine, size, profiles[unit], folder)
    return derive_chain(study, (figure.device, unit), estimate, size), estimate


def _printed(figure: Published, unit: str) -> float:
    try:
        return units.parse(units.without_thousands(str(figure.printed)), unit)
    except ValueError as error:
        raise EstimatorError(f"published {figure.quantity}: printed {error}") from None
