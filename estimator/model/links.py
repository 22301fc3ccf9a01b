"""The links that a device's messages cross, from its specification and that of the machine it is built into."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

import numpy as np

from estimator.core.notes import Note
from estimator.core.types import DeviceSpec, Floats, Network
from estimator.model.coefficients import Coefficient, shipped
from estimator.model.collective_coefficients import CollectiveCoefficients
from estimator.model.hardware import number

Kind = Literal["fabric", "pcie", "rdma", "tcp"]
LANE_RATE = {  # of PCI Express by generation [B/s], per direction: transfers per second × coding / 8 bits
    1: 0.25e9, 2: 0.5e9, 3: 8e9 * 128 / 130 / 8, 4: 16e9 * 128 / 130 / 8, 5: 32e9 * 128 / 130 / 8, 6: 64e9 / 8,
}  # fmt: skip
USUAL_GENERATION = 4  # where a device file gives none
THROUGH_THE_KERNEL = re.compile(r"(?i)\btcp\b|ethernet|\b\d*\s?gbe\b|gige")  # by the operating system's sockets
PAST_THE_KERNEL = re.compile(r"(?i)rdma|roce|infiniband|spectrum|slingshot|ultra ethernet|efa")


@dataclass(frozen=True)
class Hop:
    """A class of links: its nominal bandwidth per direction [B/s], and the latency of a message [s] where known."""

    kind: Kind
    nominal: float
    latency_s: float = np.nan

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
    """The hop between devices of one node, and that between nodes."""

    inside: Hop
    between: Hop
    in_network: bool = False  # whether switches reduce what passes through them


def links_of(device: DeviceSpec) -> Links:
    """The links of a device; where its files give none, those that are usual."""
    network = device.network or Network()
    return Links(_inside(device), _between(network), network.in_network)


def gives_network(device: DeviceSpec) -> bool:
    """Whether anything tells the bandwidth of the network between nodes."""
    return device.network is not None and device.network.injection_bandwidth is not None


def gives_link(device: DeviceSpec) -> bool:
    """Whether a device's file tells its own links, or the bus that messages within a node pass without them."""
    return bool((device.link and device.link.per_direction) or device.pcie_generation)


def network_note(device: DeviceSpec) -> tuple[Note, ...]:
    """A note where nothing tells the bandwidth of the network between nodes."""
    if gives_network(device):
        return ()
    rate = shipped().links.network_bytes_per_s
    text = f"nothing tells the network between nodes: {rate.mid / 1e9:g} GB/s of each node are assumed, {_ends(rate)}"
    return (Note("network-assumed", text, subject=device.name),)


def link_note(device: DeviceSpec) -> tuple[Note, ...]:
    """A note where a device gives no link, so that messages within a node are taken to pass its bus."""
    if device.link and device.link.per_direction:
        return ()
    bus = f"PCI Express of generation {device.pcie_generation or f'{USUAL_GENERATION} (assumed)'}"
    text = f"{device.name} gives no link: messages within a node are taken to pass {bus}"
    drawn = "" if gives_link(device) else f", {_ends(shipped().links.link_bytes_per_s)}"
    return (Note("link-assumed", text + drawn, subject=device.name),)


def _ends(rate: Coefficient) -> str:
    """How far an assumed rate is drawn, in words."""
    return f"and drawn from {rate.low / 1e9:g} to {rate.high / 1e9:g} GB/s, as systems of the catalogue have"


def _inside(device: DeviceSpec) -> Hop:
    if device.link and device.link.per_direction:
        return Hop("fabric", device.link.per_direction.value)
    generation = min(device.pcie_generation or USUAL_GENERATION, max(LANE_RATE))
    return Hop("pcie", device.pcie_lanes * LANE_RATE[generation])


def _between(network: Network) -> Hop:
    """``taper`` divides the bandwidth, as a collective over a whole machine crosses the network's core."""
    name = network.interconnect or ""
    sockets = THROUGH_THE_KERNEL.search(name) and not PAST_THE_KERNEL.search(name)
    nominal = number(network.injection_bandwidth)
    nominal = shipped().links.network_bytes_per_s.mid if np.isnan(nominal) else nominal
    return Hop("tcp" if sockets else "rdma", nominal / network.taper, number(network.latency))
