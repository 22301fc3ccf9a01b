"""An op's arguments as PyTorch's profiler records them → the operands, attributes and precision of OPS.

Operands keep the order of the op's arguments. A factor of a product is written as it lies in memory: a factor with
strides [1, m] as its transpose, with ``trans_a=t`` or ``trans_b=t``. Without strides, factors count as not transposed.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

from estimator.profiles.kineto.attention import is_attention, is_causal

LARGEST = 2**53
PRECISIONS = {
    "double": "fp64", "float": "fp32", "c10::Half": "fp16", "c10::BFloat16": "bf16", "signed char": "int8",
    "unsigned char": "int8", "c10::qint8": "int8", "c10::quint8": "int8",
}  # fmt: skip
NO_TENSORS = ("Scalar", "ScalarList", "")

CONVOLUTION = "input weight bias stride padding dilation"
ONEDNN = "input weight bias padding stride dilation groups"
SLOW = "input weight kernel bias stride padding dilation"
PRODUCTS = {  # the names of their arguments
    "mm": "a b", "bmm": "a b", "matmul": "a b", "mv": "a b", "dot": "a b", "vdot": "a b", "_int_mm": "a b",
    "_scaled_mm": "a b", "addmm": "bias a b", "_addmm_activation": "bias a b", "baddbmm": "bias a b",
    "addbmm": "bias a b", "addmv": "bias a b", "linear": "a weight bias", "mkldnn_linear": "a weight bias",
    "_linear_pointwise": "a weight bias",
}  # fmt: skip
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
    "cudnn_convolution_relu": f"{CONVOLUTION} groups",
    "cudnn_convolution_add_relu": "input weight z alpha bias stride padding dilation groups",
    "cudnn_convolution_transpose": "input weight padding output_padding stride dilation groups",
    "miopen_convolution_transpose": "input weight bias padding output_padding stride dilation groups",
    **dict.fromkeys(
        ("_conv_depthwise2d", "conv_depthwise3d", "slow_conv_dilated2d", "slow_conv_dilated3d", "thnn_conv2d",
         "_slow_conv2d_forward", "slow_conv3d", "slow_conv3d_forward"),
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
    "convolution_backward": (
        "grad_output input weight bias_sizes stride padding dilation transposed output_padding groups output_mask"
    ),
}  # fmt: skip
FACTORS = {"a": "a", "b": "b", "weight": "b"}
WITHOUT_OPERANDS = re.compile(  # they state a graph's inputs, or whole tables of which they touch little
    r"(## Call )?Compiled(Function|FxGraph).*|Torch-Compiled Region.*|fbgemm::\w*(embedding|tbe|lookup)\w*"
)
SEVERAL_PRODUCTS = ("einsum", "tensordot", "inner", "chain_matmul", "linalg_multi_dot", "bilinear", "_trilinear")
LIBRARY_ROLES = {  # the tensors that rules of names expect of a library's gradient
    "_backward_input": ("image", "output", "weight"),
    "_backward_weight": ("weight", "output", "image"),
    "_backward": ("image", "output", "weight"),
}
SINGLE_PASSES = {"": "forward", "_backward_input": "grad_input", "_backward_weight": "grad_weights"}
LAYOUTS = {3: "NCW", 4: "NCHW", 5: "NCDHW"}


class Call(NamedTuple):
    """The arguments of one call, as JSON texts of the trace; empty where the trace has none."""

    name: str
    dims: bytes = b""
    types: bytes = b""
    strides: bytes = b""
    values: bytes = b""
    geometry: Geometry | None = None


class Geometry(NamedTuple):
    """The sizes of a convolution's tensors, which it shares with its gradients."""

    image: tuple[int, ...]
    weight: tuple[int, ...]
    output: tuple[int, ...]


class Work(NamedTuple):
    """One piece of a call's work, as columns of OPS."""

    shapes: str | None = None
    attributes: str | None = None
    precision: str | None = None
    output_shapes: str | None = None


@dataclass(frozen=True)
class Tensor:
    """An operand's sizes, and its strides [elements] where the trace has them."""

    dims: tuple[int, ...]
    strides: tuple[int, ...]

    @property
    def transposed(self) -> bool:
        """Whether its last two axes are swapped in memory."""
        if not 2 <= len(self.dims) == len(self.strides):
            return False
        return self.strides[-2] == 1 and self.strides[-1] > 1 and self.dims[-1] > 1

    def in_memory(self) -> Tensor:
        """The matrix as it lies in memory, row by row: itself or its transpose."""
        return Tensor((*self.dims[:-2], *self.dims[:-3:-1]), ()) if self.transposed else self

    def __str__(self) -> str:
        return "x".join(map(str, self.dims))


ONE_ELEMENT = Tensor((1,), (1,))


@lru_cache(maxsize=1 << 16)
def is_matrix(name: str) -> bool:
    """Whether an op computes or dispatches matrix products or convolutions."""
    base = _base_name(name)
    return base in PRODUCTS or base in CONVOLUTIONS or base in SEVERAL_PRODUCTS or is_attention(base)


