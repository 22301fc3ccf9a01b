"""The size of a machine and its network: as the study says, else as its system or its device does."""

from pathlib import Path
from typing import Any

import pytest

from estimator.core.errors import EstimatorError
from estimator.core.types import Network
from estimator.studies.size import machine_network, machine_size
from estimator.studies.study import Machine
from tests.studies.test_unit import study

FOLDER = Path()


def test_a_machine_has_the_size_of_its_system_unless_the_study_says_another() -> None:
    machines = study({}, {}).machines
    system = machines["new"].model_copy(update={"device": None, "system": "summit", "nodes": None})
    size = machine_size(system, FOLDER)
    assert (size.nodes, size.devices) == (4608, 6)
    assert size.nodes_source == size.devices_source == "system summit: OLCF Summit User Guide"
    fewer = machine_size(system.model_copy(update={"nodes": 10, "devices_per_node": 4}), FOLDER)
    assert (fewer.nodes, fewer.devices) == (10, 4)
    assert fewer.nodes_source == fewer.devices_source == "study file"


def test_a_machine_of_nodes_alone_has_one_device_in_each() -> None:
    size = machine_size(study({"node_name": "blade"}, {}).machines["new"], FOLDER)
    assert (size.nodes, size.devices, size.node_name) == (3, 1, "blade")
    assert (size.nodes_source, size.devices_source) == ("study file", "assumed")


def test_a_node_is_called_as_its_system_calls_it_unless_the_study_does() -> None:
    of_system = Machine(system="gb200-nvl72")
    assert machine_size(of_system, FOLDER).node_name == "tray"
    assert machine_size(of_system.model_copy(update={"node_name": "node"}), FOLDER).node_name == "node"


def network(**keys: Any) -> Network:
    machine = Machine.model_validate(keys)
    return machine_network(machine, machine_size(machine, FOLDER), FOLDER)


def test_a_system_has_its_own_network_unless_the_study_says_another() -> None:
    own, other = (
        network(system="summit"),
        network(system="summit", network={"injection_bandwidth": "1 GB/s", "taper": 2}),
    )
    assert own.injection_bandwidth is not None
    assert own.injection_bandwidth.value == 23e9
    assert other.injection_bandwidth is not None
    assert (other.injection_bandwidth.value, other.taper) == (1e9, 2)
    assert (other.topology, other.linked_devices) == (own.topology, own.linked_devices)


def test_a_machine_of_a_device_has_the_network_of_the_study_and_joins_its_nodes_devices() -> None:
    nodes = {"device": "v100", "nodes": 3, "devices_per_node": 4}
    given = network(**nodes, network={"latency": "2 us", "interconnect": "InfiniBand"})
    assert given.latency is not None
    assert (given.latency.value, given.interconnect, given.linked_devices) == (2e-6, "InfiniBand", 4)
    assert network(**nodes) == Network(linked_devices=4, devices_per_node=4)


def test_links_that_reach_beyond_a_node_join_as_many_nodes_however_the_machine_is_written() -> None:
    rack = {"device": "gb200", "nodes": 36, "devices_per_node": 4}
    by_system, by_hand = network(system="gb200-nvl72"), network(**rack, network={"linked_devices": 72})
    assert by_system.linked_nodes == by_hand.linked_nodes == 18
    assert network(system="gb200-nvl72", network={"linked_devices": 4}).linked_nodes == 1
    assert network(system="summit", devices_per_node=4).linked_devices == 4


def test_a_fraction_of_the_nodes_is_in_use() -> None:
    size = machine_size(Machine(device="v100", nodes=7, devices_per_node=4, fraction=0.5), FOLDER)
    assert (size.nodes, size.in_use, str(size)) == (7, 3, "3 nodes of 4 devices")
    assert machine_size(Machine(system="summit", fraction=0.5), FOLDER).in_use == 2304
    with pytest.raises(EstimatorError, match=r"fraction 0.1 of 7 nodes leaves none; expected at least one"):
        machine_size(Machine(device="v100", nodes=7, fraction=0.1), FOLDER)
