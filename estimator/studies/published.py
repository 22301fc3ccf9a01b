"""Figures that somebody printed, beside ours: reproduced, or different for a stated reason."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np

from estimator.core import units
from estimator.core.errors import EstimatorError, suggestion
from estimator.core.types import Chains, Comparison, Estimate, FigureOfMerit, Number
from estimator.studies.merit import figure_of_merit, fom_number
from estimator.studies.study import Machine, Published, Study
from estimator.studies.unit import derive_chain, estimate_unit, machine_size, read_unit


def compare_published(
    study: Study, folder: Path, chains: Chains, foms: Mapping[str, FigureOfMerit]
) -> tuple[Comparison, ...]:
    """Every published figure of a study beside ours. Raises EstimatorError for a quantity that is not computed."""
    return tuple(
        _fom(study, entry, chains, foms) if entry.quantity == "fom" else _quantity(study, entry, folder, chains)
        for entry in study.published
    )


def _fom(study: Study, entry: Published, chains: Chains, foms: Mapping[str, FigureOfMerit]) -> Comparison:
    name = str(entry.machine)
    if name not in foms:
        raise EstimatorError(f"published fom: '{name}' has none; the machines that do are {', '.join(foms)}")
    return Comparison(
        quantity="figure of merit",
        unit=None,
        on=name,
        printed=_printed(entry, "1"),
        ours=fom_number(study, foms[name], chains),
        source=entry.source,
        reason=entry.reason,
        with_their_rates=_fom_with_their_rates(study, entry, chains) if entry.units_per_day else None,
    )


def _fom_with_their_rates(study: Study, entry: Published, exact: Chains) -> float:
    """The figure of merit that follows from the rates that the source used in place of the exact ones."""
    chains = dict(exact)
    for machine, rates in entry.units_per_day.items():
        for unit, rate in rates.items():
            if (machine, unit) not in chains:
                raise EstimatorError(f"published fom: there is no unit '{unit}' on a machine '{machine}' in this study")
            numbers = chains[machine, unit]
            rated = replace(numbers["units_per_day"], samples=np.array([float(rate)]))
            chains[machine, unit] = {**numbers, "units_per_day": rated}
    return float(figure_of_merit(study, str(entry.machine), chains).samples[0])


def _quantity(study: Study, entry: Published, folder: Path, chains: Chains) -> Comparison:
    numbers, found = _numbers(study, entry, folder, chains)
    if entry.quantity not in numbers:
        hint = suggestion(entry.quantity, numbers.keys())
        raise EstimatorError(f"published: unknown quantity '{entry.quantity}'.{hint}")
    ours = numbers[entry.quantity]
    printed = _printed(entry, "s" if ours.unit == "s" else "1")
    steps = numbers.get("steps_per_epoch")
    return Comparison(
        quantity=ours.label,
        unit=entry.unit,
        on=entry.device or str(entry.machine),
        printed=printed,
        ours=ours,
        source=entry.source,
        reason=entry.reason,
        implied_step_s=printed / float(steps.samples[0]) if steps and entry.quantity == "epoch_s" else None,
        estimate=found,
        numbers=tuple(numbers.values()) if found else (),
    )


def _numbers(study: Study, entry: Published, folder: Path, chains: Chains) -> tuple[dict[str, Number], Estimate | None]:
    """The chain that a published figure belongs to; on a device that is no machine here, it is estimated."""
    unit = str(entry.unit)
    if entry.device is None:
        return chains[str(entry.machine), unit], None
    machine = Machine(device=entry.device, nodes=1)
    found = estimate_unit(study, unit, machine, read_unit(study.units_of_work[unit], folder), folder)
    return derive_chain(study, (entry.device, unit), found, machine_size(machine, folder)), found


def _printed(entry: Published, unit: str) -> float:
    try:
        return units.parse(entry.printed, unit)
    except ValueError as error:
        raise EstimatorError(f"published {entry.quantity}: printed {error}") from None
