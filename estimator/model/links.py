"""The links that a device's messages cross, from its specification and that of the machine it is built into."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np

from estimator.core.notes import Note
from estimator.core.types import DeviceSpec, Floats, Network, Transport
from estimator.model.coefficients import Coefficient, shipped
from estimator.model.collective_coefficients import CollectiveCoefficients
from estimator.model.hardware import number

Kind = Literal["fabric", "pcie", "rdma", "tcp"]
LANE_RATE = {  # of PCI Express by generation [B/s], per direction: transfers per second × coding / 8 bits
    1: 0.25e9, 2: 0.5e9, 3: 8e9 * 128 / 130 / 8, 4: 16e9 * 128 / 130 / 8, 5: 32e9 * 128 / 130 / 8, 6: 64e9 / 8,
}  # fmt: skip
USUAL_GENERATION = 4  # where a device file gives none
TRANSPORTS: dict[Transport, re.Pattern[str]] = {  # by the network's name; the first that matches
    "rdma": re.compile(
        r"(?i)rdma|roce|infini-?band|\bib\b|\b[edhnqx]dr\d*\b|spectrum|slingshot|ultra ethernet|\befa\b|omni-?path|"
        r"aries|gemini|tofu|\bbxi\b|\bici\b|nvlink|bg/q"
    ),
    "sockets": re.compile(r"(?i)\btcp\b|ethernet|\b\d*\s?gbe\b|gige"),
}
SOCKETS = re.compile(r"(?i)\btcp\b")  # names that always mean sockets
WAYS: dict[Transport, str] = {  # in words
    "rdma": "bypass the operating system (RDMA); the interval includes TCP",
    "sockets": "go through the operating system (TCP); the interval includes RDMA",
}
MOST_OF_SOCKETS = 25e9  # of a node that sends through its operating system [B/s], 200 Gbit/s; assumed
USUAL_TRANSPORT: Transport = "rdma"  # where neither the file nor the name tells


@dataclass(frozen=True)
class Hop:
    """The links of a device, or of a node; bandwidths are nominal, per direction [B/s]."""

    kind: Kind
    nominal: float  # bandwidth of all of them
    latency_s: float = np.nan  # of a message [s]; NaN where unknown
    per_neighbour: float = np.inf  # bandwidth to one neighbour
    slowest_neighbour: float = np.inf  # bandwidth to the one that is reached slowest

    def nominal_among(self, ranks: Floats) -> Floats:
        """The nominal bandwidth of each of so many ranks that reach each other [B/s]."""
        return np.minimum(self.nominal, np.maximum(ranks - 1, 1) * self.per_neighbour)

    def sustained(self, coefficients: CollectiveCoefficients) -> float:
        """The bandwidth that messages attain [B/s]."""
        return float(self.sustained_at(np.array(self.nominal), coefficients))

    def sustained_at(self, nominal: Floats, coefficients: CollectiveCoefficients) -> Floats:
        """The bandwidth that messages attain over such links of another nominal one [B/s]."""
        attained = coefficients.efficiency(self.kind) * nominal
        return np.asarray(np.minimum(attained, coefficients.socket_rate) if self.kind == "tcp" else attained)

    def step_s(self, coefficients: CollectiveCoefficients, protocol: str) -> float:
        """The latency of one step by a protocol [s]: the library's, or the network's own where that is longer."""
        return float(np.fmax(coefficients.step(self.kind, protocol), self.latency_s))


@dataclass(frozen=True)
class Links:
    """The links inside a group of devices, and those between groups.

    A group is what the devices' own links join: a node, or several nodes, as in a rack. The network joins the groups.
    """

    inside: Hop
    between: Hop
    in_network: bool = False  # whether switches reduce what passes through them
    bus: float = np.inf  # what a device sends to other nodes at most, in one direction [B/s]
    torus_dimensions: int = 1  # of the links within; 1 where they are no torus


def links_of(device: DeviceSpec) -> Links:
    """The links of a device; where its files give none, those that are usual."""
    network = device.network or Network()
    inside = _inside(device)
    bus = _bus(device) if device.pcie_generation else np.inf
    return Links(inside, _between(network), network.in_network, bus, _torus_dimensions(inside, network))


def gives_network(device: DeviceSpec) -> bool:
    """Whether anything tells the bandwidth of the network between nodes."""
    return device.network is not None and device.network.injection_bandwidth is not None


def gives_link(device: DeviceSpec) -> bool:
    """Whether a device's file tells its own links, or the bus that messages within a node pass without them."""
    return bool((device.link and device.link.one_way) or device.pcie_generation)


