"""XLA's gradients of a convolution's weights: convolutions of the image with the output's gradient."""

from __future__ import annotations

import re
from dataclasses import replace

from estimator.work.shapes import Op, Shape
from estimator.work.xla_convolution import AXES, labelled_layouts, runs_backwards

SWAPPED, TO_WEIGHTS, TO_IMAGE = str.maketrans("bf", "fb"), str.maketrans("bf", "io"), str.maketrans("io", "bf")
EXCHANGED = {"strides": "rhs_dilations", "rhs_dilations": "strides", "groups": "batch_groups", "batch_groups": "groups"}
PER_AXIS = ("window", "strides", "pads", "lhs_dilations", "rhs_dilations")
GROWN = "bof"  # the dimensions of image, window and result that hold the groups too


def gives_weights(op: Op) -> bool:
    """Whether a convolution of an image with the output's gradient gives the gradient of the weights.

    Its window is as large as an output of the forward pass, dilated by its stride, and its result is a window of that,
    whose steps stay in the image. Not where the dump says that it is of the forward pass, which may cover a whole image
    too.
    """
    if "labels" not in op.attributes or op.attributes.get("pass") == "forward" or runs_backwards(op):
        return False
    window, result = op.whole_numbers("window"), _along_axes(op, "output", op.outputs[:1])
    if not window or len(window) != len(result):
        return False
    steps, holes = (op.whole_numbers(key) or (1,) * len(window) for key in ("strides", "rhs_dilations"))
    axes = list(zip(window, result, steps, holes, strict=False))
    inside = all(large >= size and (size - 1) * step < large * hole for large, size, step, hole in axes)
    return inside and any(large > size or hole > 1 for large, size, _, hole in axes)


def as_forward(op: Op) -> Op:
    """The forward convolution whose weights' gradient an op gives: samples and channels of its image change places, its
    second operand is the output's gradient, and its result the weights.
    """
    image, gradient, weights = _sides(op)
    labels = f"{image.translate(SWAPPED)}_{weights.translate(TO_WEIGHTS)}->{gradient.translate(TO_IMAGE)}"
    states = {key: op.attributes[other] for key, other in EXCHANGED.items() if other in op.attributes}
    kept = {key: text for key, text in op.attributes.items() if key not in EXCHANGED}
    attributes = {**kept, **states, "labels": labels, "pass": "forward"}
    return replace(op, operands=(*op.operands[:1], *op.outputs[:1]), outputs=op.operands[1:2], attributes=attributes)


def without_axis_of_groups(op: Op) -> Op:
    """The convolution with batch groups in place of an axis that stands for them, as XLA writes it for processors.

    Along that axis of g groups the image is dilated by g, and window and result have g points, in steps of g - 1: each
    point of the result meets one of the window, and one of the image.
    """
    axis, count = _axis_of_groups(op)
    if not count:
        return op
    image, window, result = (
        _folded(shape, side, str(axis), grown, count)
        for shape, side, grown in zip((*op.operands[:2], *op.outputs[:1]), _sides(op), GROWN, strict=True)
    )
    per_axis = {key: _without(op.attributes[key], axis) for key in PER_AXIS if key in op.attributes}
    labels = "{}_{}->{}".format(*(_renumbered(side, axis) for side in _sides(op)))
    attributes = {**op.attributes, **per_axis, "labels": labels, "batch_groups": str(count)}
    return replace(op, operands=(image, window), outputs=(result,), attributes=attributes)


def _axis_of_groups(op: Op) -> tuple[int, int]:
    """The number of the axis that stands for groups, and how many they are; none: (0, 0)."""
    if "labels" not in op.attributes or len(op.operands) < 2:
        return 0, 0
    sizes = [_along_axes(op, role, shapes) for role, shapes in (("image", op.operands[:1]), ("output", op.outputs[:1]))]
    stated = [op.whole_numbers(key) or () for key in ("window", "lhs_dilations", "strides")]
    counts = [
        (axis, image)
        for axis, (image, result, window, dilation, step) in enumerate(zip(*sizes, *stated, strict=False))
        if image == result == window == dilation == step + 1 > 1
    ]
    return counts[0] if len(counts) == 1 and len(stated[0]) > 1 else (0, 0)


def _sides(op: Op) -> list[str]:
    """The labels of image, window and result."""
    return re.split("_|->", op.attributes["labels"])


def _along_axes(op: Op, role: str, shapes: tuple[Shape | None, ...]) -> Shape:
    """The sizes of a tensor along the spatial axes; () where they are unknown."""
    layout, shape = labelled_layouts(op.attributes["labels"])[role], shapes[0] if shapes else None
    axes = sorted((letter, size) for letter, size in zip(layout, shape or (), strict=False) if letter in AXES)
    return tuple(size for _, size in axes)


def _folded(shape: Shape | None, side: str, axis: str, grown: str, count: int) -> Shape | None:
    """A tensor without an axis, whose points are in another dimension."""
    if shape is None or len(shape) != len(side):
        return None
    each = zip(side, shape, strict=True)
    return tuple(size * count if label == grown else size for label, size in each if label != axis)


def _without(text: str, axis: int) -> str:
    """A number for each axis, such as '3x3', without one of the axes."""
    return "x".join(part for place, part in enumerate(text.split("x")) if place != axis)


def _renumbered(side: str, axis: int) -> str:
    """The labels of a tensor without one of the axes."""
    left = side.replace(str(axis), "")
    return "".join(str(int(label) - (int(label) > axis)) if label.isdigit() else label for label in left)
