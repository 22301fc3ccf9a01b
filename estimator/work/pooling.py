"""Operand shapes and attributes → the sizes of a pool: a window that moves over every channel of an image.

It reads TensorFlow's pools with two spatial axes; for others only the traffic is known.
"""

from __future__ import annotations

from estimator.work.shapes import Op, Shape
from estimator.work.windows import per_axis

AXES = (("conv_h", "conv_r", "conv_p", "stride_h"), ("conv_w", "conv_s", "conv_q", "stride_w"))


def read_pool(op: Op) -> dict[str, int | str] | None:
    """The columns of WORK of a pool, or of a gradient's forward pool; None where shapes are unknown.

    An unstated window equals its stride; an unstated stride is image size / output size. Raises EstimatorError where
    attributes are unreadable.
    """
    layout, images = op.attributes.get("layout", "NHWC"), _images(op)
    if sorted(layout) != sorted("NHWC") or any(shape is None or len(shape) != 4 or 0 in shape for shape in images):
        return None
    image, output = (dict(zip(layout, shape or (), strict=True)) for shape in images)
    ratio = tuple(max(1, round(image[axis] / output[axis])) for axis in "HW")
    strides = per_axis(op, "strides", 2) if "strides" in op.attributes else ratio
    window = per_axis(op, "window", 2) if "window" in op.attributes else strides
    columns: dict[str, int | str] = {"conv_n": image["N"], "conv_c": image["C"]}
    for axis, names, stride, size in zip("HW", AXES, strides, window, strict=True):
        columns |= dict(zip(names, (image[axis], size, output[axis], stride), strict=True))
    return {**columns, "pass": op.type_rule.properties.direction}


def _images(op: Op) -> tuple[Shape | None, Shape | None]:
    """Image and output of the forward pass; a gradient of average pools has the image as result only."""
    result = next(iter(op.outputs), None)
    if not op.type_rule.operands:
        return None, None
    if op.type_rule.properties.direction == "forward":
        return op.operand("image"), result
    return (op.operand("image") if "image" in op.type_rule.operands else result), op.operand("output")