def describe(call: Call) -> tuple[Work, ...]:
    """The work of a call: one piece, or one piece per gradient of a convolution's backward pass."""
    base = _base_name(call.name)
    pieces: tuple[Work, ...] = ()
    if WITHOUT_OPERANDS.fullmatch(base):
        return (Work(),)
    if base in CONVOLUTIONS:
        pieces = _convolutions(named_arguments(call), base, call.geometry)
    elif base in PRODUCTS:
        pieces = _products(named_arguments(call))
    elif is_attention(base) and is_causal(base, _list(call.values)):
        pieces = (_other(call.dims, call.types)[0]._replace(attributes="causal=1"),)
    precision = _precision(call.types)
    pieces = tuple(work._replace(precision=precision) for work in pieces) or _other(call.dims, call.types)
    return (pieces[0]._replace(attributes=_cast(call.types)),) if base == "copy" else pieces


@lru_cache(maxsize=1 << 14)
def largest(dims: bytes) -> int:
    """Elements of a call's largest operand; 0 where it has none or the trace has no shapes."""
    sizes = (math.prod(tensor) for argument in _sizes(dims) for tensor in argument)
    return min(max(sizes, default=0), LARGEST)


@lru_cache(maxsize=1 << 14)
def _other(dims: bytes, types: bytes) -> tuple[Work]:
    """The work of an op that is no product or convolution, or whose arguments are unknown."""
    tensors = [tensor for argument in _arguments(Call("", dims, types)) for tensor in _non_scalars(argument)]
    return (Work(_shapes_text(tensors), _lists(dims), _precision(types)),)


def _cast(types: bytes) -> str | None:
    """``from=fp32;to=bf16`` for a copy of the second argument into the first; None where their types are equal."""
    to, source, *_ = [*_list(types), "", ""]
    formats = [_format(str(name)) or "other" for name in (source, to)]
    return f"from={formats[0]};to={formats[1]}" if to != source and "" not in (to, source) else None


def _lists(dims: bytes) -> str | None:
    """``lists=2``: how many arguments are lists of tensors with the sizes of the first list; None without lists."""
    arguments = zip(_list(dims), _sizes(dims), strict=True)
    lists = [sizes for argument, sizes in arguments if _is_list(argument)]
    return f"lists={lists.count(lists[0])}" if lists else None


def _is_list(argument: Any) -> bool:
    return isinstance(argument, list) and any(isinstance(item, list) for item in argument)


def _base_name(name: str) -> str:
    """The op's name without its library and without the ``_`` of in-place ops."""
    library, _, base = name.rpartition("::")
    return base.removesuffix("_") if library in ("aten", "mkldnn") else name


@dataclass(frozen=True)
class Argument:
    """One argument: its tensors, or its value as text."""

    tensors: tuple[Tensor, ...]
    value: str


def _non_scalars(argument: Argument) -> tuple[Tensor, ...]:
    return tuple(tensor for tensor in argument.tensors if tensor.dims)


def _shapes_text(tensors: Sequence[Tensor]) -> str | None:
    return ";".join(map(str, tensors)) or None


def _arguments(call: Call) -> list[Argument]:
    sizes, strides = _sizes(call.dims), _sizes(call.strides)
    types, values = _list(call.types), _list(call.values)
    arguments = []
    for i, dims in enumerate(sizes):
        kind = types[i] if i < len(types) else "Tensor"
        steps = strides[i] if i < len(strides) and len(strides[i]) == len(dims) else [()] * len(dims)
        missing = kind in NO_TENSORS or (kind == "TensorList" and dims == [()])  # none, or too many for the trace
        tensors = [] if missing else list(map(Tensor, dims, steps))
        if i < len(types):
            tensors = [tensor if tensor.dims else ONE_ELEMENT for tensor in tensors]
        arguments.append(Argument(tuple(tensors), str(values[i]) if i < len(values) else ""))
    return arguments


@lru_cache(maxsize=1 << 14)
def _sizes(text: bytes) -> list[list[tuple[int, ...]]]:
    """The sizes of each argument's tensors, of one or of a list; () is a scalar, -1 an unreadable size."""
    sizes = []
    for argument in _list(text):
        tensors = argument if _is_list(argument) else [argument]
        sizes.append([tuple(map(_size, tensor)) for tensor in tensors if isinstance(tensor, list)])
    return sizes


def _size(value: Any) -> int:
    return value if type(value) is int and 0 <= value <= LARGEST else -1


