"""Layers that are autograd functions of Transformer Engine: they run their products without any op inside.

A function lists its tensors, in an order that differs between versions. Source: transformer_engine/pytorch/module.
"""

from __future__ import annotations

import math
import re
from functools import lru_cache
from itertools import chain

from estimator.profiles.kineto.arguments import Call, Sizes, Work, read_sizes

LAYER = re.compile(r"_(Linear|GroupedLinear|LayerNormLinear|LayerNormMLP)(Backward)?")
WEIGHT_FIRST, GRADIENT = "_Linear", "Backward"

Product = tuple[int, int, int]  # rows, outputs and inputs of a layer


@lru_cache(maxsize=1 << 16)
def is_layer(name: str) -> bool:
    """Whether an op is such a layer or its gradient."""
    return bool(LAYER.fullmatch(name))


def describe_layer(call: Call) -> tuple[Work, ...]:
    """The products of a layer, or those of its gradient; no operands where the trace does not tell them."""
    products = _products(call.name.removesuffix(GRADIENT), matrices(call))
    if call.name.endswith(GRADIENT):
        works = [work for m, n, k in products for work in (_work((m, n), (n, k), "nn"), _work((m, n), (m, k), "tn"))]
    else:
        works = [_work((m, k), (n, k), "nt") for m, n, k in products]
    return tuple(works) or (Work(),)


def matrices(call: Call) -> list[Sizes]:
    """The tensors of two dimensions or more."""
    return [sizes for sizes in chain(*read_sizes(call.dims)) if len(sizes) > 1]


def _products(name: str, tensors: list[Sizes]) -> list[Product]:
    """The products of a function of these tensors, of which some may be copies of its weights in fp8."""
    others = [sizes for sizes in tensors[1:] if sizes[-1] == tensors[0][-1]]
    if name == WEIGHT_FIRST:
        weights, images = tensors[:1], others[-1:]
    else:
        images, weights = tensors[:1], others[:1]
    if not images or not weights or len(weights[0]) != 2:
        return []
    rows, (outputs, depth) = math.prod(images[0][:-1]), weights[0]
    first = (rows, outputs, depth)
    if not name.endswith("MLP"):
        return [first]
    gated = (outputs, outputs // 2)  # of an activation that halves
    second = next(
        (sizes for sizes in tensors[1:] if sizes[0] == depth and sizes[-1] in gated and len(sizes) == 2), None
    )
    return [first, (rows, *second)] if second else []


def _work(a: tuple[int, int], b: tuple[int, int], transposes: str) -> Work:
    return Work(f"{a[0]}x{a[1]};{b[0]}x{b[1]}", f"trans_a={transposes[0]};trans_b={transposes[1]}")
