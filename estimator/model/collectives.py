"""The time of collectives from the links that they cross: latency of their steps, and transfer of their bytes.

t = min over algorithms and protocols of  start + Σ steps · latency of a step + volume / bandwidth

A message of S bytes takes with N ranks (Thakur, Rabenseifner, Gropp, "Optimization of collective communication
operations in MPICH", 2005; bus bandwidth as nccl-tests define it):

    all-reduce         ring   2(N − 1) steps, volume 2(N − 1)/N · S
                       tree   2(p − 1) steps inside a node of p ranks, 2⌈log₂ nodes⌉ between nodes, volume 2S / 0.9
                       in the network's switches: 2(p − 1) steps and volume 2(p − 1)/p · S inside, 2 and S between
                       one shot, of inference engines in a node: a start and (N − 1) · S; or two, 2(N − 1)/N · S
    all-gather, reduce-scatter, all-to-all, gather   N − 1 steps, volume (N − 1)/N · S
    broadcast, reduce; point to point                N − 1 steps; 1; volume S
    parameter servers, on nodes of their own         2 steps inside, 2 between, volume 2S, by the slower of both

A ring crosses each node's network once, so its bandwidth is that of the slowest hop: a device's link in the node, or
all that goes into the node. In an all-to-all each device sends most of its bytes through its share of that. To other
nodes no device sends more than its bus carries. In a group of fixed size, it sends no more than its links to the
others of the group carry. Links that join many nodes in a torus of d dimensions make a ring of each of them:
d (p^(1/d) − 1) steps for p − 1.

Protocols of libraries (NCCL, src/graph/tuning.cc): *LL* sends a flag with every word, *LL128* with every 120 bytes
over links of devices, *simple* fills the bandwidth but synchronises more slowly.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from estimator.core.types import Flags, Floats, Names
from estimator.model.collective_coefficients import CollectiveCoefficients
from estimator.model.links import Links

TREE_SHARE = 0.9  # of a ring's bandwidth (NCCL, src/graph/tuning.cc)
REDUCED = ("all_reduce", "custom_all_reduce")
PASS_ALL_ON = ("collective_broadcast", "collective_reduce", "send_recv")  # every rank passes all bytes on


@dataclass(frozen=True)
class Messages:
    """Collectives, one entry each."""

    operator: Names
    bytes: Floats  # of the message
    ranks: Floats
    per_node: Floats  # ranks of one node
    at_once: Floats | float = 1.0  # collectives of as many groups that share a node's way to other nodes
    fixed: Flags | bool = False  # whether more devices do not add to the ranks

    @property
    def nodes(self) -> Floats:
        """Nodes that take part."""
        return np.ceil(self.ranks / self.per_node)


@dataclass(frozen=True)
class LinkTime:
    """Time of each collective [s]: of its steps, and of its bytes."""

    latency_s: Floats
    transfer_s: Floats

    @property
    def total_s(self) -> Floats:
        """Both, one after the other."""
        return self.latency_s + self.transfer_s


def collective_times(messages: Messages, links: Links, coefficients: CollectiveCoefficients) -> LinkTime:
    """The time of each collective by its fastest algorithm and protocol; nothing for a single rank."""
    candidates = list(_candidates(messages, links, coefficients))
    latency, transfer = (np.array([getattr(time, name) for time in candidates]) for name in ("latency_s", "transfer_s"))
    fastest = np.argmin(latency + transfer, axis=0), np.arange(len(messages.ranks))
    several = messages.ranks > 1
    return LinkTime(np.where(several, latency[fastest], 0.0), np.where(several, transfer[fastest], 0.0))


def least_times(messages: Messages, links: Links) -> Floats:
    """Time of the bytes alone at nominal rates [s], reduced in the network where its switches can."""
    hops = _shared_bandwidths(messages, _inside_nominal(messages, links), links.between.nominal, links.bus)
    by_ring = _ring_volume(messages) * messages.bytes / np.minimum(*hops)
    in_network = np.where(_reduced_in_network(messages, links), _switched_transfer(messages, hops), np.inf)
    return np.minimum(by_ring, in_network)


def _candidates(messages: Messages, links: Links, coefficients: CollectiveCoefficients) -> Iterator[LinkTime]:
    """Every algorithm by every protocol; those that a collective cannot take last for ever."""
    for protocol in ("ll", "ll128", "simple"):
        share = coefficients.share(protocol)
        allowed = (protocol != "ll128") | (links.inside.kind == "fabric")
        for times, possible in (
            (_ring(messages, links, coefficients, protocol), messages.operator != "parameter_server"),
            (_tree(messages, links, coefficients, protocol), _reduces(messages)),
            (_in_network(messages, links, coefficients, protocol), _reduced_in_network(messages, links)),
        ):
            yield LinkTime(np.where(allowed & possible, times.latency_s, np.inf), times.transfer_s / share)
    yield _one_shot(messages, links, coefficients)
    yield _servers(messages, links, coefficients)


def _ring(messages: Messages, links: Links, coefficients: CollectiveCoefficients, protocol: str) -> LinkTime:
    passes = _passes(messages)
    between = np.where(messages.nodes > 1, passes * np.maximum(messages.nodes - 1, 1), 0.0)
    steps = np.where(messages.operator == "send_recv", 1.0, passes * (messages.ranks - 1))
    inside = np.maximum(steps - between, 0.0)
    inside = np.where(messages.nodes > 1, inside, np.minimum(inside, passes * _torus_steps(messages, links)))
    latency = _latency(links, coefficients, protocol, inside, np.minimum(between, steps))
    return LinkTime(latency, _ring_volume(messages) * messages.bytes / _bus_bandwidth(messages, links, coefficients))


def _tree(messages: Messages, links: Links, coefficients: CollectiveCoefficients, protocol: str) -> LinkTime:
    inside, between = 2 * (messages.per_node - 1), 2 * np.ceil(np.log2(messages.nodes))
    volume = 2.0 / TREE_SHARE * messages.bytes
    latency = _latency(links, coefficients, protocol, inside, between)
    return LinkTime(latency, volume / _bus_bandwidth(messages, links, coefficients))


def _in_network(messages: Messages, links: Links, coefficients: CollectiveCoefficients, protocol: str) -> LinkTime:
    inside, between = 2 * (messages.per_node - 1), np.full(len(messages.ranks), 2.0)
    latency = _latency(links, coefficients, protocol, inside, between)
    return LinkTime(latency, _switched_transfer(messages, hop_bandwidths(messages, links, coefficients)))


def _torus_steps(messages: Messages, links: Links) -> Floats:
    """Steps of one pass by a ring of each dimension; of one dimension p − 1, but at least one."""
    dimensions = links.torus_dimensions
    return np.maximum(dimensions * (messages.per_node ** (1.0 / dimensions) - 1.0), 1.0)


def _one_shot(messages: Messages, links: Links, coefficients: CollectiveCoefficients) -> LinkTime:
    """Every rank reads what all others hold: at once, or its part and then the others' sums.

    Kernels of inference engines do so in a node whose devices all reach each other.
    """
    start = coefficients.one_shot_s
    bandwidth = links.inside.sustained_at(_inside_nominal(messages, links), coefficients)
    direct = (links.inside.kind == "fabric") | (messages.ranks == 2)
    possible = (messages.operator == "custom_all_reduce") & (messages.nodes == 1) & direct
    at_once, twice = (messages.ranks - 1) * messages.bytes / bandwidth, _ring_volume(messages) * messages.bytes
    two_stage = 2 * start + twice / bandwidth
    latency = np.where(start + at_once <= two_stage, start, 2 * start)
    transfer = np.where(start + at_once <= two_stage, at_once, twice / bandwidth)
    return LinkTime(np.where(possible, latency, np.inf), transfer)


def _servers(messages: Messages, links: Links, coefficients: CollectiveCoefficients) -> LinkTime:
    """Gradients go to servers and weights come back; devices of a node add up their gradients on the way."""
    hops = np.full(len(messages.ranks), 2.0), np.where(messages.nodes > 1, 2.0, 0.0)
    latency = _latency(links, coefficients, "simple", *hops)
    transfer = 2.0 * messages.bytes / _bus_bandwidth(messages, links, coefficients)
    return LinkTime(np.where(messages.operator == "parameter_server", latency, np.inf), transfer)


def _latency(
    links: Links, coefficients: CollectiveCoefficients, protocol: str, inside: Floats, between: Floats
) -> Floats:
    """Start and steps of a protocol [s]."""
    inside_s, between_s = (hop.step_s(coefficients, protocol) for hop in (links.inside, links.between))
    return coefficients.start(protocol) + (inside * inside_s + between * between_s)


def _bus_bandwidth(messages: Messages, links: Links, coefficients: CollectiveCoefficients) -> Floats:
    """The sustained bandwidth of the slowest hop [B/s]."""
    return np.minimum(*hop_bandwidths(messages, links, coefficients))


def hop_bandwidths(messages: Messages, links: Links, coefficients: CollectiveCoefficients) -> tuple[Floats, Floats]:
    """The sustained bandwidth of each message within a node and between nodes [B/s]; infinite where it crosses none."""
    inside, bus = _inside_bandwidth(messages, links, coefficients), np.array(links.bus)
    between = links.between.sustained(coefficients), float(links.between.sustained_at(bus, coefficients))
    return _shared_bandwidths(messages, inside, *between)


def _inside_bandwidth(messages: Messages, links: Links, coefficients: CollectiveCoefficients) -> Floats:
    """The sustained bandwidth of a device's link in its node [B/s]. Devices that share a bus slow each other down."""
    sharing = np.where(links.inside.kind == "pcie", np.maximum(messages.per_node / 2, 1.0), 1.0)
    sustained = links.inside.sustained_at(_inside_nominal(messages, links), coefficients)
    return np.asarray(sustained * sharing**-coefficients.contention)


