"""Run a study: estimate every unit on every machine, roll up, divide by the baseline (study file → StudyResult)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from estimator.core import files
from estimator.core.errors import within
from estimator.core.types import Chains, Estimate, Number, Profile, Sourced, StudyResult, SystemSpec, pair_id
from estimator.devices import load_system
from estimator.devices.specs.catalogue import DEVICE_FILES, SYSTEM_FILES, find, measurements_paths
from estimator.rollup import chain, presets
from estimator.studies.audit import audit_table
from estimator.studies.audit.document import appendix
from estimator.studies.cell import Cell, derive_cell
from estimator.studies.machine_notes import machine_notes
from estimator.studies.merit import figure_of_merit, machines_without_figure
from estimator.studies.merit_numbers import merit_numbers
from estimator.studies.places import resolve_name
from estimator.studies.published import compare_published
from estimator.studies.study import GIVEN, Study, find_study, read_study, study_of
from estimator.studies.unit import read_unit
from estimator.studies.workflow import campaigns


def run_study(given: str | Path | Mapping[str, Any]) -> StudyResult:
    """Run a study file, a shipped study by its name, or the content of such a file.

    What a study names lies beside its file; where it is given as content, in the working folder.

    Raises EstimatorError with every fault of the study and of the files that it names.
    """
    if isinstance(given, Mapping):
        study = study_of(given)
        return _run(study, Path(GIVEN), {GIVEN: files.sha256_of_text(study.model_dump_json())})
    path = find_study(given)
    return _run(read_study(path), path, {f"study {path.name}": files.sha256(path)})


def _run(study: Study, path: Path, hashes: dict[str, str]) -> StudyResult:
    """Run a study that is read; ``hashes``: its own SHA-256, by its name."""
    folder, profiles = path.parent, _profiles(study, path)
    cells = _cells(study, path, profiles)
    estimates = {pair: cell.estimate for pair, cell in cells.items() if cell.estimate}
    refusals = {pair: cell.refusal for pair, cell in cells.items() if cell.refusal}
    chains = {pair: dict(cell.chain) for pair, cell in cells.items() if cell.chain}
    chains = {pair: _with_ratios(study, pair, chains) for pair in chains}
    without_fom = machines_without_figure(study, refusals)
    compared = [name for name in study.machines if name != study.baseline and name not in without_fom]
    with within(f"{path}"):
        foms = {name: figure_of_merit(study, name, chains) for name in compared}
        comparisons = compare_published(study, folder, profiles, chains, foms, refusals)
        audits = [audit_table(name, table, folder, study.draws, study.seed) for name, table in study.tables.items()]
    systems = _systems(study, folder)
    sizes = dict(_sizes(study, systems))
    audited = [estimate for audit in audits for estimate in audit.estimates.values()]
    audit_profiles = {estimate.profile.workload.name: estimate.profile for estimate in audited}
    all_estimates = [
        *estimates.values(),
        *(comparison.estimate for comparison in comparisons if comparison.estimate),
        *audited,
    ]
    return StudyResult(
        title=study.title,
        description=study.description,
        notes=study.notes,
        baseline=study.baseline,
        definition=str(study.figure_of_merit),
        threshold=study.figure_of_merit.threshold,
        draws=study.draws,
        seed=study.seed,
        pairs=tuple(cells),
        chains=chains,
        foms=foms,
        fom_numbers=merit_numbers(study, foms, chains),
        estimates=estimates,
        comparisons=comparisons,
        refusals=refusals,
        campaigns=campaigns(study, chains),
        without_fom=without_fom,
        appendices=tuple(map(appendix, audits)),
        machine_notes=machine_notes(study, folder, systems, sizes, chains),
        specifications=sizes
        | {name: value for estimate in all_estimates for name, value in estimate.specifications.items()},
        inputs=hashes | _inputs(study, folder, profiles | audit_profiles, all_estimates),
        level=study.figure_of_merit.level,
        preset=presets.describe(study.figure_of_merit.preset) if study.figure_of_merit.preset else None,
    )


def _profiles(study: Study, path: Path) -> dict[str, Profile]:
    """The profiles of the units of a study, by the unit's name; units of one profile and batch share it."""
    profiles, read = {}, dict[tuple[object, object], Profile]()
    for name, unit in study.units_of_work.items():
        if unit.profile:
            shared = (unit.profile, unit.batch_size)
            with within(f"{path}: {name}"):
                profiles[name] = read[shared] if shared in read else read_unit(unit, path.parent)
            read[shared] = profiles[name]
    return profiles


def _cells(study: Study, path: Path, profiles: Mapping[str, Profile]) -> dict[tuple[str, str], Cell]:
    """Each unit on each machine, by (machine, unit).

    Unit after unit, as the work of one profile is kept from machine to machine.
    """
    cells = {}
    for unit in study.units_of_work:
        for machine in study.machines:
            with within(f"{path}: {unit} on {machine}"):
                cells[machine, unit] = derive_cell(study, (machine, unit), profiles.get(unit), path.parent)
    return {(machine, unit): cells[machine, unit] for machine in study.machines for unit in study.units_of_work}


def _with_ratios(study: Study, pair: tuple[str, str], chains: Chains) -> dict[str, Number]:
    numbers, baseline_numbers = chains[pair], chains.get((study.baseline, pair[1]), {})
    prefixed = {f"baseline.{name}": number for name, number in baseline_numbers.items()}
    derived = chain.derive(pair_id(pair), numbers["runs_per_day"].level, numbers | prefixed, chain.RATIOS)
    return {name: number for name, number in derived.items() if name not in prefixed}


def _inputs(study: Study, folder: Path, profiles: dict[str, Profile], estimates: list[Estimate]) -> dict[str, str]:
    """SHA-256 of a study's profiles and systems, the devices estimated on, and what was measured there."""
    hashes = {f"profile of {unit}": profile.sha256 for unit, profile in profiles.items()}
    for system in (machine.system for machine in study.machines.values() if machine.system):
        path = find("system", resolve_name(folder, system), SYSTEM_FILES)
        hashes[f"system {path.stem}"] = files.sha256(path)
    for estimate in estimates:
        name, plan = estimate.target.name, estimate.plan
        hashes[f"device {name}"] = files.sha256(find("device", plan.target, DEVICE_FILES))
        for path in measurements_paths(name, plan.measurements, plan.target):
            framework = path.stem.removeprefix(name) if path.stem.startswith(f"{name}.") else ""
            hashes[f"measurements {name}{framework}"] = files.sha256(path)
    return hashes


def _sizes(study: Study, systems: Mapping[str, SystemSpec]) -> Iterator[tuple[str, Sourced]]:
    """The sizes of the machines that the catalogue's systems give, by ``machine: field``."""
    for name, system in systems.items():
        for field in ("nodes", "devices_per_node"):
            if getattr(study.machines[name], field) is None:
                yield f"{name}: {field}", getattr(system, field)


def _systems(study: Study, folder: Path) -> dict[str, SystemSpec]:
    """The catalogue's systems that machines of a study are, by the machines' names."""
    machines = study.machines.items()
    return {name: load_system(resolve_name(folder, machine.system)) for name, machine in machines if machine.system}
