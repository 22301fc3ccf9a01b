"""Operand shapes and attributes → the dimensions of a convolution.

Every pass is described by its forward convolution: an image of c channels, weights, and an output of k channels. In a
transposed convolution the two change places. Each pass takes 2·n·k·p·q·(c/groups)·r·s FLOP, products with padding
included, as in TensorFlow and PyTorch; XLA's own convolutions are counted as XLA counts them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from estimator.core.conv_shape import AXES, IMAGE, OUTPUT, WINDOW
from estimator.core.errors import EstimatorError
from estimator.work.shapes import Op, Shape
from estimator.work.windows import SPATIAL, Sizes, per_axis, spatial_sizes
from estimator.work.xla_convolution import exact_flop, labelled_layouts, runs_backwards
from estimator.work.xla_weight_gradients import as_forward, gives_weights, without_axis_of_groups

GRADIENTS = ("grad_input", "grad_weights")
CHANNELS = {"image": ("CN",), "output": ("CN",), "weights": ("IO", "CM", "IM")}  # axes that are not spatial
RESULT = {"forward": "output", "grad_input": "image", "grad_weights": "weights"}
OF_TRANSPOSED = {"forward": "grad_input", "grad_input": "forward"}
OPPOSITE = {"image": "output", "output": "image"}
TENSORS = ("image", "weights", "output")


@dataclass(frozen=True)
class Convolution:
    """One convolution; sizes of image, window and output along its spatial axes."""

    n: int
    c: int
    k: int
    groups: int
    image: Shape
    window: Shape
    output: Shape
    strides: Shape
    pads: Shape
    dilations: Shape
    direction: str
    flop: float | None = None  # of one call, where it differs from that of the dimensions

    def columns(self) -> dict[str, int | str]:
        """The columns of WORK; XLA's negative padding, which crops, becomes 0."""
        out: dict[str, int | str] = {f"conv_{name}": getattr(self, name) for name in "nck"}
        for names, values in ((IMAGE, self.image), (WINDOW, self.window), (OUTPUT, self.output)):
            out |= {f"conv_{name}": value for name, value in zip(names[-len(values) :], values, strict=True)}
        for what, values in (("stride", self.strides), ("pad", self.pads), ("dilation", self.dilations)):
            out |= {f"{what}_{axis}": max(value, 0) for axis, value in zip(AXES[-len(values) :], values, strict=True)}
        for name in ("conv_h", "conv_r", "conv_p"):
            out.setdefault(name, 1)  # of one spatial axis
        return {**out, "groups": self.groups, "pass": self.direction}


def read_convolution(op: Op) -> Convolution | None:
    """The convolution that an op computes; None where its shapes or attributes do not determine it.

    Raises EstimatorError where attributes are unreadable, or kernel, image and groups do not fit each other.
    """
    folded = without_axis_of_groups(op)
    if not op.kernel_rule.counts_padding and gives_weights(folded):
        convolution = read_convolution(as_forward(folded))
        return convolution and replace(convolution, direction="grad_weights", flop=exact_flop(op))
    direction = _direction(op)
    backwards = op.attributes.get("transposed") == "1" or runs_backwards(op)
    image, weights, output = _tensors(op, direction, backwards)
    if not weights or not (image or output) or 0 in (*image.values(), *weights.values(), *output.values()):
        return None
    direction = OF_TRANSPOSED.get(direction, direction) if backwards else direction
    convolution = _complete(op, image, weights, output, direction)
    if convolution is None or "labels" not in op.attributes:
        return convolution
    return convolution if op.kernel_rule.counts_padding else replace(convolution, flop=exact_flop(op))


def _direction(op: Op) -> str:
    """The pass: by the kernel's name, else as stated, else by the op type."""
    by_kernel, by_type = op.kernel_rule.properties.direction, op.type_rule.properties.direction
    return by_kernel if by_kernel in GRADIENTS else op.attributes.get("pass", by_type or "forward")


