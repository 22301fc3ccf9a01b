"""Ops that hold several matrix products: attention and recurrent layers. Only their FLOP in all are known."""

from __future__ import annotations

import math

from estimator.work.attention import Layer, read_attention
from estimator.work.shapes import Op, Shape

RECURRENT = {"recurrent": 1, "recurrent_grad": 2}  # operator → passes over the weights


def read_layer(op: Op) -> Layer | None:
    """The work of an op that is a whole layer; None for other ops, for a layer's kernels, and for unknown shapes."""
    return read_attention(op) or _recurrent(op)


def _recurrent(op: Op) -> Layer | None:
    """Each weight is used once per sample and time step; biases among cuDNN's flat weights count as weights."""
    passes = RECURRENT.get(op.type_rule.operator)
    if passes is None or op.kernel_differs:
        return None
    shapes = _operands(op, ("input", "weights"))
    if shapes is None:
        return None
    weights = sum(map(math.prod, shapes[1:]))
    return Layer(2.0 * passes * math.prod(shapes[0][:-1]) * weights, float(passes * (math.prod(shapes[0]) + weights)))


def _operands(op: Op, roles: tuple[str, ...]) -> list[Shape] | None:
    """The operands of these roles; None where one is missing or unknown."""
    places = [place for place, role in enumerate(op.type_rule.operands) if role in roles]
    shapes = [op.operands[place] for place in places if place < len(op.operands)]
    known = [shape for shape in shapes if shape]
    return known if places and len(known) == len(places) else None
