"""The size of a machine: its nodes, their devices, and the network in which these reach each other."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from estimator.core.types import Network, Sourced, SystemSpec
from estimator.devices import load_device, load_system
from estimator.studies.places import beside
from estimator.studies.study import Machine


@dataclass(frozen=True)
class Size:
    """Nodes of a machine and devices per node, each with its source."""

    nodes: int
    nodes_source: str
    devices: int
    devices_source: str
    node_name: str
    system: SystemSpec | None = None

    def __str__(self) -> str:
        return f"{self.nodes} {self.node_name}s of {self.devices}"


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


def machine_network(machine: Machine, size: Size, folder: Path) -> Network:
    """The network of a machine: what the study says of it, else its system or its device.

    Where none of them says how many devices links join, they are those of a node.
    """
    if size.system is not None:
        known = size.system.network
    else:
        known = load_device(beside(folder, str(machine.device))).network or Network()
    stated = (
        {name: getattr(machine.network, name) for name in machine.network.model_fields_set} if machine.network else {}
    )
    return known.model_copy(update={"linked_devices": known.linked_devices or size.devices, **stated})


def _cite_system(name: str, sourced: Sourced) -> str:
    reason = f" ({sourced.unverified_reason})" if sourced.unverified else ""
    return f"system {name}: {sourced.source or 'no source'}{reason}"
