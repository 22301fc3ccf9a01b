"""One unit of work on one machine: its profile, its estimate, and the chain from a step to units per day."""

from __future__ import annotations

from pathlib import Path

from estimator.core.errors import EstimatorError
from estimator.core.types import Estimate, Floats, Number, Profile, RunPlan
from estimator.devices import load_system
from estimator.pipeline import estimate
from estimator.profiles import read_profile
from estimator.rollup import chain
from estimator.studies.study import Machine, Study, UnitOfWork

STEP = "share of the ops' times that does not overlap × their sum + idle time"
OF_THE_RUN = {"samples", "batch_size", "epochs", "steps_rounding"}  # what a study may say in the workload's place


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

    def give(name: str, label: str, value: float | Floats, unit: str, level: str, *origin: str) -> None:
        numbers[name] = chain.given(f"{prefix}/{name}", label, value, unit, level, *origin)

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
    give("step_s", "step time", found.step.total, "s", "device", f"ops of {prefix} on {found.target.name}", STEP)
    give("samples", "samples", workload.samples, "1", "device", _origin(unit, "samples"))
    give("batch_size", "batch size", workload.batch_size, "1", "device", _origin(unit, "batch_size"))
    give("epochs", "epochs", workload.epochs or 1, "1", "device", _origin(unit, "epochs"))
    give("load_s", "load time", unit.load_time or 0.0, "s", "device", "study file" if unit.load_time else "not counted")
    ceiled = workload.steps_rounding == "ceil"
    return chain.derive(prefix, "device", numbers, (chain.CEILED, *chain.CHAIN) if ceiled else chain.CHAIN)


def _origin(unit: UnitOfWork, name: str) -> str:
    return "study file" if getattr(unit, name) is not None else "workload file of the profile"


def _size(machine: Machine) -> tuple[int, int, str]:
    """Nodes, devices per node, and where the counts come from."""
    if machine.system is None:
        return machine.nodes or 1, machine.devices_per_node or 1, "study file"
    system = load_system(machine.system)
    nodes, per_node = int(system.nodes.value), int(system.devices_per_node.value)
    return machine.nodes or nodes, machine.devices_per_node or per_node, f"system {system.name}"