def _inside_nominal(messages: Messages, links: Links) -> Floats:
    """The nominal bandwidth of a device's links to the others of its group [B/s].

    What a stage passes on may go to the device that is reached slowest. A group that grows with the machine is taken to
    have all links of its devices, so that no step gets shorter with more of them.
    """
    among = links.inside.nominal_among(messages.per_node)
    to_one = np.where(messages.operator == "send_recv", links.inside.slowest_neighbour, np.inf)
    return np.where(messages.fixed, np.minimum(among, to_one), links.inside.nominal)


def _shared_bandwidths(messages: Messages, inside: Floats, between: float, bus: float) -> tuple[Floats, Floats]:
    """The bandwidth of each message within a node and between nodes [B/s]; infinite where it crosses none.

    Messages that leave a node at once share the bandwidth ``between`` nodes; a device sends no more than its ``bus``
    carries.
    """
    scattered = np.isin(messages.operator, ["all_to_all", "send_recv"])
    leaving = np.where(messages.operator == "all_to_all", _share_leaving(messages), 1.0)
    flows = np.where(scattered, messages.per_node * leaving, 1.0) * messages.at_once  # that leave a node at once
    senders = np.where(scattered, 1.0, messages.per_node)
    outside = np.minimum(between / np.maximum(flows, 1.0), senders * bus)
    return np.where(messages.per_node > 1, inside, np.inf), np.where(messages.nodes > 1, outside, np.inf)


