"""XLA's general convolutions, which compute forward passes and gradients by dilated images and unusual layouts."""

from __future__ import annotations

import math
import re

import numpy as np

from estimator.core.errors import EstimatorError
from estimator.work.shapes import Op

MOST_POINTS = 10**7  # window × output of one axis; beyond it, products with padding are counted as well
LETTERS = {"b": "N", "f": "C", "i": "I", "o": "O"}
AXES = "ADHW"  # of space; XLA writes groups as one more in front


def labelled_layouts(labels: str) -> dict[str, str]:
    """The layouts of ``b01f_01io->b01f`` as ``NHWC``, ``HWIO`` and ``NHWC``. Raises EstimatorError."""
    image, underscore, rest = labels.partition("_")
    weights, arrow, output = rest.partition("->")
    spatial = AXES[max(0, 2 + len(AXES) - len(image)) :]
    letters = LETTERS | {str(i): letter for i, letter in enumerate(spatial)}
    if not (underscore and arrow) or {*image, *weights, *output} - letters.keys():
        raise EstimatorError(f"labels is '{labels}'; expected such as b01f_01io->b01f")
    sides = zip(("image", "weights", "output"), (image, weights, output), strict=True)
    return {role: "".join(letters[label] for label in text) for role, text in sides}


def sample_places(labels: str, direction: str) -> tuple[int | None, int | None, int | None]:
    """Which dimensions of image, window and result hold the samples; None for one that holds none.

    A gradient of weights sums over the samples: they are the features of its image and of its window.
    Raises EstimatorError.
    """
    layouts = labelled_layouts(labels)
    if direction == "grad_weights":
        return layouts["image"].find("C"), layouts["weights"].find("I"), None
    return layouts["image"].find("N"), None, layouts["output"].find("N")


def runs_backwards(op: Op) -> bool:
    """Whether the image is dilated, as in the input's gradient of a strided convolution."""
    return "labels" in op.attributes and max(op.whole_numbers("lhs_dilations") or (1,)) > 1


def exact_flop(op: Op) -> float | None:
    """FLOP as in XLA's cost analysis, which omits products with padding or with the holes of a dilation.

    2 × images × output channels × input channels of a group × pairs of window and output points that meet data, as in
    HloCostAnalysis::GetConvolutionFlops (xla/service/hlo_cost_analysis.cc). None where shapes are unknown.
    """
    sizes = _labelled_sizes(op)
    if sizes is None:
        return None
    image, weights, output = sizes
    axes = [letter for letter in AXES if letter in image]
    settings = zip(axes, *_settings_by_axis(op, len(axes)), strict=True)
    points = [_points(image[axis], weights[axis], output[axis], *of_axis) for axis, *of_axis in settings]
    groups, batch_groups = ((op.whole_numbers(key) or (1,))[0] or 1 for key in ("groups", "batch_groups"))
    return 2.0 * (image["N"] // batch_groups) * (image["C"] // groups) * output["C"] * math.prod(points)


def _labelled_sizes(op: Op) -> list[dict[str, int]] | None:
    """The sizes of image, window and result by the letters of their layouts; None where shapes are unknown."""
    layouts = labelled_layouts(op.attributes["labels"]).values()
    shapes = [shape for shape in (*op.operands[:2], *op.outputs[:1]) if shape is not None]
    if [*map(len, shapes)] != [*map(len, layouts)]:
        return None
    return [dict(zip(layout, shape, strict=True)) for layout, shape in zip(layouts, shapes, strict=True)]


def _settings_by_axis(op: Op, axes: int) -> list[tuple[int, ...]]:
    """Strides, dilations of image and window, and the padding before each axis. Raises EstimatorError."""
    lows = tuple(int(part) for part in re.findall(r"(-?\d{1,15})(?:_-?\d+)?(?:x|$)", op.attributes.get("pads", "")))
    steps = [op.whole_numbers(key) or (1,) * axes for key in ("strides", "lhs_dilations", "rhs_dilations")]
    settings = [*steps, lows or (0,) * axes]
    if any(len(each) != axes for each in settings) or min(map(min, steps)) < 1:
        raise EstimatorError(f"strides, pads and dilations do not all state {axes} axes; mend the attributes")
    return settings


def _points(image: int, window: int, output: int, stride: int, lhs_dilation: int, rhs_dilation: int, low: int) -> int:
    """The number of pairs of a window point and an output point that meet an image element, along one axis."""
    if window * output > MOST_POINTS:
        return window * output
    place = np.arange(output)[:, None] * stride - low + np.arange(window) * rhs_dilation
    return int(((place >= 0) & (place <= (image - 1) * lhs_dilation) & (place % lhs_dilation == 0)).sum())