def _tensors(op: Op, direction: str, backwards: bool) -> tuple[Sizes, Sizes, Sizes]:
    """Image, weights and output of the forward convolution; empty where unknown."""
    plain = ("image", "weights") if direction == "forward" or "labels" in op.attributes else TENSORS
    roles = (op.kernel_rule if op.kernel_rule.counts_padding else op.type_rule).operands or plain
    result = (RESULT[direction],) if direction in RESULT else ()
    roles = tuple(role.removesuffix("_sizes") for role in roles)  # hand-made tables list the tensor instead of sizes
    listed = (*zip(result, op.outputs, strict=False), *zip(roles, op.operands, strict=False))
    shapes = {role: shape for role, shape in listed if shape is not None and len(shape) > 2}
    layouts = _layouts(op, max(map(len, shapes.values()), default=0))
    tensors: dict[str, Sizes] = {role: _sizes_by_letter(shapes.get(role, ()), layouts[role], role) for role in layouts}
    if backwards:
        tensors = {role: tensors[OPPOSITE.get(role, role)] for role in tensors}
        tensors["weights"] = _as_forward(tensors["weights"], tensors["output"])
    return tensors["image"], tensors["weights"], tensors["output"]


def _layouts(op: Op, rank: int) -> dict[str, str]:
    """A letter for each dimension of each tensor: as stated, else by the framework's default."""
    if "labels" in op.attributes:
        return labelled_layouts(op.attributes["labels"])
    spatial = SPATIAL[max(0, 5 - rank) :]
    first = op.type_rule.channels_first
    images = op.attributes.get("layout", f"NC{spatial}" if first else f"N{spatial}C")
    weights = op.attributes.get("kernel_layout", f"OI{spatial}" if first else f"{spatial}IO")
    return {"image": images, "weights": weights, "output": images}


def _sizes_by_letter(shape: Shape, layout: str, role: str) -> Sizes:
    """The sizes of one tensor by their letters; empty where the layout is unknown or does not fit."""
    axes = "".join(sorted(set(layout) - set(SPATIAL)))
    known = axes in CHANNELS[role] and len(shape) == len(layout) == len(set(layout)) > 2
    return dict(zip(layout, shape, strict=True)) if known else {}


def _as_forward(weights: Sizes, output: Sizes) -> Sizes:
    """A transposed convolution's weights as its forward convolution has them: O is the transposed one's input."""
    one, other = [letter for letter in weights if letter in "OI"] if {"O", "I"} <= weights.keys() else ("", "")
    if not one:
        return weights
    if output and weights[one] != output["C"] == weights[other]:
        one, other = other, one
    return {**weights, "O": weights[one], "I": weights[other]}


def _complete(op: Op, image: Sizes, weights: Sizes, output: Sizes, direction: str) -> Convolution | None:
    """The convolution, with unknown sizes from strides, padding and the other tensors; None where that fails."""
    axes = [axis for axis in SPATIAL if axis in weights]
    if any(tensor and [a for a in SPATIAL if a in tensor] != axes for tensor in (image, output)):
        return None
    groups, i, o = _channels(op, image, weights)
    strides, dilations = per_axis(op, "strides", len(axes)), per_axis(op, "dilations", len(axes))
    window = tuple(weights[axis] for axis in axes)
    extent = tuple(d * (r - 1) + 1 for d, r in zip(dilations, window, strict=True))
    sizes = spatial_sizes(op, axes, image, output, extent, strides)
    if sizes is None:
        return None
    convolution = Convolution(
        n=(image or output)["N"], c=image.get("C", i * groups), k=output.get("C", o), groups=groups, image=sizes[0],
        window=window, output=sizes[1], strides=strides, pads=sizes[2], dilations=dilations, direction=direction,
    )  # fmt: skip
    return convolution if _fits(op, convolution, i, o) else None


def _channels(op: Op, image: Sizes, weights: Sizes) -> tuple[int, int, int]:
    """Groups, input channels of one group, output channels; in TensorFlow, shapes alone determine the groups."""
    if "M" in weights or op.type_rule.depthwise:
        channels = weights.get("C", weights.get("I", 1))
        return channels, 1, channels * weights.get("M", weights.get("O", 1))
    stated = op.whole_numbers("groups")
    return (stated[0] if stated else max(1, image.get("C", 0) // weights["I"])), weights["I"], weights["O"]


def _fits(op: Op, convolution: Convolution, i: int, o: int) -> bool:
    """Whether channels, groups and sizes fit each other. Raises EstimatorError where the op states attributes.

    XLA checks its own convolutions; for them only unreadable sizes are detected.
    """
    fits = convolution.groups > 0 and min(convolution.image + convolution.output) > 0
    if "labels" in op.attributes:
        return fits
    fits = (
        fits
        and convolution.c == i * convolution.groups
        and convolution.k == o
        and convolution.k % convolution.groups == 0
    )
    if not fits and op.attributes:
        raise EstimatorError("kernel, image and groups of the convolution do not fit; mend its shapes or attributes")
    return fits
