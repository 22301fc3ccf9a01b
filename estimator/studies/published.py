"""Figures that somebody printed, beside ours: reproduced, or different for a stated reason."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from estimator.core import units
from estimator.core.errors import EstimatorError, suggestion
from estimator.core.types import Number
from estimator.studies.run import (
    StudyResult,
    derive_chain,
    estimate_unit,
    figure_of_merit,
    fom_number,
    read_unit,
)
from estimator.studies.study import Machine, Published


@dataclass(frozen=True)
class Comparison:
    """A printed figure [SI] beside ours, and what ours becomes with the rates that the source used."""

    entry: Published
    on: str
    printed: float
    ours: Number
    with_their_rates: float | None = None
    implied_step_s: float | None = None  # the step time that a printed time per epoch implies


def compare_published(result: StudyResult) -> tuple[Comparison, ...]:
    """Every published figure of a study beside ours. Raises EstimatorError for a quantity that is not computed."""
    return tuple(_fom(result, e) if e.quantity == "fom" else _quantity(result, e) for e in result.study.published)


def _fom(result: StudyResult, entry: Published) -> Comparison:
    name = str(entry.machine)
    if name not in result.foms:
        raise EstimatorError(f"published fom: '{name}' has none; the machines that do are {', '.join(result.foms)}")
    theirs = _fom_with_their_rates(result, entry) if entry.units_per_day else None
    return Comparison(entry, name, _printed(entry, "1"), fom_number(result, name), theirs)


def _fom_with_their_rates(result: StudyResult, entry: Published) -> float:
    """The figure of merit that follows from the rates that the source used in place of the exact ones."""
    chains = dict(result.chains)
    for machine, rates in entry.units_per_day.items():
        for unit, rate in rates.items():
            if (machine, unit) not in chains:
                raise EstimatorError(f"published fom: there is no unit '{unit}' on a machine '{machine}' in this study")
            exact = chains[machine, unit]
            rated = replace(exact["units_per_day"], samples=np.array([float(rate)]))
            chains[machine, unit] = {**exact, "units_per_day": rated}
    return float(figure_of_merit(result.study, str(entry.machine), chains).samples[0])


def _quantity(result: StudyResult, entry: Published) -> Comparison:
    numbers = _numbers(result, entry)
    if entry.quantity not in numbers:
        raise EstimatorError(
            f"published: unknown quantity '{entry.quantity}'.{suggestion(entry.quantity, numbers.keys())}"
        )
    ours = numbers[entry.quantity]
    printed = _printed(entry, "s" if ours.unit == "s" else "1")
    steps = numbers.get("steps_per_epoch")
    implied = printed / float(steps.samples[0]) if steps and entry.quantity == "epoch_s" else None
    return Comparison(entry, entry.device or str(entry.machine), printed, ours, implied_step_s=implied)


def _numbers(result: StudyResult, entry: Published) -> dict[str, Number]:
    """The chain that a published figure belongs to; on a device that is no machine here, it is estimated."""
    unit, folder = str(entry.unit), result.path.parent
    if entry.device is None:
        return result.chains[str(entry.machine), unit]
    machine = Machine(device=entry.device, nodes=1)
    profile = read_unit(result.study.units_of_work[unit], folder)
    found = estimate_unit(result.study, unit, machine, profile, folder)
    return derive_chain(result.study, (entry.device, unit), machine, found)


def _printed(entry: Published, unit: str) -> float:
    try:
        return units.parse(entry.printed, unit)
    except ValueError as error:
        raise EstimatorError(f"published {entry.quantity}: printed {error}") from None
