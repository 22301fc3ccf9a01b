"""A step of several micro-batches, on one device or on the stages of a pipeline, which pass them on.

One forward, one backward (Narayanan et al., Efficient Large-Scale Language Model Training on GPU Clusters, 2021,
section 2.2): with m micro-batches and stages that take t_i for both passes of one,

    t = Σ t_i + (m − 1) · max t_i

so that the stages idle for Σ t_i − max t_i, the bubble. The blocks of all stages add up to those of the model, however
many each stage has.

Interleaved stages have v runs of blocks each, which a micro-batch passes in turn (section 2.2.2 there). One run of
each stage fills and empties the pipeline, so that the bubble is 1/v of that above, and results are passed on v times as
often. The closed form is that of Megatron's order of passes where all stages take the same time, or the fullest come
last. Where the fullest come first, stages idle less, by up to a half.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from estimator.core.types import Floats


@dataclass(frozen=True)
class MicroStep:
    """One micro-batch through a whole model [s], both passes."""

    before_s: Floats  # of what stands before the blocks
    blocks_s: Floats  # of all blocks
    behind_s: Floats  # of what stands behind them
    update_s: Floats  # of the weights, in the stage that has most of them


def accumulated(passes_s: Floats, last_s: Floats, micro_batches: int) -> Floats:
    """Micro-batches one after another on one device, the last of them with the update of weights [s]."""
    return (micro_batches - 1) * passes_s + last_s


def pipelined(
    micro: MicroStep, stages: int, micro_batches: int, pass_on_s: Floats, interleave: int = 1,
    fullest: float | None = None,
) -> Floats:  # fmt: skip
    """Micro-batches through the stages of a pipeline, and the update of the heaviest stage's weights [s].

    Args:
        micro: one micro-batch through the whole model.
        stages: of the pipeline.
        micro_batches: of a step.
        pass_on_s: to send the results of one micro-batch to the next run of blocks; their gradient comes back as long.
        interleave: runs of blocks of each stage.
        fullest: share of the blocks that the stage with most of them has; None: all stages have as many.
    """
    share = 1.0 / stages if fullest is None else fullest
    of_fullest = share * micro.blocks_s + 2.0 * interleave * pass_on_s
    of_others = (1.0 - share) * micro.blocks_s / interleave + 2.0 * (stages - 1) * pass_on_s  # one run of each
    longest, shortest = np.maximum(micro.before_s, micro.behind_s), np.minimum(micro.before_s, micro.behind_s)
    whole: Floats = micro_batches * (of_fullest + longest)
    return whole + of_others + shortest + micro.update_s


def bubble_share(stages: int, micro_batches: int, interleave: int = 1) -> float:
    """The share of a step in which equal stages idle: (p − 1) / (v·m + p − 1); arguments as of :func:`pipelined`.

    Source: Narayanan et al., 2021, section 2.2, where it is given relative to the rest of the step.
    """
    return (stages - 1) / (interleave * micro_batches + stages - 1)


def forward_pass(micro_s: Floats, micro_batches: Floats, stages: Floats, runs: Floats, pass_on_s: Floats) -> Floats:
    """Micro-batches forward through the stages of a pipeline, as a validation runs them [s].

    (m·v + p − 1) · (f/(p·v) + s): stages take the same time; without stages, micro-batches follow each other.

    Args:
        micro_s: one micro-batch through the whole model [s], f.
        micro_batches: of a batch, m.
        stages: of the pipeline, p.
        runs: of blocks of each stage, v.
        pass_on_s: to send the results of one micro-batch to the next run of blocks [s], s.
    """
    return (micro_batches * runs + stages - 1.0) * (micro_s / (stages * runs) + pass_on_s)


def exposed_reduction(reduced_s: Floats, passes_s: Floats, parts: float) -> Floats:
    """What the reduction of a stage's gradients adds [s]: what the last backward pass does not hide, or its last part.

    Args:
        reduced_s: the time of all messages [s].
        passes_s: both passes of one micro-batch on the fullest stage [s], of which the backward pass takes two thirds.
        parts: number of messages of the stage.
    """
    return np.asarray(np.maximum(reduced_s - 2.0 / 3.0 * passes_s, reduced_s / max(parts, 1.0)))
