"""Estimate one unit of work on one machine: from its profile to units per day."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from estimator.core.errors import EstimatorError
from estimator.core.types import Estimate, Floats, Number, Profile, RunPlan, Sourced, SystemSpec, Workload, pair_id
from estimator.devices import load_system
from estimator.pipeline import estimate
from estimator.rollup import chain
from estimator.rollup.evidence import MUCH_CARRIED, carried_share
from estimator.studies.expenses import given_power, given_prices
from estimator.studies.forward import estimate_forward, forward_origin
from estimator.studies.given import devices_of_worker, given_efficiency, given_time
from estimator.studies.places import beside, read_profile_beside
from estimator.studies.study import Machine, Study, UnitOfWork

PART_FORMULA = "its share of the replayed step's critical path"


def read_unit(unit: UnitOfWork, folder: Path) -> Profile:
    """The profile of a unit of work; where it does not tell its batch size, the study's is taken for it."""
    name = str(unit.profile)
    profile = read_profile_beside(folder, name)
    if profile.workload.batch_size is None and unit.batch_size:
        return read_profile_beside(folder, name, unit.batch_size)
    return profile


def estimate_unit(study: Study, unit_name: str, machine: Machine, profile: Profile, folder: Path) -> Estimate:
    """One step of a unit of work on one device of a machine.

    Raises EstimatorError where most of it is carried from the source, unless the study says itself what the host does.
    """
    device = load_system(beside(folder, machine.system)).device if machine.system else str(machine.device)
    unit = study.units_of_work[unit_name]
    host = machine.host if unit.host is None else unit.host
    plan = RunPlan(
        target=beside(folder, device),
        precision=unit.precision or machine.precision,
        fusion=unit.fusion,
        layout=unit.layout,
        host=host,
        input=machine.input if unit.input is None else unit.input,
        batch=unit.batch_size,
        mode=unit.mode,
        measurements=beside(folder, machine.measurements) if machine.measurements else None,
        draws=study.draws,
        seed=study.seed,
    )
    estimated = estimate(profile, plan)
    carried = carried_share(estimated.evidence)
    if carried > MUCH_CARRIED and host is None and estimated.target != estimated.source:
        raise EstimatorError(
            f"{100 * carried:.0f} % of the step on {estimated.target.name} is the source's own time (host and input), "
            "carried over; a figure of merit of that says little of the machine: write 'host: none' for kernels alone, "
            "'input: overlapped' where input is read ahead, or 'host: profile' or a factor to accept it"
        )
    return estimated


def derive_chain(study: Study, pair: tuple[str, str], estimated: Estimate | None, size: Size) -> dict[str, Number]:
    """The chain of one unit on one machine, from what is given to units per day.

    Raises EstimatorError where the run's samples or batch size are not known, or do not make a single step.
    """
    machine_name, unit_name = pair
    unit, id_prefix = study.units_of_work[unit_name], pair_id(pair)
    machine = study.machines.get(machine_name) or Machine(device=machine_name, nodes=size.nodes)
    devices = devices_of_worker(unit, machine_name, size.devices) if estimated is None else 1
    numbers = given_prices(machine, devices, id_prefix)

    def add_given(name: str, label: str, value: float | Floats, unit: str, level: str, *origin: str) -> None:
        numbers[name] = chain.given(f"{id_prefix}/{name}", label, value, unit, level, *origin)

    add_given("nodes", f"{size.node_name}s", size.nodes, "1", "system", size.nodes_source)
    numbers |= given_efficiency(unit, machine_name, id_prefix)
    if estimated is None:
        level, timed = given_time(unit, machine_name, size.nodes, (size.devices, size.devices_source), id_prefix)
        return chain.derive(id_prefix, level, numbers | timed)

    ops = f"ops of {id_prefix} on {estimated.target.name}"
    add_given("workers_per_node", "devices per node", size.devices, "1", "node", size.devices_source)
    for part, samples in estimated.step.parts().items():
        add_given(f"step_{part}_s", f"step, {part.replace('_', ' ')}", samples, "s", "device", ops, PART_FORMULA)
    if unit.validation_samples:
        forward, origin = estimate_forward(estimated).step.total, forward_origin(ops, estimated)
        add_given("forward_s", "forward pass", forward, "s", "device", origin, "sum of its parts")
        add_given("validation_samples", "validation samples", unit.validation_samples, "1", "device", "study file")
    run_sizes = _run_sizes(unit, unit_name, estimated.profile.workload)
    for name, value in run_sizes.items():
        add_given(name, name.replace("_", " "), value, "1", "device", _origin(unit, estimated.profile.workload, name))
    add_given(
        "load_s", "load time", unit.load_time or 0.0, "s", "device", "study file" if unit.load_time else "not counted"
    )
    numbers |= given_power(study, machine, estimated, size.devices, size.system, id_prefix)
    ceiled = (unit.steps_rounding or estimated.profile.workload.steps_rounding) == "ceil"
    return chain.derive(id_prefix, "device", numbers, (chain.CEILED, *chain.CHAIN) if ceiled else chain.CHAIN)


def _run_sizes(unit: UnitOfWork, unit_name: str, workload: Workload) -> dict[str, int]:
    samples, batch = unit.samples or workload.samples, unit.batch_size or workload.batch_size
    unknown = [name for name, value in (("samples", samples), ("batch_size", batch)) if value is None]
    if samples is None or batch is None:
        raise EstimatorError(f"{' and '.join(unknown)} not known from the profile; add to the unit '{unit_name}'")
    if samples < batch and (unit.steps_rounding or workload.steps_rounding) == "floor":
        raise EstimatorError(
            f"{unit_name}: {samples} samples do not fill one batch of {batch}; expected at least one step"
        )
    return {"samples": samples, "batch_size": batch, "epochs": unit.epochs or workload.epochs or 1}


def _origin(unit: UnitOfWork, workload: Workload, name: str) -> str:
    if getattr(unit, name) is not None:
        return "study file"
    known = getattr(workload, name) is not None
    return "workload file of the profile" if known else "neither the study nor the workload file says"


@dataclass(frozen=True)
class Size:
    """Nodes of a machine and devices per node, each with its source."""

    nodes: int
    nodes_source: str
    devices: int
    devices_source: str
    node_name: str
    system: SystemSpec | None = None


def machine_size(machine: Machine, folder: Path) -> Size:
    """The size of a machine: as the study says, else as its system's file does."""
    nodes, devices = machine.nodes, machine.devices_per_node
    if machine.system is None:
        return Size(nodes or 1, "study file", devices or 1, "study file", machine.node_name)
    system = load_system(beside(folder, machine.system))
    return Size(
        nodes=nodes or int(system.nodes.value),
        nodes_source="study file" if nodes else _cite_system(system.name, system.nodes),
        devices=devices or int(system.devices_per_node.value),
        devices_source="study file" if devices else _cite_system(system.name, system.devices_per_node),
        node_name=machine.node_name,
        system=system,
    )


def _cite_system(name: str, sourced: Sourced) -> str:
    reason = f" ({sourced.unverified_reason})" if sourced.unverified else ""
    return f"system {name}: {sourced.source or 'no source'}{reason}"
