"""Spatial axes of a convolution: image and output sizes from strides, padding and dilation."""

from __future__ import annotations

import re
from collections.abc import Mapping

from estimator.core.errors import EstimatorError
from estimator.work.shapes import Op, Shape
from estimator.work.xla_convolution import runs_backwards

SPATIAL = "DHW"
PAD = r"-?\d{1,15}(_-?\d{1,15})?"
PADS = re.compile(rf"{PAD}(x{PAD})*")
Sizes = Mapping[str, int]  # of one tensor by letter: N, C, O, I and the spatial axes


def per_axis(op: Op, key: str, axes: int) -> Shape:
    """Strides, dilations or a window along each axis; 1 where not stated. Raises EstimatorError."""
    if "labels" in op.attributes:  # the dilation of XLA's image is the stride of the forward convolution
        xla_names = {"dilations": "rhs_dilations", "strides": "lhs_dilations" if runs_backwards(op) else "strides"}
        key = xla_names.get(key, key)
    values = op.whole_numbers(key) or (1,) * axes
    if len(values) != axes or min(values) < 1:
        raise EstimatorError(
            f"{key} is '{op.attributes[key]}'; expected {axes} whole numbers above 0, one for each axis"
        )
    return values


def spatial_sizes(
    op: Op, axes: list[str], image: Sizes, output: Sizes, extent: Shape, strides: Shape
) -> tuple[Shape, Shape, Shape] | None:
    """Sizes of image and output, and the padding before, by axis; None where nothing states the padding.

    ``extent`` is the size of the dilated window. An unknown image is the smallest that gives the output; FLOP do not
    depend on it.
    """
    ends = paddings(op, len(axes))
    if not (output or ends or op.attributes.get("padding", "").upper() == "SAME"):
        return None
    sizes = []
    for i, axis in enumerate(axes):
        padded = sum(ends[i]) if ends else None
        known = _complete_axis(image.get(axis), output.get(axis), strides[i], extent[i], padded)
        if known is None:
            return None
        h, p = known
        sizes.append((h, p, ends[i][0] if ends else max((p - 1) * strides[i] + extent[i] - h, 0) // 2))
    image_sizes, output_sizes, pads = zip(*sizes, strict=True)
    return image_sizes, output_sizes, pads


def _complete_axis(
    h: int | None, p: int | None, stride: int, extent: int, padded: int | None
) -> tuple[int, int] | None:
    """Sizes of image and output along one axis, each by the other; None where both are unknown.

    ``padded`` is the padding at both ends together; None: as much as gives an output for each stride.
    """
    if p is None:
        if h is None:
            return None
        return h, -(-h // stride) if padded is None else (h + padded - extent) // stride + 1
    if h is None:
        return (p - 1) * stride + (1 if padded is None else extent - padded), p
    return h, p


def paddings(op: Op, axes: int) -> list[tuple[int, int]] | None:
    """Padding before and after each axis; None where it follows from the sizes. Raises EstimatorError."""
    if op.attributes.get("padding", "").upper() == "VALID":
        return [(0, 0)] * axes
    text = op.attributes.get("pads")
    if text is None or runs_backwards(op):
        return None
    ends = [tuple(int(end) for end in part.split("_")) for part in text.split("x")] if PADS.fullmatch(text) else []
    if len(ends) != axes:
        raise EstimatorError(f"pads is '{text}'; expected one for each of {axes} axes, such as 1x1 or 0_1x0_1")
    return [(end[0], end[-1]) for end in ends]
