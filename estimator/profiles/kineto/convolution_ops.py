"""Convolutions and their gradients as ops of PyTorch: arguments → operands and attributes of OPS."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from estimator.profiles.kineto.arguments import (
    Argument,
    Call,
    Geometry,
    Tensor,
    Work,
    base_name,
    non_scalars,
    read_arguments,
    read_value,
    shapes_text,
)  # fmt: skip

CONVOLUTION = "input weight bias stride padding dilation"
ONEDNN = "input weight bias padding stride dilation groups"
SLOW = "input weight kernel bias stride padding dilation"
FUNCTIONS = {  # autograd functions of apex; the trace lists the result's gradient alone of theirs
    **dict.fromkeys(("ConvBias_", "ConvBiasReLU_"), "input weight bias padding stride"),
    "ConvBiasMaskReLU_": "input weight bias mask padding stride",
    "ConvFrozenScaleBiasReLU_": "input weight scale bias padding stride",
}
CONVOLUTIONS = {
    **dict.fromkeys(("conv1d", "conv2d", "conv3d"), f"{CONVOLUTION} groups"),
    **dict.fromkeys(
        ("convolution", "_convolution", "convolution_overrideable"), f"{CONVOLUTION} transposed output_padding groups"
    ),
    **dict.fromkeys(
        ("conv_transpose1d", "conv_transpose2d", "conv_transpose3d"),
        "input weight bias stride padding output_padding groups dilation",
    ),
    **dict.fromkeys(
        ("mkldnn_convolution", "_convolution_pointwise", "miopen_convolution", "miopen_depthwise_convolution"), ONEDNN
    ),
    "cudnn_convolution": "input weight padding stride dilation groups",
    **dict.fromkeys(("cudnn_convolution_relu", "miopen_convolution_relu"), f"{CONVOLUTION} groups"),
    **dict.fromkeys(
        ("cudnn_convolution_add_relu", "miopen_convolution_add_relu"),
        "input weight z alpha bias stride padding dilation groups",
    ),
    **FUNCTIONS,
    **{f"{name}Backward": f"grad_output {arguments}" for name, arguments in FUNCTIONS.items()},
    "cudnn_convolution_transpose": "input weight padding output_padding stride dilation groups",
    "miopen_convolution_transpose": "input weight bias padding output_padding stride dilation groups",
    **dict.fromkeys(
        ("_conv_depthwise2d", "conv_depthwise3d", "slow_conv_dilated2d", "slow_conv_dilated3d", "thnn_conv2d",
         "thnn_conv2d_forward", "thnn_conv_depthwise2d", "thnn_conv_depthwise2d_forward", "_slow_conv2d_forward",
         "slow_conv3d", "slow_conv3d_forward"),
        SLOW,
    ),
    **dict.fromkeys(
        ("slow_conv_transpose2d", "slow_conv_transpose3d"),
        "input weight kernel bias stride padding output_padding dilation",
    ),
    **dict.fromkeys(
        ("_slow_conv2d_backward", "thnn_conv2d_backward", "slow_conv3d_backward"),
        "grad_output input weight kernel stride padding output_mask",
    ),
    **dict.fromkeys(
        ("_conv_depthwise2d_backward", "conv_depthwise3d_backward", "thnn_conv_depthwise2d_backward",
         "slow_conv_dilated2d_backward", "slow_conv_dilated3d_backward"),
        "grad_output input weight kernel stride padding dilation output_mask",
    ),
    **dict.fromkeys(
        ("slow_conv_transpose2d_backward", "slow_conv_transpose3d_backward"),
        "grad_output input weight kernel stride padding output_padding dilation output_mask",
    ),
    **dict.fromkeys(
        ("cudnn_convolution_backward", "miopen_convolution_backward", "mkldnn_convolution_backward"),
        "input grad_output weight padding stride dilation groups",
    ),
    **dict.fromkeys(
        ("cudnn_convolution_backward_input", "miopen_convolution_backward_input"),
        "input_size grad_output weight padding stride dilation groups",
    ),
    **dict.fromkeys(
        ("cudnn_convolution_backward_weight", "miopen_convolution_backward_weight"),
        "weight_size grad_output input padding stride dilation groups",
    ),
    "convolution_backward_overrideable": (
        "grad_output input weight stride padding dilation transposed output_padding groups output_mask"
    ),
    "convolution_backward": (
        "grad_output input weight bias_sizes stride padding dilation transposed output_padding groups output_mask"
    ),
}  # fmt: skip
LIBRARY_ROLES = {  # the tensors that rules of names expect of a library's gradient
    "_backward_input": ("image", "output", "weight"),
    "_backward_weight": ("weight", "output", "image"),
    "_backward": ("image", "output", "weight"),
}
SINGLE_PASSES = {"": "forward", "_backward_input": "grad_input", "_backward_weight": "grad_weights"}
LAYOUTS = {3: "NCW", 4: "NCHW", 5: "NCDHW"}


def describe_convolution(call: Call) -> tuple[Work, ...]:
    """A convolution, or the gradients of its backward pass; nothing where the trace lacks its operands."""
    arguments, base, geometry = named_arguments(call), base_name(call.name), call.geometry
    sizes = geometry or known_geometry(arguments)
    if not _are_of_one_rank(sizes):
        return ()
    if _of_library(base):
        roles = LIBRARY_ROLES[_suffix(base)]
        shapes: str | None = ";".join(str(Tensor(getattr(sizes, role), ())) or "unknown" for role in roles)
    else:
        shapes = shapes_text([tensor for argument in arguments.values() for tensor in non_scalars(argument)])
    settings = _settings(arguments, base, sizes)
    output = str(Tensor(geometry.output, ())) if geometry and not _suffix(base) else None
    return tuple(Work(shapes, f"{settings};pass={pass_}", None, output) for pass_ in _passes(arguments, base))


def _are_of_one_rank(sizes: Geometry) -> bool:
    """Whether two tensors or more are known, all with the same number of axes, one to three of them of space."""
    ranks = [len(dims) for dims in sizes if dims]
    return len(ranks) > 1 and len(set(ranks)) == 1 and ranks[0] in LAYOUTS


def named_arguments(call: Call) -> dict[str, Argument]:
    """The arguments of a convolution by name."""
    return dict(zip(CONVOLUTIONS[base_name(call.name)].split(), read_arguments(call), strict=False))


def known_geometry(arguments: Mapping[str, Argument]) -> Geometry:
    """What the arguments of a convolution or its gradient tell of its tensors; () for the others."""
    named = [non_scalars(arguments[name]) if name in arguments else () for name in ("input", "weight", "grad_output")]
    return Geometry(*(tensors[0].dims if tensors else () for tensors in named))


def is_convolution(call: Call) -> bool:
    """Whether a call is a convolution, or a gradient of one, that is not transposed."""
    base = base_name(call.name)
    return base in CONVOLUTIONS and "transpose" not in base


def states_strides(call: Call) -> bool:
    """Whether the trace has the strides of a convolution."""
    return read_value(named_arguments(call), "stride") is not None


def _suffix(base: str) -> str:
    """What the name of a convolution's gradient ends in; nothing for the convolution itself."""
    name = base.removesuffix("_overrideable").lower()
    return next((suffix for suffix in LIBRARY_ROLES if name.endswith(suffix)), "")