def _share_leaving(messages: Messages) -> Floats:
    """The share of an all-to-all's bytes that leave the node."""
    return (messages.ranks - messages.per_node) / np.maximum(messages.ranks - 1, 1.0)


def _reduces(messages: Messages) -> Flags:
    return np.isin(messages.operator, REDUCED)


def _reduced_in_network(messages: Messages, links: Links) -> Flags:
    """Which messages the network's switches can reduce: those that leave a node."""
    return _reduces(messages) & (messages.nodes > 1) & links.in_network


def _switched_transfer(messages: Messages, hops: tuple[Floats, Floats]) -> Floats:
    """Time of the bytes where switches reduce [s], by the slower hop: each device of a node owns a part of them."""
    inside, between = hops
    volume = 2.0 * (messages.per_node - 1) / messages.per_node
    return messages.bytes * np.maximum(volume / inside, 1.0 / between)


def _passes(messages: Messages) -> Floats:
    """How often a message goes round: twice where it is reduced and then gathered."""
    return np.where(_reduces(messages), 2.0, 1.0)


def _ring_volume(messages: Messages) -> Floats:
    """Bytes that each rank sends, as a multiple of the message."""
    part = (messages.ranks - 1) / messages.ranks
    return np.where(np.isin(messages.operator, PASS_ALL_ON), 1.0, _passes(messages) * part)
