"""Operand shapes → the channels of an op that meets every pixel of an image with one number for each channel, as biases
and normalizations do, or that sums up every channel, as their gradients do: the last axis, or the columns of a matrix.

Processors take longer for either than to move the elements: each finds its partner by its index.
"""

from __future__ import annotations

import math

from estimator.work.shapes import Op, Shape


def read_broadcast(op: Op) -> dict[str, int] | None:
    """The channels of an element-wise op of two operands; None where these do not meet so, or stand in a list."""
    if len(op.operands) != 2 or "lists" in op.attributes:
        return None
    small, large = sorted(op.operands, key=lambda shape: math.prod(shape or ()))
    return _channels(large, small) if {large, None} & set(op.outputs or (None,)) else None


def read_sum(op: Op) -> dict[str, int] | None:
    """The channels of a reduction of all other axes; None where it is not one, or shapes do not tell of which."""
    first, result = ((shapes or (None,))[0] or () for shapes in (op.operands, op.outputs))
    if op.operator.operator == "bias_grad":
        return _channels(first, result or first[-1:])
    told = len(first) == len(result) or not {*first[-1:]} & {*first[:-1]}  # of two axes alike, which one is left?
    return _channels(first, result) if told else None


def _channels(large: Shape | None, small: Shape | None) -> dict[str, int] | None:
    if not large or not small or not small[-1] == large[-1] == math.prod(small):
        return None
    return {"conv_c": large[-1]} if math.prod(large) > large[-1] > 1 else None