def _of_library(base: str) -> bool:
    """Whether an op is a gradient of a library's convolution, which lists its tensors in an order of its own."""
    return bool(_suffix(base)) and base.startswith(("cudnn", "miopen", "mkldnn"))


def _settings(arguments: Mapping[str, Argument], base: str, sizes: Geometry) -> str:
    """The attributes of a convolution, which are those of its gradients too."""
    rank = max(map(len, sizes))
    transposed, layout = _is_transposed(arguments, base, sizes), LAYOUTS[rank]
    strides, pads, dilations = (
        _per_axis(read_value(arguments, name), axes=rank - 2) for name in ("stride", "padding", "dilation")
    )
    settings = {
        "strides": strides or _strides(_mirrored(sizes) if transposed else sizes),
        "pads": pads,
        "dilations": dilations,
        "groups": _groups(arguments, sizes, transposed),
        "layout": layout,
        "kernel_layout": ("IO" if transposed else "OI") + layout[2:],
        "channels_last": "1" if _has_channels_last(arguments) else None,
        "bias": "1" if _has_bias(arguments) else None,
        "transposed": "1" if transposed else None,
    }
    return ";".join(f"{name}={value}" for name, value in settings.items() if value)


def _groups(arguments: Mapping[str, Argument], sizes: Geometry, transposed: bool) -> str:
    """The groups of a convolution as stated, else by the channels of its image and its weights; 1 without either."""
    stated = read_value(arguments, "groups")
    if type(stated) is int:
        return str(stated)
    has_channels = not transposed and sizes.image and sizes.weight and sizes.weight[1] > 0
    return str(sizes.image[1] // sizes.weight[1]) if has_channels else "1"


def _is_transposed(arguments: Mapping[str, Argument], base: str, sizes: Geometry) -> bool:
    """Whether a convolution is transposed; where the trace does not say so, whether only such a one has these sizes."""
    stated = read_value(arguments, "transposed")
    if "transpose" in base or type(stated) is bool:
        return "transpose" in base or stated is True
    return not _fits(sizes) and _fits(_mirrored(sizes))


def _mirrored(sizes: Geometry) -> Geometry:
    """The sizes of the convolution that a transposed one mirrors: image and output change places."""
    return Geometry(sizes.output, sizes.weight, sizes.image)


def _fits(sizes: Geometry) -> bool:
    """Whether a convolution may have these sizes, as far as they are known."""
    image, weight, output = sizes
    if not weight or (image and (weight[1] < 1 or image[1] % weight[1])) or (output and output[1] != weight[0]):
        return False
    return not (image and output) or enlarges_by_padding_alone(sizes)


def enlarges_by_padding_alone(sizes: Geometry) -> bool:
    """Whether the output exceeds the image by no more than a convolution's padding does."""
    image, weight, output = (each[2:] for each in sizes)
    return all(size <= of + window for size, of, window in zip(output, image, weight, strict=True))


def _has_channels_last(arguments: Mapping[str, Argument]) -> bool:
    """Whether the image lies in memory with its channels last; False where the trace has no strides."""
    images = [image for image in non_scalars(arguments["input"]) if len(image.dims) > 2] if "input" in arguments else []
    return bool(images) and len(images[0].strides) > 2 and images[0].dims[1] > 1 == images[0].strides[1]


def _has_bias(arguments: Mapping[str, Argument]) -> bool:
    """Whether the convolution adds a bias, or its gradient sums one."""
    sizes = read_value(arguments, "bias_sizes")
    has_sizes = isinstance(sizes, list) and any(type(size) is int and size > 0 for size in sizes)
    return has_sizes or ("bias" in arguments and bool(non_scalars(arguments["bias"])))


def _strides(sizes: Geometry) -> str | None:
    """The least strides with which the windows reach across the image; None where a tensor is unknown."""
    if not all(sizes):
        return None
    image, window, output = (dims[2:] for dims in sizes)
    strides = []
    for size, reach, points in zip(image, window, output, strict=True):
        least = -(-(size - reach + 1) // points) if points > 0 else 1
        strides.append(max(least, 1))
    return "x".join(map(str, strides))


def _passes(arguments: Mapping[str, Argument], base: str) -> Sequence[str]:
    suffix = _suffix(base)
    if suffix != "_backward":
        return (SINGLE_PASSES[suffix],)
    mask = read_value(arguments, "output_mask")
    computed = mask if isinstance(mask, list) and len(mask) == 3 else [True, True, True]
    return [gradient for gradient, wanted in zip(("grad_input", "grad_weights"), computed, strict=False) if wanted]


def _per_axis(value: Any, axes: int) -> str | None:
    """A setting per axis, ``2x2``; a single number holds for all axes."""
    values = value if isinstance(value, list) else [value]
    values = values * axes if len(values) == 1 else values
    return "x".join(map(str, values)) if len(values) == axes and all(type(v) is int for v in values) else None
