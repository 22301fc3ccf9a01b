"""Run a study: estimate every unit on every machine, roll up, divide by the baseline (Study → StudyResult)."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from estimator.core import files
from estimator.core.errors import EstimatorError
from estimator.core.types import Estimate, FigureOfMerit, Floats, Number, Profile, RunPlan
from estimator.devices import load_system
from estimator.pipeline import estimate
from estimator.profiles import read_profile
from estimator.rollup import chain, fom
from estimator.studies.study import Machine, Study, UnitOfWork, read_study

Chains = dict[tuple[str, str], dict[str, Number]]  # (machine, unit) → the numbers of its chain by name


@dataclass(frozen=True)
class StudyResult:
    """Everything a report needs: each number with its derivation, each estimate, each figure of merit."""

    study: Study
    path: Path
    chains: Chains
    foms: dict[str, FigureOfMerit]
    estimates: dict[tuple[str, str], Estimate]
    inputs: dict[str, str]  # SHA-256 by a name that does not depend on where the file lies

    def numbers(self) -> dict[str, Number]:
        """Every number by its id."""
        found = [number for numbers in self.chains.values() for number in numbers.values()]
        return {number.id: number for number in (*found, *(fom_number(self, name) for name in self.foms))}


def run_study(path: str | Path) -> StudyResult:
    """Read a study file and answer it. Raises EstimatorError with every fault of the file, or of what it names."""
    path = Path(path)
    study = read_study(path)
    profiles = {u: read_unit(unit, path.parent) for u, unit in study.units_of_work.items() if unit.profile}
    pairs = [(m, u) for m in study.machines for u in study.units_of_work]
    estimates = {
        (m, u): estimate_unit(study, u, study.machines[m], profiles[u], path.parent) for m, u in pairs if u in profiles
    }
    chains = {pair: derive_chain(study, pair, study.machines[pair[0]], estimates.get(pair)) for pair in pairs}
    chains = {pair: _with_ratios(study, pair, chains) for pair in pairs}
    targets = [name for name in study.machines if name != study.baseline]
    foms = {name: figure_of_merit(study, name, chains) for name in targets}
    inputs = {path.name: files.sha256(path)} | {f"profile {p.workload.name}": p.sha256 for p in profiles.values()}
    return StudyResult(study, path, chains, foms, estimates, inputs)


def read_unit(unit: UnitOfWork, folder: Path) -> Profile:
    """The profile of a unit of work, at the batch size the study asks for. Raises EstimatorError where they differ."""
    name = beside(folder, str(unit.profile))
    profile = read_profile(name)
    profiled = profile.workload.batch_size
    if unit.batch_size and profiled and unit.batch_size != profiled:
        raise EstimatorError(
            f"{unit.profile}: the profile was taken at batch {profiled}, the study asks for {unit.batch_size}; "
            "profile the run at the batch you want to know"
        )
    return read_profile(name, batch=unit.batch_size) if profiled is None and unit.batch_size else profile


def estimate_unit(study: Study, unit_name: str, machine: Machine, profile: Profile, folder: Path) -> Estimate:
    """One step of a unit of work on one device of a machine."""
    device = load_system(beside(folder, machine.system)).device if machine.system else str(machine.device)
    plan = RunPlan(
        target=beside(folder, device),
        precision=study.units_of_work[unit_name].precision,
        measurements=beside(folder, machine.measurements) if machine.measurements else None,
        draws=study.draws,
        seed=study.seed,
    )
    return estimate(profile, plan)


def beside(folder: Path, name: str) -> str:
    """A path relative to the study's folder where such a file is there; else the name as it stands."""
    return str(folder / name) if (folder / name).exists() else name


def derive_chain(study: Study, pair: tuple[str, str], machine: Machine, found: Estimate | None) -> dict[str, Number]:
    """The chain of one unit on one machine, from what is given to units per day."""
    machine_name, unit_name = pair
    unit, prefix = study.units_of_work[unit_name], f"{machine_name}/{unit_name}"
    nodes, per_node, source = _size(machine)
    numbers: dict[str, Number] = {}

    def give(name: str, label: str, value: float | Floats, unit: str, level: str, source: str) -> None:
        numbers[name] = chain.given(f"{prefix}/{name}", label, value, unit, level, source)

    give("nodes", f"{machine.node_name}s", nodes, "1", "system", source)
    if found is None:
        times = unit.time_per_unit or {}
        give("workers_per_node", "workers per node", 1, "1", "node", "the time given is that of a whole node")
        give("time_per_unit_s", "time per unit", times[machine_name], "s", "node", "study file")
        return chain.derive(prefix, "node", numbers)

    workload = found.profile.workload.model_copy(update=unit.model_dump(exclude_none=True, include=OF_THE_RUN))
    if workload.samples is None or workload.batch_size is None:
        raise EstimatorError(f"{unit.profile}: 'samples' and 'batch_size' are not known; add them to '{unit_name}'")
    give("workers_per_node", "devices per node", per_node, "1", "node", source)
    give("step_s", "step time", found.step.total, "s", "device", f"estimate on {found.target.name}")
    give("samples", "samples", workload.samples, "1", "device", _origin(unit, "samples"))
    give("batch_size", "batch size", workload.batch_size, "1", "device", _origin(unit, "batch_size"))
    give("epochs", "epochs", workload.epochs or 1, "1", "device", _origin(unit, "epochs"))
    give("load_s", "load time", unit.load_time or 0.0, "s", "device", "study file" if unit.load_time else "not counted")
    ceiled = workload.steps_rounding == "ceil"
    return chain.derive(prefix, "device", numbers, (chain.CEILED, *chain.CHAIN) if ceiled else chain.CHAIN)


OF_THE_RUN = {"samples", "batch_size", "epochs", "steps_rounding"}


def _origin(unit: UnitOfWork, name: str) -> str:
    return "study file" if getattr(unit, name) is not None else "workload file of the profile"


def _size(machine: Machine) -> tuple[int, int, str]:
    """Nodes, devices per node, and where the counts come from."""
    if machine.system is None:
        return machine.nodes or 1, machine.devices_per_node or 1, "study file"
    system = load_system(machine.system)
    nodes, per_node = int(system.nodes.value), int(system.devices_per_node.value)
    return machine.nodes or nodes, machine.devices_per_node or per_node, f"system {system.name}"


def _with_ratios(study: Study, pair: tuple[str, str], chains: Chains) -> dict[str, Number]:
    own, base = chains[pair], chains[study.baseline, pair[1]]
    baseline = {f"baseline.{name}": number for name, number in base.items()}
    found = chain.derive("/".join(pair), own["runs_per_day"].level, own | baseline, chain.RATIOS)
    return {name: number for name, number in found.items() if name not in baseline}


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


def fom_number(result: StudyResult, name: str) -> Number:
    """The figure of merit with its derivation."""
    study = result.study
    inputs = [result.chains[m, u]["units_per_day"].id for m in (name, study.baseline) for u in study.units_of_work]
    formula = str(study.figure_of_merit)
    return Number(f"{name}/fom", "figure of merit", result.foms[name].samples, "1", "system", formula, tuple(inputs))
