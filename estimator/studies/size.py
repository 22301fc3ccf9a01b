"""The size of a machine: its nodes, their devices, and the network in which these reach each other."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from estimator.core.errors import EstimatorError
from estimator.core.types import Network, Sourced, SystemSpec
from estimator.core.units import plural
from estimator.devices import load_device, load_system
from estimator.rollup.failures import nodes_in_use
from estimator.studies.given import STUDY_FILE
from estimator.studies.places import resolve_name
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
    fraction: float | None = None  # of the nodes that run units

    @property
    def in_use(self) -> int:
        """Nodes that run units of work."""
        return int(nodes_in_use(np.asarray(float(self.nodes)), np.asarray(self.fraction or 1.0)))

    def __str__(self) -> str:
        nodes, devices = plural(self.node_name, self.in_use), plural("device", self.devices)
        return f"{self.in_use} {nodes} of {self.devices} {devices}"


def machine_size(machine: Machine, folder: Path) -> Size:
    """The size of a machine: as the study says, else as its system's file does.

    Raises EstimatorError where the fraction in use leaves no node.
    """
    size = _whole_size(machine, folder)
    if size.in_use == 0:
        raise EstimatorError(
            f"fraction {machine.fraction:g} of {size.nodes} {size.node_name}s leaves none; expected at least one"
        )
    return size


def _whole_size(machine: Machine, folder: Path) -> Size:
    nodes, devices = machine.nodes, machine.devices_per_node
    if machine.system is None:
        devices_source, name = STUDY_FILE if devices else "assumed", machine.node_name or "node"
        return Size(nodes or 1, STUDY_FILE, devices or 1, devices_source, name, None, machine.fraction)
    system = load_system(resolve_name(folder, machine.system))
    return Size(
        nodes=nodes or int(system.nodes.value),
        nodes_source=STUDY_FILE if nodes else _cite_system(system.name, system.nodes),
        devices=devices or int(system.devices_per_node.value),
        devices_source=STUDY_FILE if devices else _cite_system(system.name, system.devices_per_node),
        node_name=machine.node_name or system.node_name,
        system=system,
        fraction=machine.fraction,
    )


def machine_network(machine: Machine, size: Size, folder: Path) -> Network:
    """The network of a machine: what the study says of it, else its system or its device.

    Where none of them says how many devices links join, they are those of a node.
    """
    if size.system is not None:
        known = size.system.network
    else:
        known = load_device(resolve_name(folder, str(machine.device))).network or Network()
    stated = (
        {name: getattr(machine.network, name) for name in machine.network.model_fields_set} if machine.network else {}
    )
    of_node = size.system is not None and size.system.linked_devices is None
    linked = size.devices if of_node else known.linked_devices or size.devices
    return known.model_copy(update={"linked_devices": linked, **stated, "devices_per_node": size.devices})


def _cite_system(name: str, sourced: Sourced) -> str:
    reason = f" ({sourced.unverified_reason})" if sourced.unverified else ""
    return f"system {name}: {sourced.source or 'no source'}{reason}"
