"""Fused attention: operands → FLOP and traffic. Its matrix of scores never leaves the chip."""

from __future__ import annotations

import math
from dataclasses import dataclass

from estimator.work.shapes import Op, Shape

FORWARD, BACKWARD = 2, 5  # products of attention's size; backward: scores again, and gradients of values, weights, q, k
OPERATORS = ("attention", "attention_grad")
ROLES = ("queries", "keys", "values")
CAUSAL = "causal"  # attribute: 1 where no query sees later keys, which halves the work


@dataclass(frozen=True)
class Layer:
    """What one call computes [FLOP] and moves [elements]."""

    flop: float
    elements: float


def read_attention(op: Op) -> Layer | None:
    """The work of an op that is attention; None where it is none, is a lesser kernel of it, or has unknown shapes.

    FLOP = 2 · products · scores · (size of a key + size of a value) / 2; queries, keys, values and results move once,
    with their gradients backward.
    """
    if op.type_rule.operator not in OPERATORS or _is_lesser_kernel(op):
        return None
    found = [shape for role in ROLES if (shape := op.operand(role))]
    if len(found) < len(ROLES) or any(len(shape) != 4 for shape in found):
        return None
    return _work(op, *found)


def _is_lesser_kernel(op: Op) -> bool:
    """Whether the kernel's name says that it does something else; a name that says nothing does the work."""
    return op.kernel_differs and bool(op.kernel_rule.names) and op.kernel_rule.operator not in (*OPERATORS, "gemm")


def _work(op: Op, queries: Shape, keys: Shape, values: Shape) -> Layer:
    forward = op.type_rule.operator == "attention"
    scores = math.prod(queries[:-1]) * keys[op.type_rule.positions]
    flop = (FORWARD if forward else BACKWARD) * scores * (queries[-1] + values[-1])
    size = sum(map(math.prod, (queries, keys, values))) + math.prod(queries[:-1]) * values[-1]
    return Layer(flop / (2.0 if op.attributes.get(CAUSAL) == "1" else 1.0), float(size * (1 if forward else 2)))
