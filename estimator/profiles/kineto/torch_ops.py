"""An op's arguments as PyTorch's profiler records them → the operands, attributes and precision of OPS.

Operands keep the order of the op's arguments. A factor of a product is written as it lies in memory: a factor with
strides [1, m] as its transpose, with ``trans_a=t`` or ``trans_b=t``. Without strides, factors count as not transposed.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from functools import lru_cache

from estimator.profiles.kineto.arguments import (
    LARGEST,
    Argument,
    Call,
    Work,
    base_name,
    is_list,
    non_scalars,
    number_format,
    read_arguments,
    read_list,
    read_precision,
    read_sizes,
    shapes_text,
)  # fmt: skip
from estimator.profiles.kineto.attention import is_attention, is_causal
from estimator.profiles.kineto.convolution_ops import CONVOLUTIONS, describe_convolution

PRODUCTS = {  # the names of their arguments
    "mm": "a b", "bmm": "a b", "matmul": "a b", "mv": "a b", "dot": "a b", "vdot": "a b", "_int_mm": "a b",
    "_scaled_mm": "a b", "addmm": "bias a b", "_addmm_activation": "bias a b", "baddbmm": "bias a b",
    "addbmm": "bias a b", "addmv": "bias a b", "linear": "a weight bias", "mkldnn_linear": "a weight bias",
    "_linear_pointwise": "a weight bias",
}  # fmt: skip
FACTORS = {"a": "a", "b": "b", "weight": "b"}
WITHOUT_OPERANDS = re.compile(  # they state a graph's inputs, or whole tables of which they touch little
    r"(## Call )?Compiled(Function|FxGraph).*|Torch-Compiled Region.*|fbgemm::\w*(embedding|tbe|lookup)\w*"
)
SEVERAL_PRODUCTS = ("einsum", "tensordot", "inner", "chain_matmul", "linalg_multi_dot", "bilinear", "_trilinear")


@lru_cache(maxsize=1 << 16)
def is_matrix(name: str) -> bool:
    """Whether an op computes or dispatches matrix products or convolutions."""
    base = base_name(name)
    return base in PRODUCTS or base in CONVOLUTIONS or base in SEVERAL_PRODUCTS or is_attention(base)


def describe(call: Call) -> tuple[Work, ...]:
    """The work of a call: one piece, or one piece per gradient of a convolution's backward pass."""
    base = base_name(call.name)
    pieces: tuple[Work, ...] = ()
    if WITHOUT_OPERANDS.fullmatch(base):
        return (Work(),)
    if base in CONVOLUTIONS:
        pieces = describe_convolution(call)
    elif base in PRODUCTS:
        pieces = _products(dict(zip(PRODUCTS[base].split(), read_arguments(call), strict=False)))
    elif is_attention(base) and is_causal(base, read_list(call.values)):
        pieces = (_other(call.dims, call.types)[0]._replace(attributes="causal=1"),)
    precision = read_precision(call.types)
    pieces = tuple(work._replace(precision=precision) for work in pieces) or _other(call.dims, call.types)
    return (pieces[0]._replace(attributes=_cast(call.types)),) if base == "copy" else pieces


@lru_cache(maxsize=1 << 14)
def largest(dims: bytes) -> int:
    """Elements of a call's largest operand; 0 where it has none or the trace has no shapes."""
    sizes = (math.prod(tensor) for argument in read_sizes(dims) for tensor in argument)
    return min(max(sizes, default=0), LARGEST)


@lru_cache(maxsize=1 << 14)
def _other(dims: bytes, types: bytes) -> tuple[Work]:
    """The work of an op that is no product or convolution, or whose arguments are unknown."""
    tensors = [tensor for argument in read_arguments(Call("", dims, types)) for tensor in non_scalars(argument)]
    return (Work(shapes_text(tensors), _lists(dims), read_precision(types)),)


def _cast(types: bytes) -> str | None:
    """``from=fp32;to=bf16`` for a copy of the second argument into the first; None where their types are equal."""
    to, source, *_ = [*read_list(types), "", ""]
    formats = [number_format(str(name)) or "other" for name in (source, to)]
    return f"from={formats[0]};to={formats[1]}" if to != source and "" not in (to, source) else None


def _lists(dims: bytes) -> str | None:
    """``lists=2``: how many arguments are lists of tensors with the sizes of the first list; None without lists."""
    arguments = zip(read_list(dims), read_sizes(dims), strict=True)
    lists = [sizes for argument, sizes in arguments if is_list(argument)]
    return f"lists={lists.count(lists[0])}" if lists else None


def _products(arguments: Mapping[str, Argument]) -> tuple[Work, ...]:
    """The product, its factors as they lie in memory; nothing where the trace lacks a factor."""
    transposes, operands = {}, []
    for name, argument in arguments.items():
        for tensor in non_scalars(argument):
            factor = name in FACTORS
            operands.append(tensor.in_memory() if factor else tensor)
            if factor:  # a layer multiplies by the transpose of its weights
                transposes[FACTORS[name]] = "t" if tensor.transposed != (name == "weight") else "n"
    if len(transposes) < 2:
        return ()
    attributes = ";".join(f"trans_{side}={flag}" for side, flag in sorted(transposes.items()))
    return (Work(shapes_text(operands), attributes),)
