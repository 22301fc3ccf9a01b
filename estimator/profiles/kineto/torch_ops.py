"""An op's arguments as PyTorch's profiler records them → the operands, attributes and precision of OPS.

Operands keep the order of the op's arguments. Products, convolutions and attention are read in modules of their own.
"""

from __future__ import annotations

import math
import re
from functools import lru_cache
from itertools import chain

from estimator.core.number_formats import known_format
from estimator.core.table import LARGEST_WHOLE
from estimator.profiles.kineto.arguments import (
    NO_TENSORS,
    Call,
    Work,
    base_name,
    is_list,
    non_scalars,
    read_arguments,
    read_list,
    read_precision,
    read_sizes,
    shapes_text,
)  # fmt: skip
from estimator.profiles.kineto.attention import describe_attention, is_attention
from estimator.profiles.kineto.convolution_ops import CONVOLUTIONS, describe_convolution
from estimator.profiles.kineto.layer_functions import describe_layer, is_layer
from estimator.profiles.kineto.product_ops import describe_product, is_product

COMPILED = re.compile(r"(## Call )?Compiled(Function|FxGraph).*|Torch-Compiled Region.*")  # they state a graph's inputs
GENERATED_KERNEL = re.compile(r"graph_\d+_|cpp_fused_")  # begins inductor's names, where its configuration records them
LOOKUPS = re.compile(r"fbgemm::\w*(embedding|tbe|lookup)\w*")  # they state whole tables, of which they touch little
SEVERAL_PRODUCTS = ("einsum", "tensordot", "inner", "chain_matmul", "linalg_multi_dot", "bilinear", "_trilinear")


@lru_cache(maxsize=1 << 16)
def names_product(name: str) -> bool:
    """Whether an op computes or dispatches matrix products or convolutions."""
    base = base_name(name)
    is_one = is_product(name) or base in CONVOLUTIONS or is_attention(base)
    return is_one or base in SEVERAL_PRODUCTS or is_layer(name)


def calls_products(call: Call) -> bool:
    """Whether an op multiplies by others alone, or only moves its operand, as ``einsum`` of a single one does."""
    return base_name(call.name) in SEVERAL_PRODUCTS


@lru_cache(maxsize=1 << 14)
def does_product(call: Call) -> bool:
    """Whether a call computes or dispatches matrix products or convolutions; of a library's op, only where its operands
    tell which, as an op around or inside it may tell it else.
    """
    return names_product(call.name) and (not is_of_library(call) or describe(call)[0].shapes is not None)


def is_of_library(call: Call) -> bool:
    """Whether an op is of another library than PyTorch."""
    return "::" in call.name and not call.name.startswith("aten::")


def describe(call: Call) -> tuple[Work, ...]:
    """The work of a call: one piece, or one piece per gradient of a convolution's backward pass."""
    base = base_name(call.name)
    pieces: tuple[Work, ...] = ()
    if COMPILED.fullmatch(base) or LOOKUPS.fullmatch(base):
        return (Work(),)
    if base in CONVOLUTIONS:
        pieces = describe_convolution(call)
    elif is_product(call.name):
        pieces = describe_product(call)
    elif is_attention(base):
        pieces = describe_attention(call)
    elif is_layer(call.name):
        pieces = describe_layer(call)
    precision = read_precision(call.types)
    pieces = tuple(work._replace(precision=precision) for work in pieces) or _other(call.dims, call.types)
    return (pieces[0]._replace(attributes=_cast(call.types)),) if base == "copy" else pieces


def is_compiled(call: Call) -> bool:
    """Whether an op runs code that torch.compile generated."""
    return bool(COMPILED.fullmatch(call.name))


@lru_cache(maxsize=1 << 14)
def largest(dims: bytes) -> int:
    """Elements of a call's largest operand; 0 where it has none or the trace has no shapes."""
    return min(max(map(math.prod, chain(*read_sizes(dims))), default=0), LARGEST_WHOLE)


@lru_cache(maxsize=1 << 14)
def _other(dims: bytes, types: bytes) -> tuple[Work]:
    """The work of an op that is no product or convolution, or whose arguments are unknown."""
    tensors = [tensor for argument in read_arguments(Call("", dims, types)) for tensor in non_scalars(argument)]
    return (Work(shapes_text(tensors), _lists(dims) or _single(dims, types), read_precision(types)),)


def _cast(types: bytes) -> str | None:
    """``from=fp32;to=bf16`` for a copy of the second argument into the first; None where their types are equal."""
    to, source, *_ = [*read_list(types), "", ""]
    formats = [known_format(str(name)) or "other" for name in (source, to)]
    return f"from={formats[0]};to={formats[1]}" if to != source and "" not in (to, source) else None


def _single(dims: bytes, types: bytes) -> str | None:
    """``single=number`` where an operand of a single element is a number of Python, which PyTorch wraps without
    dimensions, in another type than the tensors; ``single=weight`` where it may be a weight.
    """
    pairs = zip(read_sizes(dims), map(str, read_list(types)), strict=False)
    known = [(sizes[0], kind) for sizes, kind in pairs if len(sizes) == 1 and kind not in NO_TENSORS]
    single = [(sizes, kind) for sizes, kind in known if math.prod(sizes) == 1]
    others = {kind for sizes, kind in known if math.prod(sizes) != 1}
    if not single or not others:
        return None
    return f"single={'number' if all(sizes == () and kind not in others for sizes, kind in single) else 'weight'}"


def _lists(dims: bytes) -> str | None:
    """``lists=2``: how many arguments are lists of tensors with the sizes of the first list; None without lists."""
    arguments = zip(read_list(dims), read_sizes(dims), strict=True)
    lists = [sizes for argument, sizes in arguments if is_list(argument)]
    return f"lists={lists.count(lists[0])}" if lists else None
