"""Operand shapes → the channels of an op that meets every pixel of an image with one number for each channel, as biases
and normalizations do, or that sums up every channel, as their gradients do: the last axis, or the columns of a matrix.

Processors take longer for either than to move the elements: each finds its partner by its index.
"""

from __future__ import annotations

import math

from estimator.work.shapes import Op, Shape


def read_broadcast(op: Op) -> dict[str, int] | None:
    """The channels of an element-wise op of two operands; None where these do not meet so."""
    if len(op.operands) != 2:
        return None
    small, large = sorted(op.operands, key=lambda shape: math.prod(shape or ()))
    return _channels(large, small)


def read_sum(op: Op) -> dict[str, int] | None:
    """The channels of a sum or mean over all other axes; None where it is not one, or shapes do not tell of which."""
    first, result = (next(iter(shapes), None) for shapes in (op.operands, op.outputs))
    kept = bool(first and result and len(first) == len(result))
    alone = bool(first and first.count(first[-1]) == 1) or op.op_type == "BiasAddGrad"
    return _channels(first, result) if kept or alone else None


def _channels(large: Shape | None, small: Shape | None) -> dict[str, int] | None:
    if not large or not small or not large[-1] == small[-1] == math.prod(small) > 1:
        return None
    return {"conv_c": large[-1]} if math.prod(large) > large[-1] else None
