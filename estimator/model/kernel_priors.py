"""Priors of kernels that no public table times on many devices: coefficients/kernel_priors.yaml."""

from __future__ import annotations

from pydantic import Field

from estimator.core.types import File
from estimator.model.calibration import KernelHyperparameters, OfKinds

Std = Field(description="standard deviation of a logarithm; see KernelHyperparameters")


class KernelPrior(File):
    """Hyperparameters of one family of kernels, without the spread between devices' memories (memory_bound.yaml)."""

    source: str
    compute: float = Std
    kind: OfKinds = Std
    shape: OfKinds = Std
    noise: float = Std
    scales: tuple[float, ...]
    shape_in_cache: float | None = None

    def hyperparameters(self, memory: float) -> KernelHyperparameters:
        """The hyperparameters of the Gaussian process, with the standard deviation for ``memory``."""
        return KernelHyperparameters(memory=memory, **self.model_dump(exclude={"source"}))


class AttentionPrior(KernelPrior):
    """What fused attention takes, and how far it differs from that."""

    share: float = Field(gt=0, le=1, description="of the peak that products sustain")
    start_s: float = Field(ge=0, description="time of the shortest call without its launch [s]")

    def hyperparameters(self, memory: float) -> KernelHyperparameters:
        """The hyperparameters of the Gaussian process, with the standard deviation for ``memory``."""
        return KernelHyperparameters(memory=memory, **self.model_dump(exclude={"source", "share", "start_s"}))


class UsualPool(File):
    """The sizes of a pool that does not state them."""

    source: str
    conv_c: float = Field(gt=0)
    conv_r: float = Field(gt=0)
    conv_s: float = Field(gt=0)


class StandIn(File):
    """Uncertainty of a memory-bound op timed by another one of the same traffic."""

    source: str
    std: float = Std


class Amounts(File):
    """Scales of similarity for matrix work of which only FLOP and bytes are known."""

    source: str
    scales: tuple[float, float]


class KernelPriors(File):
    """All priors."""

    memory_bound: KernelPrior
    attention: AttentionPrior
    pooling: KernelPrior
    activation: KernelPrior
    channel: KernelPrior
    cast: KernelPrior
    stand_in: StandIn
    amounts: Amounts
    usual_pool: UsualPool
