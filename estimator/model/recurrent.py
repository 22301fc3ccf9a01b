"""Time of recurrent layers: each step of a sequence multiplies the state that the step before it made.

At each of T steps the weights of g gates multiply the state of N sequences, of width h. The input, of width i, waits
for no step: it is multiplied at once for all of them, and so is the gradient of the weights. With the time τ(m, n, k)
of a product (gemm.py), and s for all else that a step takes, such as launches and the gates:

    forward:       T · (τ(g·h, N, h) + s) + τ(g·h, N·T, i)
    grad_input:    T · (τ(h, N, g·h) + s) + τ(i, N·T, g·h)
    grad_weights:  τ(g·h, h + i, N·T)

Source: Appleyard, Kocisky & Blunsom, "Optimizing Performance of Recurrent Neural Networks on GPUs", arXiv:1604.01946
(recalled): products of the input are joined over the steps of a sequence. s is by eye from DeepBench
(coefficients/kernel_priors.yaml).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from estimator.core.passes import runs_pass
from estimator.core.recurrent_shape import RecurrentShape
from estimator.core.types import Floats, Names

WAITING = ("forward", "grad_input")  # passes whose steps wait for each other


@dataclass(frozen=True)
class Products:
    """Equal products that a layer runs one after another, one entry per layer; ``count`` is 0 where there are none."""

    count: Floats
    m: Floats
    n: Floats
    k: Floats


def products_of(shape: RecurrentShape, passes: Names) -> Iterator[Products]:
    """Yield the products of each layer in its pass, those of the steps and those over all steps; not those of none."""
    gates, samples = shape.gates * shape.hidden, shape.sequences * shape.timesteps
    of_pass = (
        ("forward", shape.timesteps, (gates, shape.sequences, shape.hidden)),
        ("forward", 1.0, (gates, samples, shape.input_width)),
        ("grad_input", shape.timesteps, (shape.hidden, shape.sequences, gates)),
        ("grad_input", 1.0, (shape.input_width, samples, gates)),
        ("grad_weights", 1.0, (gates, shape.hidden + shape.input_width, samples)),
    )
    for name, count, sizes in of_pass:
        exist = runs_pass(passes, name) & (np.min(sizes, axis=0) > 0)
        if exist.any():
            yield Products(np.where(exist, count, 0.0), *(np.maximum(size, 1.0) for size in sizes))


def waiting_steps(shape: RecurrentShape, passes: Names) -> Floats:
    """How many steps of each layer wait for the one before."""
    return np.asarray(shape.timesteps * np.sum([runs_pass(passes, name) for name in WAITING], axis=0))
