"""Ops that hold several matrix products: attention and recurrent layers. Their FLOP are known, one product is not."""

from __future__ import annotations

import math

from estimator.work.attention import Layer, read_attention
from estimator.work.shapes import Op, Shape

RECURRENT = {"recurrent": 1, "recurrent_grad": 2}  # operator → passes over the weights


def read_layer(op: Op) -> Layer | None:
    """The work of an op that is a whole layer; None where it is none, is one of its kernels, or has unknown shapes."""
    return read_attention(op) or _recurrent(op)


def _recurrent(op: Op) -> Layer | None:
    """Every weight meets every sample of every time step once; biases among cuDNN's flat weights count as weights."""
    passes = RECURRENT.get(op.asked.operator)
    if passes is None or op.runs_another:
        return None
    found = _known(op, ("input", "weights"))
    if found is None:
        return None
    weights = sum(map(math.prod, found[1:]))
    return Layer(2.0 * passes * math.prod(found[0][:-1]) * weights, float(passes * (math.prod(found[0]) + weights)))


def _known(op: Op, roles: tuple[str, ...]) -> list[Shape] | None:
    """The operands of these roles; None where one is missing or unknown."""
    places = [place for place, role in enumerate(op.asked.operands) if role in roles]
    found = [op.operands[place] for place in places if place < len(op.operands)]
    known = [shape for shape in found if shape]
    return known if places and len(known) == len(places) else None
