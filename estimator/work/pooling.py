"""Operand shapes and attributes → the sizes of a pool: a window that moves over every channel of an image.

Those of TensorFlow with two spatial axes; of others the traffic alone is known.
"""

from __future__ import annotations

from estimator.work.shapes import Op, Shape
from estimator.work.windows import per_axis

AXES = (("conv_h", "conv_r", "conv_p", "stride_h"), ("conv_w", "conv_s", "conv_q", "stride_w"))


def read_pool(op: Op) -> dict[str, int | str] | None:
    """The columns of WORK that tell a pool, or the forward one that a gradient belongs to; None where shapes do not.

    A window that is not stated is taken to be as large as its stride, and that as image over output. Raises
    EstimatorError where attributes are unreadable.
    """
    layout, images = op.attributes.get("layout", "NHWC"), _images(op)
    if sorted(layout) != sorted("NHWC") or any(shape is None or len(shape) != 4 or 0 in shape for shape in images):
        return None
    image, output = (dict(zip(layout, shape or (), strict=True)) for shape in images)
    ratio = tuple(max(1, round(image[axis] / output[axis])) for axis in "HW")
    strides = per_axis(op, "strides", 2) if "strides" in op.attributes else ratio
    window = per_axis(op, "window", 2) if "window" in op.attributes else strides
    found: dict[str, int | str] = {"conv_n": image["N"], "conv_c": image["C"]}
    for axis, names, stride, size in zip("HW", AXES, strides, window, strict=True):
        found |= dict(zip(names, (image[axis], size, output[axis], stride), strict=True))
    return {**found, "pass": op.asked.of.direction}


def _images(op: Op) -> tuple[Shape | None, Shape | None]:
    """The image and what the forward pass makes of it; the gradient of means knows the size of its result alone."""
    result = next(iter(op.outputs), None)
    if not op.asked.operands:
        return None, None
    if op.asked.of.direction == "forward":
        return op.operand("image"), result
    return (op.operand("image") if "image" in op.asked.operands else result), op.operand("output")
