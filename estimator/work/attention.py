"""Fused attention: operands → FLOP and traffic. Its matrix of scores never leaves the chip."""

from __future__ import annotations

import math
from dataclasses import dataclass

from estimator.work.operators.rule import ATTENDED, Rule
from estimator.work.shapes import Op, Shape

FORWARD, BACKWARD = 2, 5  # products of attention's size; backward: scores again, and gradients of values, weights, q, k
OPERATORS = ("attention", "attention_grad")
CAUSAL = "causal"  # attribute: 1 where no query sees later keys, which halves the work
WINDOW = "window"  # attribute: N where no query sees keys that are N or more positions earlier


@dataclass(frozen=True)
class Layer:
    """What one call computes [FLOP] and moves [elements]."""

    flop: float
    elements: float

    def gradients(self) -> Layer:
        """What its gradients compute, and move: all tensors, and a gradient of each."""
        return Layer(self.flop * BACKWARD / FORWARD, 2 * self.elements)


def read_attention(op: Op) -> Layer | None:
    """The work of an op that is attention; None where it is none, is a lesser kernel of it, or has unknown shapes.

    FLOP = 2 · products · scores · (size of a key + size of a value) / 2; queries, keys, values and results move once,
    with their gradients backward.
    """
    rule = _call(op)
    if rule.operator not in OPERATORS or _is_lesser_kernel(op):
        return None
    by_role = dict(zip(rule.operands, op.operands, strict=False))
    shapes = [shape for role in ATTENDED if (shape := by_role.get(role))]
    if len(shapes) < len(ATTENDED) or any(len(shape) != 4 for shape in shapes):
        return None
    return _work(op, rule, *shapes)


def _call(op: Op) -> Rule:
    """The rule of the call that lists the operands: that of a library which XLA calls, else the op type's."""
    return op.kernel_rule if op.kernel_rule.operands else op.type_rule


def _is_lesser_kernel(op: Op) -> bool:
    """Whether the kernel's name says that it does something else; a name that says nothing does the work."""
    return op.kernel_differs and bool(op.kernel_rule.names) and op.kernel_rule.operator not in (*OPERATORS, "gemm")


def _work(op: Op, rule: Rule, queries: Shape, keys: Shape, values: Shape) -> Layer:
    positions = keys[rule.positions]
    scores = math.prod(queries[:-1]) * positions * _computed_share(op, positions)
    size = sum(map(math.prod, (queries, keys, values))) + math.prod(queries[:-1]) * values[-1]
    forward = Layer(FORWARD * scores * (queries[-1] + values[-1]), float(size))
    return forward if rule.operator == "attention" else forward.gradients()


def _computed_share(op: Op, positions: int) -> float:
    """The part of the scores that masks leave: each cuts off a triangle, later keys or those before the window."""
    later = 0.5 if op.attributes.get(CAUSAL) == "1" else 0.0
    window = min((*(op.whole_numbers(WINDOW) or ()), positions))
    return 1.0 - later - 0.5 * (1.0 - window / max(positions, 1)) ** 2
