"""Priors of kernels that no fit moves: coefficients/kernel_priors.yaml."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from estimator.core.types import File
from estimator.model.calibration import KernelHyperparameters

Std = Annotated[float, Field(ge=0, description="standard deviation of a logarithm; see KernelHyperparameters")]
StdOfKinds = Std | tuple[Std, Std, Std]


class KernelPrior(File):
    """Hyperparameters of one family of kernels, without the spread between devices' memories (memory_bound.yaml)."""

    source: str
    compute: Std
    kind: StdOfKinds
    shape: StdOfKinds
    noise: Std
    scales: tuple[float, ...]
    shape_in_cache: float | None = None

    def hyperparameters(self, memory: float) -> KernelHyperparameters:
        """The hyperparameters of the Gaussian process, with the standard deviation for ``memory``."""
        return KernelHyperparameters(memory=memory, **self.model_dump(include={*KernelHyperparameters.model_fields}))


class AttentionPrior(KernelPrior):
    """What fused attention takes, and how far it differs from that."""

    share: float = Field(gt=0, le=1, description="of the peak that products sustain")
    start_s: float = Field(ge=0, description="time of the shortest call without its launch [s]")


class DepthwiseCycles(File):
    """What a GPU's unit takes for a pixel of a depthwise convolution, for each point on a side of a square window."""

    forward: float = Field(gt=0, description="for a pixel of the output")
    grad_input: float = Field(gt=0, description="for a pixel of the output")
    grad_weights: float = Field(gt=0, description="for a pixel of the image")


class DepthwisePrior(KernelPrior):
    """What depthwise convolutions take, and how far they differ from that."""

    cycles: DepthwiseCycles


class RecurrentPrior(KernelPrior):
    """What a step of a recurrent layer adds to its product, and how far layers differ from that."""

    start_s: float = Field(ge=0, description="of each step on an accelerator [s]")
    processor_start_s: float = Field(ge=0, description="of each step on a processor [s]")


class UsualPool(File):
    """The sizes of a pool that does not state them."""

    source: str
    conv_c: float = Field(gt=0)
    conv_r: float = Field(gt=0)
    conv_s: float = Field(gt=0)


class StandIn(File):
    """Uncertainty of a memory-bound op timed by another one of the same traffic."""

    source: str
    std: Std


class Amounts(File):
    """Scales of similarity for matrix work of which only FLOP and bytes are known."""

    source: str
    scales: tuple[float, float]


class KernelPriors(File):
    """All priors."""

    memory_bound: KernelPrior
    attention: AttentionPrior
    depthwise: DepthwisePrior
    recurrent: RecurrentPrior
    pooling: KernelPrior
    batch_normalization: KernelPrior
    activation: KernelPrior
    channel: KernelPrior
    cast: KernelPrior
    stand_in: StandIn
    amounts: Amounts
    usual_pool: UsualPool