def network_notes(device: DeviceSpec) -> Iterator[Note]:
    """Notes where nothing tells the bandwidth of the network between nodes, or how it sends messages."""
    network = device.network or Network()
    if not gives_network(device):
        yield _network_note(device)
    if network.transport is None and (text := _transport_text(network, gives_network(device))):
        yield Note("transport-assumed", text, subject=device.name)


def _transport_text(network: Network, gives_bandwidth: bool) -> str:
    """How messages are taken to be sent, where the network's name tells nothing, or that the slow way."""
    name = network.interconnect
    if tells_transport(network) or not (name or gives_bandwidth):
        return ""
    if transport_by_name(network) == "sockets":
        way = WAYS[transport_of(network)]
        return f"the interconnect '{name}' may use TCP or RDMA: messages are taken to {way}; give 'transport'"
    unknown = f"the interconnect '{name}' is not known" if name else "the network has neither name nor 'transport'"
    return f"{unknown}: messages are taken to {WAYS[USUAL_TRANSPORT]}"


def tells_transport(network: Network) -> bool:
    """Whether a network's file, or its name, tells how messages are sent; that of Ethernet may be either."""
    by_name = transport_by_name(network)
    return network.transport is not None or by_name == "rdma" or bool(SOCKETS.search(network.interconnect or ""))


def transport_by_name(network: Network) -> Transport | None:
    """How messages are sent, by the network's name; None where that does not tell."""
    name = network.interconnect or ""
    return next((transport for transport, pattern in TRANSPORTS.items() if pattern.search(name)), None)


def transport_of(network: Network) -> Transport:
    """How messages are sent: as the file says, else as the network's name tells, else as is usual.

    Ethernet may be either: of more than ``MOST_OF_SOCKETS`` it is built to bypass the operating system.
    """
    by_name = network.transport or transport_by_name(network) or USUAL_TRANSPORT
    wide = number(network.injection_bandwidth) > MOST_OF_SOCKETS and not tells_transport(network)
    return USUAL_TRANSPORT if wide else by_name


def _network_note(device: DeviceSpec) -> Note:
    rate = shipped().links.network_bytes_per_s
    text = f"the network between nodes is not known: {rate.mid / 1e9:g} GB/s per node are assumed, {_ends(rate)}"
    return Note("network-assumed", text, subject=device.name)


def link_note(device: DeviceSpec) -> tuple[Note, ...]:
    """A note where a device gives no link, so that messages within a node are taken to pass its bus."""
    if device.link and device.link.one_way:
        return ()
    bus = f"PCI Express of generation {device.pcie_generation or f'{USUAL_GENERATION} (assumed)'}"
    text = f"{device.name} gives no link: messages within a node are taken to pass {bus}"
    drawn = "" if gives_link(device) else f", {_ends(shipped().links.link_bytes_per_s)}"
    return (Note("link-assumed", text + drawn, subject=device.name),)


def _ends(rate: Coefficient) -> str:
    """How far an assumed rate is drawn, in words."""
    return f"drawn from {rate.low / 1e9:g} to {rate.high / 1e9:g} GB/s as in the catalogue's systems"


def _inside(device: DeviceSpec) -> Hop:
    if device.link and device.link.one_way:
        rates = {name: getattr(device.link, name) for name in ("per_neighbour", "slowest_neighbour")}
        known = {name: rate.value for name, rate in rates.items() if rate}
        return Hop("fabric", device.link.one_way.value, **known)
    return Hop("pcie", _bus(device))


def _bus(device: DeviceSpec) -> float:
    """The bandwidth of a device's bus, per direction [B/s]."""
    generation = min(device.pcie_generation or USUAL_GENERATION, max(LANE_RATE))
    return device.pcie_lanes * LANE_RATE[generation]


def _torus_dimensions(inside: Hop, network: Network) -> int:
    """The dimensions of links that join devices of several nodes: each has a neighbour on either side."""
    if network.linked_nodes <= 1 or np.isinf(inside.per_neighbour):
        return 1
    return max(1, round(inside.nominal / inside.per_neighbour) // 2)


def _between(network: Network) -> Hop:
    """What leaves all nodes whose devices the links join. ``taper`` divides it, as a collective over a whole machine
    crosses the network's core.
    """
    nominal = number(network.injection_bandwidth)
    nominal = shipped().links.network_bytes_per_s.mid if np.isnan(nominal) else nominal
    kind: Kind = "tcp" if transport_of(network) == "sockets" else "rdma"
    return Hop(kind, network.linked_nodes * nominal / network.taper, number(network.latency))
