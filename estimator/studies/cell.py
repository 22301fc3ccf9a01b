"""One unit of work on one machine, as a cell of a study: its estimate and chain, or why there is none."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from estimator.core.errors import UnfitError
from estimator.core.notes import Note
from estimator.core.types import Estimate, Number, Profile, Refusal
from estimator.rollup.campaign import PHASES
from estimator.studies.size import Size, machine_size
from estimator.studies.study import Study
from estimator.studies.unit import estimate_unit, unit_of_campaign
from estimator.studies.unit_chain import derive_chain


@dataclass(frozen=True)
class Cell:
    """The chain of one unit on one machine, with its estimate where it has a profile; or a refusal."""

    chain: Mapping[str, Number] | None = None
    estimate: Estimate | None = None
    refusal: Refusal | None = None


OF_CAMPAIGN = (*PHASES, "counted_per_day")


def _of_campaign(
    study: Study, pair: tuple[str, str], profile: Profile, folder: Path, size: Size
) -> tuple[dict[str, Number], tuple[Note, ...]]:
    """The numbers of a campaign with fewer units than trainings that may share the machine's devices, and a note.

    No more share a device then than there are; a machine that goes on and on has them all. Nothing for other campaigns.
    """
    machine_name, unit_name = pair
    unit = study.units_of_work[unit_name]
    fewer = unit_of_campaign(unit, size)
    if fewer == unit:
        return {}, ()
    alone = study.model_copy(update={"units_of_work": {**study.units_of_work, unit_name: fewer}})
    estimate = estimate_unit(alone, unit_name, study.machines[machine_name], size, profile, folder)
    numbers = derive_chain(alone, pair, estimate, size, " (campaign)")
    each = fewer.trainings_per_device
    text = (
        f"{unit_name}: the campaign's {unit.count} units give each device of {machine_name} at most {each}: its times "
        f"are for {each} training(s) on a device, the units per day for {unit.trainings_per_device}"
    )
    prefixed = {f"campaign.{name}": number for name, number in numbers.items()}
    replaced = {name: numbers[name] for name in OF_CAMPAIGN if name in numbers}
    return prefixed | replaced, (Note("fewer-trainings", text, subject=unit_name),)


def derive_cell(study: Study, pair: tuple[str, str], profile: Profile | None, folder: Path) -> Cell:
    """The cell of (machine, unit). Raises EstimatorError for faults of the study, not for a machine that is unfit."""
    machine_name, unit_name = pair
    machine = study.machines[machine_name]
    size = machine_size(machine, folder)
    try:
        if profile is None:
            return Cell(derive_chain(study, pair, None, size))
        estimate = estimate_unit(study, unit_name, machine, size, profile, folder)
        numbers = derive_chain(study, pair, estimate, size)
        of_campaign, notes = _of_campaign(study, pair, profile, folder, size)
        return Cell(numbers | of_campaign, replace(estimate, notes=(*notes, *estimate.notes)))
    except UnfitError as error:
        return Cell(refusal=Refusal("; ".join(error.faults), error.fits))
