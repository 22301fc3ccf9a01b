"""Along the spatial axes of a convolution: how strides, padding and dilation tie its image to its output."""

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
    """Strides, dilations or a window along each axis, 1 where not stated. Raises EstimatorError."""
    if "labels" in op.attributes:  # what dilates XLA's image is the stride of the forward convolution
        named = {"dilations": "rhs_dilations", "strides": "lhs_dilations" if runs_backwards(op) else "strides"}
        key = named.get(key, key)
    found = op.whole_numbers(key) or (1,) * axes
    if len(found) != axes or min(found) < 1:
        raise EstimatorError(
            f"{key} is '{op.attributes[key]}'; expected {axes} whole numbers above 0, one for each axis"
        )
    return found


def spatial_sizes(
    op: Op, axes: list[str], image: Sizes, output: Sizes, reach: Shape, strides: Shape
) -> tuple[Shape, Shape, Shape] | None:
    """Sizes of image and output and the padding before, by axis; None where nothing states the padding.

    An image that is not known is the smallest that gives the output; FLOP do not depend on it.
    """
    ends = paddings(op, len(axes))
    if not (output or ends or op.attributes.get("padding", "").upper() == "SAME"):
        return None
    sizes = []
    for i, axis in enumerate(axes):
        step, added = strides[i], sum(ends[i]) if ends else None
        p, h = output.get(axis), image.get(axis)
        if p is None and h is not None:
            p = -(-h // step) if added is None else (h + added - reach[i]) // step + 1
        if h is None and p is not None:
            h = (p - 1) * step + (1 if added is None else reach[i] - added)
        if p is None or h is None:
            return None
        sizes.append((h, p, ends[i][0] if ends else max((p - 1) * step + reach[i] - h, 0) // 2))
    found_image, found_output, pads = zip(*sizes, strict=True)
    return found_image, found_output, pads


def paddings(op: Op, axes: int) -> list[tuple[int, int]] | None:
    """Padding before and behind along each axis; None where the sizes must tell. Raises EstimatorError."""
    if op.attributes.get("padding", "").upper() == "VALID":
        return [(0, 0)] * axes
    text = op.attributes.get("pads")
    if text is None or runs_backwards(op):
        return None
    ends = [tuple(int(end) for end in part.split("_")) for part in text.split("x")] if PADS.fullmatch(text) else []
    if len(ends) != axes:
        raise EstimatorError(f"pads is '{text}'; expected one for each of {axes} axes, such as 1x1 or 0_1x0_1")
    return [(end[0], end[-1]) for end in ends]
