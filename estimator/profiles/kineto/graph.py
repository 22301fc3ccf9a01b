"""Autograd's graph as a Kineto trace shows it: what the backward pass tells of each op of the forward pass."""

from __future__ import annotations

from dataclasses import dataclass

from estimator.core.types import Flags, Integers
from estimator.profiles.kineto.autograd import tracked
from estimator.profiles.kineto.checkpoints import block_numbers, find_blocks, gradients_of_inputs, runs_again
from estimator.profiles.kineto.frozen_weights import frozen_products, gradients_of_lookups
from estimator.profiles.kineto.nesting import Nesting
from estimator.profiles.kineto.trace import Trace


@dataclass(frozen=True)
class Graph:
    """For each op: whether autograd tracks it in the forward pass; whether a checkpoint runs it again, and the block
    that it is of in the forward pass (NO_BLOCK: none); whether it is a product whose gradient is that of the input
    alone; and whether it is the end of the gradient of an input: of a block, or of the first one behind a frozen table.
    """

    tracked: Flags
    runs_again: Flags
    block: Integers
    frozen: Flags
    of_input: Flags


def read_graph(trace: Trace, nest: Nesting) -> Graph:
    """The graph of a trace's ops."""
    again = runs_again(trace, nest)
    blocks = list(find_blocks(trace, nest, again))
    has_gradient = tracked(trace, nest)
    return Graph(
        tracked=has_gradient,
        runs_again=again,
        block=block_numbers(blocks, nest),
        frozen=frozen_products(trace, nest, again),
        of_input=gradients_of_inputs(blocks, trace, nest) | gradients_of_lookups(trace, nest, has_gradient),
    )
