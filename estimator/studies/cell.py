"""One unit of work on one machine, as a cell of a study: its estimate and chain, or why there is none."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from estimator.core.errors import UnfitError
from estimator.core.types import Estimate, Number, Profile, Refusal
from estimator.rollup.memory import DoesNotFitError
from estimator.studies.size import machine_size
from estimator.studies.study import Study
from estimator.studies.unit import estimate_unit
from estimator.studies.unit_chain import derive_chain


@dataclass(frozen=True)
class Cell:
    """The chain of one unit on one machine, with its estimate where it has a profile; or a refusal."""

    chain: Mapping[str, Number] | None = None
    estimate: Estimate | None = None
    refusal: Refusal | None = None


def derive_cell(study: Study, pair: tuple[str, str], profile: Profile | None, folder: Path) -> Cell:
    """The cell of (machine, unit). Raises EstimatorError for faults of the study, not for a machine that is unfit."""
    machine_name, unit_name = pair
    machine = study.machines[machine_name]
    size = machine_size(machine, folder)
    try:
        estimate = estimate_unit(study, unit_name, machine, profile, folder) if profile else None
        return Cell(derive_chain(study, pair, estimate, size), estimate)
    except UnfitError as error:
        return Cell(refusal=Refusal("; ".join(error.faults), False if isinstance(error, DoesNotFitError) else None))
