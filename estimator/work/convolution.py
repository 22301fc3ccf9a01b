"""Operand shapes and attributes → the dimensions of a convolution.

Every pass is told as the forward convolution that it belongs to: an image of c channels, weights, and an output of k
channels (of a transposed convolution, its input). The FLOP are those of every pass, 2·n·k·p·q·(c/groups)·r·s, with
products that meet padding counted, as TensorFlow and PyTorch have it; XLA's own convolutions count as XLA does.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from estimator.core.errors import EstimatorError
from estimator.work.shapes import Op, Shape
from estimator.work.windows import SPATIAL, Sizes, per_axis, spatial_sizes
from estimator.work.xla_convolution import exact_flop, labelled_layouts, runs_backwards

GRADIENTS = ("grad_input", "grad_weights")
CHANNELS = {"image": ("CN",), "output": ("CN",), "weights": ("IO", "CM", "IM")}  # axes beside the spatial ones
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
    flop: float | None = None  # of one call, where it is not that of the dimensions

    def columns(self) -> dict[str, int | str]:
        """The columns of WORK that say all this; XLA's negative padding, which crops, is none."""
        out: dict[str, int | str] = {f"conv_{name}": getattr(self, name) for name in "nck"}
        for names, values in (("dhw", self.image), ("trs", self.window), ("zpq", self.output)):
            out |= {f"conv_{name}": value for name, value in zip(names[-len(values) :], values, strict=True)}
        for what, values in (("stride", self.strides), ("pad", self.pads), ("dilation", self.dilations)):
            out |= {f"{what}_{axis}": max(value, 0) for axis, value in zip("dhw"[-len(values) :], values, strict=True)}
        for name in ("conv_h", "conv_r", "conv_p"):
            out.setdefault(name, 1)  # of one spatial axis
        return {**out, "groups": self.groups, "pass": self.direction}


def read_convolution(op: Op) -> Convolution | None:
    """The convolution that an op computes; None where its shapes or attributes do not tell.

    Raises EstimatorError where attributes are unreadable, or kernel, image and groups do not fit each other.
    """
    direction = _direction(op)
    backwards = op.attributes.get("transposed") == "1" or runs_backwards(op)
    image, weights, output = _tensors(op, direction, backwards)
    if not weights or not (image or output) or 0 in (*image.values(), *weights.values(), *output.values()):
        return None
    direction = OF_TRANSPOSED.get(direction, direction) if backwards else direction
    found = _complete(op, image, weights, output, direction)
    if found is None or "labels" not in op.attributes:
        return found
    return found if op.ran.counts_padding else replace(found, flop=exact_flop(op))


def _direction(op: Op) -> str:
    """The pass: the kernel's own, else as stated, else by the op's name."""
    ran, asked = op.ran.of.direction, op.asked.of.direction
    return ran if ran in GRADIENTS else op.attributes.get("pass", asked or "forward")


def _tensors(op: Op, direction: str, backwards: bool) -> tuple[Sizes, Sizes, Sizes]:
    """Image, weights and output of the forward convolution; empty where unknown."""
    plain = ("image", "weights") if direction == "forward" or "labels" in op.attributes else TENSORS
    roles = (op.ran if op.ran.counts_padding else op.asked).operands or plain
    result = (RESULT[direction],) if direction in RESULT else ()
    roles = tuple(role.removesuffix("_sizes") for role in roles)  # which tables made by hand list as a tensor
    listed = (*zip(result, op.outputs, strict=False), *zip(roles, op.operands, strict=False))
    shapes = {role: shape for role, shape in listed if shape is not None and len(shape) > 2}
    layouts = _layouts(op, max(map(len, shapes.values()), default=0))
    found: dict[str, Sizes] = {role: _named(shapes.get(role, ()), layouts[role], role) for role in layouts}
    if backwards:
        found = {role: found[OPPOSITE.get(role, role)] for role in found}
        found["weights"] = _as_forward(found["weights"], found["output"])
    return found["image"], found["weights"], found["output"]


def _layouts(op: Op, rank: int) -> dict[str, str]:
    """A letter for each dimension of each tensor: as stated, else as the framework has it."""
    if "labels" in op.attributes:
        return labelled_layouts(op.attributes["labels"])
    spatial = SPATIAL[max(0, 5 - rank) :]
    first = op.asked.channels_first
    images = op.attributes.get("layout", f"NC{spatial}" if first else f"N{spatial}C")
    weights = op.attributes.get("kernel_layout", f"OI{spatial}" if first else f"{spatial}IO")
    return {"image": images, "weights": weights, "output": images}


def _named(shape: Shape, layout: str, role: str) -> Sizes:
    """The sizes of one tensor by their letters; empty where the layout is none that is known here, or does not fit."""
    axes = "".join(sorted(set(layout) - set(SPATIAL)))
    known = axes in CHANNELS[role] and len(shape) == len(layout) == len(set(layout)) > 2
    return dict(zip(layout, shape, strict=True)) if known else {}


def _as_forward(weights: Sizes, output: Sizes) -> Sizes:
    """A transposed convolution's weights: O is the forward one's, whose output is the transposed one's input."""
    one, other = [letter for letter in weights if letter in "OI"] if {"O", "I"} <= weights.keys() else ("", "")
    if not one:
        return weights
    if output and weights[one] != output["C"] == weights[other]:
        one, other = other, one
    return {**weights, "O": weights[one], "I": weights[other]}


def _complete(op: Op, image: Sizes, weights: Sizes, output: Sizes, direction: str) -> Convolution | None:
    """Fill in what the tensors leave open, from strides, padding and each other; None where that does not do."""
    axes = [axis for axis in SPATIAL if axis in weights]
    if any(tensor and [a for a in SPATIAL if a in tensor] != axes for tensor in (image, output)):
        return None
    groups, i, o = _channels(op, image, weights)
    strides, dilations = per_axis(op, "strides", len(axes)), per_axis(op, "dilations", len(axes))
    window = tuple(weights[axis] for axis in axes)
    reach = tuple(d * (r - 1) + 1 for d, r in zip(dilations, window, strict=True))
    sizes = spatial_sizes(op, axes, image, output, reach, strides)
    if sizes is None:
        return None
    found = Convolution(
        n=(image or output)["N"], c=image.get("C", i * groups), k=output.get("C", o), groups=groups, image=sizes[0],
        window=window, output=sizes[1], strides=strides, pads=sizes[2], dilations=dilations, direction=direction,
    )  # fmt: skip
    return found if _fits(op, found, i, o) else None


def _channels(op: Op, image: Sizes, weights: Sizes) -> tuple[int, int, int]:
    """Groups, input channels of one group, output channels; TensorFlow states the groups by its shapes alone."""
    if "M" in weights or op.asked.depthwise:
        channels = weights.get("C", weights.get("I", 1))
        return channels, 1, channels * weights.get("M", weights.get("O", 1))
    stated = op.whole_numbers("groups")
    return (stated[0] if stated else max(1, image.get("C", 0) // weights["I"])), weights["I"], weights["O"]


def _fits(op: Op, found: Convolution, i: int, o: int) -> bool:
    """Whether channels, groups and sizes fit each other. Raises EstimatorError where the attributes say they must.

    XLA has checked its own; there only sizes that could not be read are found out.
    """
    fits = found.groups > 0 and min(found.image + found.output) > 0
    if "labels" in op.attributes:
        return fits
    fits = fits and found.c == i * found.groups and found.k == o and found.k % found.groups == 0
    if not fits and op.attributes:
        raise EstimatorError("kernel, image and groups of the convolution do not fit; mend its shapes or attributes")
    return fits
