"""What a study's machines take as given (study, catalogue's systems → notes)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from estimator.core.notes import Note, with_code
from estimator.core.types import Chains, Network, Sourced, SystemSpec
from estimator.devices import announcements, system_warnings
from estimator.studies.places import resolve_name
from estimator.studies.study import Machine, Study


def machine_notes(
    study: Study, folder: Path, systems: Mapping[str, SystemSpec], sizes: Mapping[str, Sourced], chains: Chains
) -> tuple[Note, ...]:
    """Notes on the machines of a study, each with its machine as subject.

    Args:
        study: the study.
        folder: of its file, which may hold device files too.
        systems: the catalogue's systems that machines are, by the machines' names.
        sizes: the sizes that these give, by ``machine: field``.
        chains: the roll-ups, which tell whether energy is counted.
    """
    return (
        *_about_systems(dict(_as_stated(study, folder, systems))),
        *_unverified(sizes),
        *_devices_per_node(study),
        *_run_nodes(study),
        *_delivered(study),
        *_pue(study, chains),
    )


def _as_stated(study: Study, folder: Path, systems: Mapping[str, SystemSpec]) -> Iterator[tuple[str, SystemSpec]]:
    """Every machine of a device or a system as a system, with the network that the study states."""
    for name, machine in study.machines.items():
        if name in systems:
            yield name, _with_network(systems[name], machine)
        elif machine.device:
            per_node = machine.devices_per_node or 1
            size = {
                "nodes": machine.nodes,
                "devices_per_node": per_node,
                "device": resolve_name(folder, machine.device),
            }
            yield name, _with_network(SystemSpec.model_validate({"name": name, **size}), machine)


def _with_network(system: SystemSpec, machine: Machine) -> SystemSpec:
    """A system with the network that a machine states; how far links reach is not among it, as it is a plain number."""
    network = machine.network or Network()
    stated = network.model_fields_set & SystemSpec.model_fields.keys() - {"linked_devices", "devices_per_node"}
    return system.model_copy(update={field: getattr(network, field) for field in stated})


def _about_systems(systems: Mapping[str, SystemSpec]) -> Iterator[Note]:
    for machine, system in systems.items():
        for note in (*announcements(system), *with_code("system-check", system_warnings(system))):
            yield replace(note, subject=machine)


def _unverified(sizes: Mapping[str, Sourced]) -> Iterator[Note]:
    for name, count in sizes.items():
        if count.unverified:
            text = f"{name} = {count} is {count.unverified_reason} ({count.source or 'no source'})"
            yield Note("specification-unverified", text, name.partition(":")[0])


def _devices_per_node(study: Study) -> Iterator[Note]:
    for name, machine in study.machines.items():
        if machine.device and machine.devices_per_node is None:
            text = f"machines.{name} gives no devices_per_node: 1 is taken"
            yield Note("devices-per-node-assumed", text, name)


def _run_nodes(study: Study) -> Iterator[Note]:
    """Notes on units that state the nodes of a run on some machines alone: elsewhere one node is taken."""
    for name, unit in study.units_of_work.items():
        stated = [machine for machine, ran in unit.ran_on.items() if ran.nodes]
        for machine in study.machines if stated else ():
            if machine not in stated:
                text = (
                    f"{name}: 'ran_on' states the nodes on {', '.join(stated)}, not on {machine}: 1 node is taken there"
                )
                yield Note("run-nodes-assumed", text, machine)


def _delivered(study: Study) -> Iterator[Note]:
    for name, machine in study.machines.items():
        if machine.availability is None and machine.mtbf_node is None:
            text = "neither availability nor mtbf_node is given: every node that runs units is up at all times"
            yield Note("delivered-assumed", text, name)


def _pue(study: Study, chains: Chains) -> Iterator[Note]:
    counting_energy = {machine for (machine, _), numbers in chains.items() if "pue" in numbers}
    for name, machine in study.machines.items():
        if machine.pue is None and name in counting_energy:
            text = "no pue is given: energy is what the computers draw, without the facility's cooling"
            yield Note("pue-assumed", text, name)