@lru_cache(maxsize=1 << 14)
def _list(text: bytes) -> list[Any]:
    """The text as a JSON list; empty where it is none."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return []
    return value if isinstance(value, list) else []


@lru_cache(maxsize=1 << 14)
def _precision(types: bytes) -> str | None:
    """The number format of the first operand that has one."""
    formats = (_format(name) for name in _list(types) if isinstance(name, str))
    return next(filter(None, formats), None)


def _format(name: str) -> str | None:
    return "fp8" if name.startswith("c10::Float8") else PRECISIONS.get(name)


def _products(arguments: Mapping[str, Argument]) -> tuple[Work, ...]:
    """The product, its factors as they lie in memory; nothing where the trace lacks a factor."""
    transposes, operands = {}, []
    for name, argument in arguments.items():
        for tensor in _non_scalars(argument):
            factor = name in FACTORS
            operands.append(tensor.in_memory() if factor else tensor)
            if factor:  # a layer multiplies by the transpose of its weights
                transposes[FACTORS[name]] = "t" if tensor.transposed != (name == "weight") else "n"
    if len(transposes) < 2:
        return ()
    attributes = ";".join(f"trans_{side}={flag}" for side, flag in sorted(transposes.items()))
    return (Work(_shapes_text(operands), attributes),)


def _convolutions(arguments: Mapping[str, Argument], base: str, geometry: Geometry | None) -> tuple[Work, ...]:
    """A convolution, or the gradients of its backward pass; nothing where the trace lacks its operands."""
    sizes = geometry or known_geometry(arguments)
    given = [dims for dims in sizes if dims]
    if len(given) < 2 or len({len(dims) for dims in given}) > 1 or len(given[0]) not in LAYOUTS:
        return ()
    shapes = _shapes_text([tensor for argument in arguments.values() for tensor in _non_scalars(argument)])
    if _of_library(base):
        shapes = ";".join(str(Tensor(getattr(sizes, role), ())) or "unknown" for role in LIBRARY_ROLES[_suffix(base)])
    settings = _settings(arguments, base, sizes)
    output = str(Tensor(geometry.output, ())) if geometry and not _suffix(base) else None
    return tuple(Work(shapes, f"{settings};pass={pass_}", None, output) for pass_ in _passes(arguments, base))


def named_arguments(call: Call) -> dict[str, Argument]:
    """The arguments of a product or convolution by name."""
    base = _base_name(call.name)
    names = CONVOLUTIONS.get(base) or PRODUCTS.get(base, "")
    return dict(zip(names.split(), _arguments(call), strict=False))


def known_geometry(arguments: Mapping[str, Argument]) -> Geometry:
    """What the arguments of a convolution or its gradient tell of its tensors; () for the others."""
    named = [_non_scalars(arguments[name]) if name in arguments else () for name in ("input", "weight", "grad_output")]
    return Geometry(*(tensors[0].dims if tensors else () for tensors in named))


def is_convolution(call: Call) -> bool:
    """Whether a call is a convolution, or a gradient of one, that is not transposed."""
    base = _base_name(call.name)
    return base in CONVOLUTIONS and "transpose" not in base


def states_strides(call: Call) -> bool:
    """Whether the trace has the strides of a convolution."""
    return _value(named_arguments(call), "stride") is not None


def _suffix(base: str) -> str:
    """What the name of a convolution's gradient ends in; nothing for the convolution itself."""
    return next((suffix for suffix in LIBRARY_ROLES if base.endswith(suffix)), "")


def _of_library(base: str) -> bool:
    """Whether an op is a gradient of a library's convolution, which lists its tensors in an order of its own."""
    return bool(_suffix(base)) and base.startswith(("cudnn", "miopen", "mkldnn"))


def _settings(arguments: Mapping[str, Argument], base: str, sizes: Geometry) -> str:
    axes = max(map(len, sizes)) - 2
    transposed = "transpose" in base or _value(arguments, "transposed") is True
    settings: dict[str, str | None] = {
        name: _per_axis(_value(arguments, argument), axes)
        for name, argument in (("strides", "stride"), ("pads", "padding"), ("dilations", "dilation"))
    }
    settings["strides"] = settings["strides"] or _strides(sizes)
    groups = _value(arguments, "groups")
    if type(groups) is not int and not transposed and sizes.image and sizes.weight and sizes.weight[1] > 0:
        groups = sizes.image[1] // sizes.weight[1]
    settings["groups"] = str(groups) if type(groups) is int else "1"
    settings["layout"] = layout = LAYOUTS[axes + 2]
    settings["kernel_layout"] = ("IO" if transposed else "OI") + layout[2:]
    text = ";".join(f"{name}={value}" for name, value in settings.items() if value)
    return f"{text};transposed=1" if transposed else text


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
    mask = _value(arguments, "output_mask")
    computed = mask if isinstance(mask, list) and len(mask) == 3 else [True, True, True]
    return [gradient for gradient, wanted in zip(("grad_input", "grad_weights"), computed, strict=False) if wanted]


def _per_axis(value: Any, axes: int) -> str | None:
    """A setting per axis, ``2x2``; a single number holds for all axes."""
    values = value if isinstance(value, list) else [value]
    values = values * axes if len(values) == 1 else values
    return "x".join(map(str, values)) if len(values) == axes and all(type(v) is int for v in values) else None


def _value(arguments: Mapping[str, Argument], name: str) -> Any:
    """The value of an argument, which the trace writes as in Python; None where it is absent."""
    text = arguments[name].value if name in arguments else ""
    try:
        return json.loads(text.replace("True", "true").replace("False", "false"))
    except (ValueError, RecursionError):
        return None
