"""Weights of a Kineto trace that are not trained, such as those of a model that adapters are added to.

Autograd tracks no layer whose input and weights need no gradient. Where only the input needs one, the gradient of a
product runs one product in place of two, and the forward pass need not keep the input (torch, derivatives.yaml, mm).
What a frozen table yields may be made to need a gradient, so that checkpoints have one (PEFT,
``enable_input_require_grads``); it ends there as that of a parameter does.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

import numpy as np

from estimator.core.types import Flags
from estimator.profiles.kineto.arguments import Call, Sizes, base_name, read_sizes
from estimator.profiles.kineto.autograd import handed_over
from estimator.profiles.kineto.checkpoints import LEAST_DIMENSIONS
from estimator.profiles.kineto.nesting import (
    BACK,
    FORWARD,
    NO_OP,
    Nesting,
    are_around,
    are_calls,
    are_numbered_gradients,
    are_products,
    nearest,
)
from estimator.profiles.kineto.trace import ABSENT, Trace

WEIGHTS = {"mm": 1, "addmm": 2, "convolution": 1, "embedding": 0}  # the argument of each op that holds them
FACTORS = 2  # of a product; each of its gradients is a product too


def frozen_products(trace: Trace, nest: Nesting, again: Flags) -> Flags:
    """The products whose gradient is that of the input alone: of the forward pass, or of a checkpoint's second run.

    None where no op hands a gradient to a parameter, as in traces that are samples.
    """
    calls, kind, number = list(trace.calls), trace.ops["kind"], trace.ops["sequence"]
    flags = np.zeros(len(kind), dtype=bool)
    if not any(map(handed_over, calls)):
        return flags
    products = are_calls(trace, lambda call: len(_matrices(call)) == FACTORS)
    forward = np.flatnonzero(products & ((nest.phase == FORWARD) | again) & (number != ABSENT))
    product_of = dict(zip(number[forward].tolist(), forward.tolist(), strict=True))
    for gradient, inside in _lone_products(trace, nest, again):
        row = product_of.get(int(number[gradient]), NO_OP)
        flags[row] |= row != NO_OP and _is_of_input(calls[kind[row]], calls[kind[inside]])
    return flags


def gradients_of_lookups(trace: Trace, nest: Nesting, tracked: Flags) -> Flags:
    """The ends of gradients of what tables that autograd does not track yield: rows of a table, for each index."""
    untracked = (nest.phase == FORWARD) & ~are_around(tracked, nest.parent)
    calls = list(trace.calls)
    looked_up = {_looked_up(calls[kind]) for kind in np.unique(trace.ops["kind"][untracked]).tolist()} - {()}
    return are_calls(trace, lambda call: any(size in looked_up for size in handed_over(call)))


def _looked_up(call: Call) -> Sizes:
    """The size of what an embedding yields, where it alone shows that it is no parameter's; () for other calls."""
    sizes = [*chain(*read_sizes(call.dims)[:2])]
    is_lookup = base_name(call.name) == "embedding" and len(sizes) == 2 and len(sizes[1]) + 1 >= LEAST_DIMENSIONS
    return (*sizes[1], sizes[0][-1]) if is_lookup and sizes[0] else ()


def _lone_products(trace: Trace, nest: Nesting, again: Flags) -> Iterator[tuple[int, int]]:
    """Yield each gradient that runs one product, and that product."""
    gradients = np.flatnonzero(are_numbered_gradients(trace))
    inside = np.flatnonzero(are_products(trace) & ~nest.dispatch & (nest.phase == BACK) & ~again)
    around = nearest(gradients, nest.parent)[inside]
    often = np.bincount(around[around != NO_OP], minlength=1)
    for row, gradient in zip(inside.tolist(), around.tolist(), strict=True):
        if gradient != NO_OP and often[gradient] == 1:
            yield gradient, row


def _matrices(call: Call) -> list[Sizes]:
    """The sizes of the two factors of a product of matrices; none for other calls."""
    if not (place := WEIGHTS.get(base_name(call.name), 0)):
        return []
    return [size for size in chain(*read_sizes(call.dims)[place - 1 : place + 1]) if len(size) == 2]


def _is_of_input(forward: Call, inside: Call) -> bool:
    """Whether a gradient's product is that of the input, grad[m, n] · weights[n, k], and not one of the weights too."""
    (m, k), (_, n) = _matrices(forward)
    return _matrices(inside) == [(m, n), (n, k)] and [(m, n), (n, k)] not in ([(k, m), (m, n)], [(n, m), (m, k)])
