"""Ops that hold several matrix products: attention and recurrent layers. Their FLOP are known, one product is not."""

from __future__ import annotations

import math
from dataclasses import dataclass

from estimator.work.shapes import Op, Shape

FORWARD, BACKWARD = 2, 5  # products of attention's size; backward: scores again, and gradients of values, weights, q, k
ATTENTION = ("attention", "attention_grad")
RECURRENT = {"recurrent": 1, "recurrent_grad": 2}  # operator → passes over the weights


@dataclass(frozen=True)
class Layer:
    """What one call computes [FLOP] and moves [elements]."""

    flop: float
    elements: float


def read_layer(op: Op) -> Layer | None:
    """The work of an op that is a whole layer; None where it is none, is one of its kernels, or has unknown shapes."""
    return _attention(op) or _recurrent(op)


def _attention(op: Op) -> Layer | None:
    if op.asked.operator not in ATTENTION or (op.runs_another and op.ran.operator not in ATTENTION):
        return None
    found = _known(op, ("queries", "keys", "values"))
    if found is None or any(len(shape) != 4 for shape in found):
        return None
    queries, keys, values = found
    products = FORWARD if op.asked.operator == "attention" else BACKWARD
    scores = math.prod(queries[:-1]) * keys[op.asked.positions]
    size = sum(map(math.prod, found)) + math.prod(queries[:-1]) * values[-1]  # operands, and a result for every query
    return Layer(float(products * scores * (queries[-1] + values[-1])), float(size * (1 if products == FORWARD else 2)))


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
