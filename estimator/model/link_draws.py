"""How much longer messages take over links that are slower than stated, or than assumed where nothing is stated.

A message goes by its slowest hop. With the sustained bandwidths i within a node and b between nodes, and drawn factors
I and B on them, its bytes take L times as long, its steps Λ times, and all of it

    χ L + (1 − χ) Λ         L = min(i, b) / min(i I, b B),   χ: the share of its bytes in its time
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from estimator.core.interval import draw, draw_sourced
from estimator.core.schema import numbers
from estimator.core.types import DeviceSpec, Floats, RunPlan, Sourced
from estimator.model.coefficients import Coefficient, shipped
from estimator.model.collectives import hop_bandwidths
from estimator.model.kernels.collectives import messages_of
from estimator.model.links import Kind, Links, gives_link, gives_network, links_of, tells_transport
from estimator.model.uncertainty import RandomStreams


@dataclass(frozen=True)
class LinkDraws:
    """Samples of L and Λ of each op; 1 for what is no message."""

    transfer: RandomStreams
    latency: RandomStreams

    def factor(self, transfer_share: Floats, ops: slice) -> Floats:
        """How many times as long some ops take (1 + draws × ops); ``transfer_share``: χ of all ops."""
        latency, share = self.latency.of_ops(ops), np.nan_to_num(transfer_share[ops])
        return np.asarray(latency + share * (self.transfer.of_ops(ops) - latency))


def link_draws(work: pd.DataFrame, device: DeviceSpec, plan: RunPlan) -> LinkDraws | None:
    """How much longer the messages of WORK take in each draw; None where links are certain, or messages were timed."""
    sent = (work["op_class"] == "collective").to_numpy(dtype=bool) & (numbers(work, "ranks") > 1)
    if not sent.any() or (device.network and device.network.measured):
        return None
    links, coefficients = links_of(device), shipped().collectives
    hops = np.stack(hop_bandwidths(messages_of(work[sent], device), links, coefficients), axis=1)
    kinds, kind_of_message = np.unique(hops, axis=0, return_inverse=True)
    stream_of_op = np.zeros(len(work), dtype=np.int_)
    stream_of_op[sent] = 1 + kind_of_message.ravel()
    inside = _inside(device, plan) * _unknown_peers(device, links, plan)
    drawn = kinds[None] * np.stack([inside, _between(device, links, plan)], axis=1)[:, None]
    transfer, crosses = kinds.min(axis=1) / drawn.min(axis=2), np.isfinite(kinds[:, 1])
    latency = np.where(crosses, _step(device, links, plan)[:, None], 1.0)
    if np.ptp(transfer) == np.ptp(latency) == 0:
        return None
    return LinkDraws(*(RandomStreams(np.insert(each, 0, 1.0, axis=1), stream_of_op) for each in (transfer, latency)))


def _inside(device: DeviceSpec, plan: RunPlan) -> Floats:
    """Samples of the factor on a device's links in its node."""
    if not gives_link(device):
        return _assumed(f"{device.name}.link.per_direction", shipped().links.link_bytes_per_s, plan)
    return _declared(f"{device.name}.link.per_direction", device.link.one_way if device.link else None, plan)


def _unknown_peers(device: DeviceSpec, links: Links, plan: RunPlan) -> Floats | float:
    """Samples of the factor on what messages attain over a bus, which may be no way from device to device."""
    if links.inside.kind != "pcie":
        return 1.0
    return _assumed(f"{device.name}.peers", shipped().links.bus_factor, plan)


def _between(device: DeviceSpec, links: Links, plan: RunPlan) -> Floats:
    """Samples of the factor on what messages attain between nodes."""
    stream, coefficients = f"{device.name}.injection_bandwidth", shipped().collectives
    if not gives_network(device):
        factor = _assumed(stream, shipped().links.network_bytes_per_s, plan)
    else:
        factor = _declared(stream, device.network.injection_bandwidth if device.network else None, plan)
    hop = links.between
    attained = hop.sustained_at(hop.nominal * factor, coefficients) / hop.sustained(coefficients)
    return attained * _unknown_transport(device, links, plan)


def _unknown_transport(device: DeviceSpec, links: Links, plan: RunPlan) -> Floats | float:
    """Samples of the factor on what messages attain where nothing tells how they are sent: to that of the other way."""
    if device.network is None or tells_transport(device.network):
        return 1.0
    other: Kind = "tcp" if links.between.kind == "rdma" else "rdma"
    attained = [
        replace(links.between, kind=kind).sustained(shipped().collectives) for kind in (other, links.between.kind)
    ]
    low, high = sorted((attained[0] / attained[1], 1.0))
    return draw(f"{device.name}.transport", low, 1.0, high, plan.draws, plan.seed)


def _step(device: DeviceSpec, links: Links, plan: RunPlan) -> Floats:
    """Samples of the factor on the latency of a step between nodes: of the library's, or of the network's own."""
    stream, stated = f"{device.name}.network_latency", device.network.latency if device.network else None
    if stated is None:
        assumed = not gives_network(device)
        return _assumed(stream, shipped().links.network_step_factor, plan) if assumed else np.ones(1 + plan.draws)
    library_s = shipped().collectives.step(links.between.kind, "ll")
    return np.maximum(library_s, draw_sourced(stream, stated, plan.draws, plan.seed)) / max(library_s, stated.value)


def _declared(stream: str, rate: Sourced | None, plan: RunPlan) -> Floats:
    """Samples of the factor on a rate of a file, by the uncertainty that it declares."""
    return np.ones(1 + plan.draws) if rate is None else draw_sourced(stream, rate, plan.draws, plan.seed) / rate.value


def _assumed(stream: str, taken: Coefficient, plan: RunPlan) -> Floats:
    """Samples of the factor on what is assumed."""
    return draw(stream, taken.low, taken.mid, taken.high, plan.draws, plan.seed) / taken.mid
