"""Operand shapes → the channels of an op that broadcasts one number per channel over an image (biases, normalizations),
or sums each channel (their gradients). Channels are the last axis, or the columns of a matrix.

Processors take longer for such ops than to move the elements, as each element needs its channel's index.
"""

from __future__ import annotations

import math

from estimator.work.shapes import Op, Shape


def read_broadcast(op: Op) -> dict[str, int] | None:
    """The channels of an element-wise op on two operands; None where it is no such broadcast, or operands are lists."""
    if len(op.operands) != 2 or "lists" in op.attributes:
        return None
    small, large = sorted(op.operands, key=lambda shape: math.prod(shape or ()))
    return _channels(large, small) if {large, None} & set(op.outputs or (None,)) else None


def read_sum(op: Op) -> dict[str, int] | None:
    """The channels of a reduction over all other axes; None where it is none, or its axes are ambiguous."""
    first, result = ((shapes or (None,))[0] or () for shapes in (op.operands, op.outputs))
    if op.operator.operator == "bias_grad":
        return _channels(first, result or first[-1:])
    is_clear = len(first) == len(result) or not {*first[-1:]} & {*first[:-1]}  # equal axes: either may remain
    return _channels(first, result) if is_clear else None


def read_normalized(op: Op) -> dict[str, int] | None:
    """The channels of a batch normalization or its gradient: the length of its first operand with one axis."""
    if op.operator.along != "images":
        return None
    image, channels = (
        next((shape for shape in op.operands if shape and fits(shape)), None) for fits in (_is_image, _is_vector)
    )
    return {"conv_c": channels[0]} if image and channels and channels[0] in image else None


def _is_image(shape: Shape) -> bool:
    return len(shape) > 1


def _is_vector(shape: Shape) -> bool:
    return len(shape) == 1


def _channels(large: Shape | None, small: Shape | None) -> dict[str, int] | None:
    if not large or not small or not small[-1] == large[-1] == math.prod(small):
        return None
    return {"conv_c": large[-1]} if math.prod(large) > large[-1] > 1 else None
