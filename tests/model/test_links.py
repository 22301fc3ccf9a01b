"""The links that a device's messages cross."""

import numpy as np
import pytest

from estimator.core import library
from estimator.core.types import Network
from estimator.devices import load_device, load_system
from estimator.model.coefficients import shipped
from estimator.model.links import LANE_RATE, Hop, link_note, links_of, network_notes, tells_transport
from tests.conftest import make_device

C = shipped().collectives


def in_network(**fields: object) -> Hop:
    return links_of(make_device(network=Network.model_validate(fields))).between


def test_a_device_with_links_has_a_fabric() -> None:
    assert links_of(load_device("a100-sxm4-80gb")).inside == Hop("fabric", 300e9)


def test_a_link_of_which_the_total_alone_is_stated_has_half_of_it_one_way() -> None:
    assert links_of(make_device(link={"total": "600 GB/s"})).inside == Hop("fabric", 300e9)
    assert link_note(make_device(link={"total": "600 GB/s"})) == ()


def test_links_of_unlike_pairs_tell_the_slowest() -> None:
    link = {"per_direction": "200 GB/s", "per_neighbour": "200 GB/s", "slowest_neighbour": "50 GB/s"}
    assert links_of(make_device(link=link)).inside == Hop("fabric", 200e9, per_neighbour=200e9, slowest_neighbour=50e9)
    assert links_of(load_device("mi250x-gcd")).inside.slowest_neighbour == 50e9


def test_a_device_without_links_has_its_bus() -> None:
    assert links_of(load_device("l40s")).inside == Hop("pcie", 16 * LANE_RATE[4])
    assert links_of(load_device("arc-pro-b60")).inside == Hop("pcie", 8 * LANE_RATE[5])
    assert LANE_RATE[5] == pytest.approx(3.938e9, rel=1e-3)


@pytest.mark.parametrize(
    ("generation", "bus"),
    [(None, "4 (assumed), drawn from 8 to 900 GB/s as in the catalogue's systems"), (5, "5")],
)
def test_a_link_that_is_not_given_has_a_note(generation: int | None, bus: str) -> None:
    (note,) = link_note(make_device(name="acme-x1", pcie_generation=generation))
    gives_none = "acme-x1 gives no link: messages within a node are taken to pass PCI Express of generation"
    assert note.text == f"{gives_none} {bus}"
    assert link_note(load_device("a100-sxm4-80gb")) == ()


@pytest.mark.parametrize(
    ("name", "kind"),
    [("10GbE with TCP/IP", "tcp"), ("100 Gigabit Ethernet", "tcp"), ("25GbE", "tcp"), ("GigE", "tcp"),
     ("RoCE Ethernet", "rdma"), ("Spectrum-X Ethernet", "rdma"), ("Slingshot-11", "rdma"), ("InfiniBand HDR", "rdma"),
     ("NVLink 5 switch (130 TB/s total) + InfiniBand/Ethernet", "rdma"), ("Tofu-D", "rdma")],
)  # fmt: skip
def test_the_name_of_a_network_tells_whether_messages_pass_the_kernel(name: str, kind: str) -> None:
    assert in_network(interconnect=name).kind == kind


def test_a_transport_that_is_given_comes_before_the_name() -> None:
    assert in_network(interconnect="100GbE", transport="rdma").kind == "rdma"
    assert in_network(interconnect="InfiniBand", transport="sockets").kind == "tcp"


@pytest.mark.parametrize(("rate", "kind"), [("25 GB/s", "tcp"), ("50 GB/s", "rdma"), ("400 GB/s", "rdma")])
def test_fast_ethernet_bypasses_the_operating_system(rate: str, kind: str) -> None:
    assert in_network(interconnect="400G Ethernet", injection_bandwidth=rate).kind == kind
    assert in_network(interconnect="Ethernet, TCP", injection_bandwidth=rate).kind == "tcp"
    (note,) = network_notes(make_device(network={"interconnect": "Ethernet", "injection_bandwidth": rate}))
    assert {"rdma": "bypass", "tcp": "go through"}[kind] in note.text


def test_a_word_inside_another_tells_nothing() -> None:
    assert in_network(interconnect="100G Ethernet default").kind == "tcp"


@pytest.mark.parametrize(
    ("network", "words"),
    [({"interconnect": "400GbE"}, "the interconnect '400GbE' may use TCP or RDMA"),
     ({"interconnect": "10GbE, TCP"}, ""), ({"interconnect": "Banana"}, "the interconnect 'Banana' is not known"),
     ({}, "the network has neither name nor"), ({"interconnect": "IB NDR"}, ""), ({"transport": "sockets"}, "")],
)  # fmt: skip
def test_a_transport_that_nothing_states_is_noted(network: dict[str, str], words: str) -> None:
    notes = list(network_notes(make_device(network={"injection_bandwidth": "25 GB/s", **network})))
    assert [note.kind for note in notes] == ["left-open"] * bool(words)
    assert all(note.text.startswith(words) for note in notes)


def test_every_shipped_network_tells_its_transport() -> None:
    networks = {name: load_system(name).network for name in library.names("devices", "systems/*.yaml")}
    assert [name for name, network in networks.items() if network.interconnect and not tells_transport(network)] == []


def test_a_taper_divides_what_goes_into_a_node() -> None:
    assert in_network(injection_bandwidth="50 GB/s", taper=2.0).nominal == 25e9


def test_an_unknown_network_is_a_usual_one() -> None:
    assert links_of(make_device()).between.nominal == shipped().links.network_bytes_per_s.mid
    (note,) = network_notes(make_device())
    assert "25 GB/s per node are assumed, drawn from 8.3 to 400 GB/s" in note.text
    known = {"injection_bandwidth": "25 GB/s", "transport": "rdma"}
    assert list(network_notes(make_device(network=known))) == []


def test_the_latency_of_a_network_is_the_least_of_a_step() -> None:
    hop = in_network(latency="100 us")
    assert hop.step_s(C, "ll") == pytest.approx(100e-6)
    assert Hop("rdma", 1e9).step_s(C, "ll") == C.step("rdma", "ll")
    assert np.isnan(Hop("rdma", 1e9).latency_s)


def test_the_links_of_a_system_may_join_more_than_a_node() -> None:
    assert load_system("gb200-nvl72").network.linked_devices == 72
    assert load_system("summit").network.linked_devices == 6
    assert load_system("summit").network.linked_nodes == 1
    injection = load_system("summit").network.injection_bandwidth
    assert injection is not None
    assert injection.value == 23e9


def test_what_leaves_joined_devices_is_what_leaves_all_their_nodes() -> None:
    rack = make_device(network=load_system("gb200-nvl72").network)
    assert links_of(rack).between.nominal == 18 * 200e9


@pytest.mark.parametrize(("device", "dimensions"), [("tpu-v4", 3), ("tpu-v3", 2), ("h100-sxm5-80gb", 1)])
def test_links_that_join_nodes_are_a_torus_where_each_neighbour_has_its_own(device: str, dimensions: int) -> None:
    pod = Network.model_validate({"linked_devices": 1024, "devices_per_node": 4})
    joined, of_node = (load_device(device).model_copy(update={"network": network}) for network in (pod, Network()))
    assert links_of(joined).torus_dimensions == dimensions
    assert links_of(of_node).torus_dimensions == 1


def test_a_bus_that_nothing_states_bounds_nothing() -> None:
    assert links_of(load_device("a100-sxm4-80gb")).bus == 16 * LANE_RATE[4]
    assert links_of(make_device()).bus == np.inf
