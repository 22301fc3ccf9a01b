"""The coefficients of the model of collectives: coefficients/collectives.yaml."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from estimator.core.types import File
from estimator.model.calibration import KernelHyperparameters

Positive = Annotated[float, Field(gt=0)]
Share = Annotated[float, Field(gt=0, le=1)]


class Protocol(File):
    """One protocol of a library: its start, and the latency of a step over each class of links [s]."""

    start_s: float = Field(ge=0)
    fabric_s: Positive
    pcie_s: Positive
    network_s: Positive


class CollectiveCoefficients(File):
    """All of them. ``latency`` and ``steps`` scale what the library's own tables say of starts and steps.

    Fitted are these two, ``ll_share``, the efficiencies of fabric and pcie, and ``one_shot_s``; the others are taken.
    """

    source: str
    protocols: dict[str, Protocol]  # of a library, as its own tuning takes them
    latency: Positive
    steps: Positive
    ll_share: Share = Field(description="of the bandwidth, that the protocol LL attains")
    ll128_share: Share
    efficiencies: dict[str, Share] = Field(description="of the nominal bandwidth, by class of links")
    socket_rate: Positive = Field(description="of one node through the operating system's sockets [B/s]")
    contention: float = Field(ge=0, description="exponent: of the devices that share a bus, by which they slow down")
    one_shot_s: Positive = Field(description="start of a kernel that reads all other devices' memory [s]")
    hyperparameters: KernelHyperparameters

    def share(self, protocol: str) -> float:
        """The share of the bandwidth that a protocol attains."""
        return {"ll": self.ll_share, "ll128": self.ll128_share}.get(protocol, 1.0)

    def start(self, protocol: str) -> float:
        """The start of a protocol [s]."""
        return self.latency * self.protocols[protocol].start_s

    def step(self, kind: str, protocol: str) -> float:
        """The latency of a step over a class of links by a protocol [s]."""
        times = self.protocols[protocol]
        by_kind = {"fabric": times.fabric_s, "pcie": times.pcie_s}
        return self.steps * by_kind.get(kind, times.network_s)

    def efficiency(self, kind: str) -> float:
        """The share of its nominal bandwidth that a class of links sustains."""
        return self.efficiencies[kind]
