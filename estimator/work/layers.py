"""Ops that hold several matrix products: attention and recurrent layers. Only their FLOP in all are known."""

from __future__ import annotations

import math
from dataclasses import dataclass

from estimator.work.shapes import Op, Shape

FORWARD, BACKWARD = 2, 5  # products of attention; backward: scores again, and gradients of values, weights, q, k
ATTENTION = ("attention", "attention_grad")
RECURRENT = {"recurrent": 1, "recurrent_grad": 2}  # operator → passes over the weights


@dataclass(frozen=True)
class Layer:
    """Work of one call: FLOP, and elements moved."""

    flop: float
    elements: float


def read_layer(op: Op) -> Layer | None:
    """The work of an op that is a whole layer; None for other ops, for a layer's kernels, and for unknown shapes."""
    return _attention(op) or _recurrent(op)


def _attention(op: Op) -> Layer | None:
    kernel_is_attention = not op.kernel_differs or op.kernel_rule.operator in ATTENTION
    if op.type_rule.operator not in ATTENTION or not kernel_is_attention:
        return None
    shapes = _operands(op, ("queries", "keys", "values"))
    if shapes is None or any(len(shape) != 4 for shape in shapes):
        return None
    queries, keys, values = shapes
    products = FORWARD if op.type_rule.operator == "attention" else BACKWARD
    scores = math.prod(queries[:-1]) * keys[op.type_rule.positions]
    size = sum(map(math.prod, shapes)) + math.prod(queries[:-1]) * values[-1]  # operands, and a result for every query
    return Layer(float(products * scores * (queries[-1] + values[-1])), float(size * (1 if products == FORWARD else 2)))


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
