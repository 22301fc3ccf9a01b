"""Matrix products as ops of PyTorch and of the libraries beside it: arguments → operands and attributes of OPS.

A factor is written as it lies in memory: one with strides [1, m] as its transpose, with ``trans_a=t`` or ``trans_b=t``.
Without strides, factors count as not transposed. Of a library's product, whose second factor may be stored either way,
the sizes tell how it multiplies; where they do not fit, it has no operands.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from itertools import permutations

from estimator.core.number_formats import known_format
from estimator.profiles.kineto.arguments import (
    ONE_ELEMENT,
    Argument,
    Call,
    Sizes,
    Tensor,
    Work,
    base_name,
    non_scalars,
    read_arguments,
    read_list,
    read_value,
    shapes_text,
)  # fmt: skip

PRODUCTS = {  # the names of their arguments
    "mm": "a b", "bmm": "a b", "matmul": "a b", "mv": "a b", "dot": "a b", "vdot": "a b", "_int_mm": "a b",
    "_scaled_mm": "a b", "_scaled_mm_v2": "a b", "addmm": "bias a b", "_addmm_activation": "bias a b",
    "baddbmm": "bias a b", "addbmm": "bias a b", "addmv": "bias a b", "linear": "a weight bias",
    "mkldnn_linear": "a weight bias", "_linear_pointwise": "a weight bias",
}  # fmt: skip
OF_LIBRARIES = (  # their names, with the library, and the names of their arguments
    (r"aiter::_?(gemm|flatmm|gfx\d+)_a\w*|vllm::\w*unquantized_gemm\w*", "a b"),
    (r"(vllm|aiter)::_?rocm_aiter_\w*gemm\w*|vllm::\w*w8a8\w*|sglang_profiler::\w*(gemm_a(fp)?\d+w|hgemm)\w*", "a b"),
    (r"_rocm_C::(wvSplitK\w*|LLMM1)|aiter::hipb_mm|vllm::gemm_with_dynamic_quant", "a b"),
    (r"vllm::fp8_gemm_nt_op|sglang::deep_gemm_fp8_fp8_bf16_nt", "a scale_a b"),  # of DeepGEMM
    (r"(sgl_kernel|trtllm|vllm)::\w*scaled_mm\w*|bitsandbytes::int8_linear_matmul|fbgemm::f8f8bf16(_\w+wise)?", "a b"),
    (r"_C::cutlass_scaled_mm\w*", "out a b"),
    (r"aiter::batched_gemm_a\w*|sgl_kernel::bmm_fp8", "a b"),
    (r"aten::_weight_int8pack_mm", "a b"),
    (r"primus_turbo\w*::hipblaslt_gemm\w*", "a scale_a b scale_b dtype trans_a trans_b"),
    (r"tex(_ts)?::te_gemm(_ts)?", "b scale_b inverse_b type_b trans_b a scale_a inverse_a type_a trans_a"),
)
TEMPLATE = r"triton_tem_fused_\w*|triton_(b|add|badd)?mm(_\w*)?"  # kernels that inductor makes from a template
OF_TEMPLATE = re.compile(r"(?<![a-z])(b|add|badd|int_|scaled_)?mm(?![a-z])")
GROUPED = r"aten::_(scaled_)?grouped_mm(_v2)?|primus_turbo\w*::(ck_)?grouped_gemm(_variable_k)?(_impl)?"
FACTORS = {"a": "a", "b": "b", "weight": "b"}
PACKED = re.compile(r"a4w4|afp4wfp4")  # two fp4 numbers in a byte
PACKED_WEIGHTS = re.compile(r"a(16|8)w(fp|int)?4|gemm_with_dynamic_quant")  # in the weights alone
TRUE = ("true", "1")


@lru_cache(maxsize=1 << 16)
def is_product(name: str) -> bool:
    """Whether an op of this name computes or dispatches one matrix product, or one of each group."""
    return base_name(name) in PRODUCTS or is_template(name) or is_grouped(name) or library_arguments(name) is not None


@lru_cache(maxsize=1 << 16)
def library_arguments(name: str) -> str | None:
    """The names of the arguments of a library's product; None where the op is none."""
    return next((arguments for pattern, arguments in OF_LIBRARIES if re.fullmatch(pattern, name)), None)


@lru_cache(maxsize=1 << 16)
def is_grouped(name: str) -> bool:
    """Whether an op multiplies the rows of each group by a matrix of the group's own."""
    return bool(re.fullmatch(GROUPED, name))


@lru_cache(maxsize=1 << 16)
def is_template(name: str) -> bool:
    """Whether an op is a kernel that inductor makes from its template of a product, with what is fused to it."""
    return bool(re.fullmatch(TEMPLATE, name)) and bool(OF_TEMPLATE.search(name.replace("_", " ")))


def describe_product(call: Call) -> tuple[Work, ...]:
    """The product of a call; nothing where the trace lacks a factor, no operands where a library's do not fit."""
    arguments = read_arguments(call)
    if is_template(call.name):
        return (_of_template([tensor.dims for argument in arguments for tensor in non_scalars(argument)]),)
    if is_grouped(call.name):
        return (_grouped([tensor for argument in arguments[:2] for tensor in non_scalars(argument)]),)
    names = library_arguments(call.name)
    if names is None:
        named = dict(zip(PRODUCTS[base_name(call.name)].split(), arguments, strict=False))
        return _product({name: _unpacked(call, argument) for name, argument in named.items()})
    named = dict(zip(names.split(), arguments, strict=False))
    return (_of_library(call, named),)


def _product(arguments: Mapping[str, Argument]) -> tuple[Work, ...]:
    """The product, its factors as they lie in memory; nothing where the trace lacks a factor.

    No operands where one is sparse: no trace tells how many numbers it holds.
    """
    if _any_sparse([tensor for argument in arguments.values() for tensor in non_scalars(argument)]):
        return (Work(),)
    transposes, operands = {}, []
    for name, argument in arguments.items():
        for tensor in non_scalars(argument):
            factor = name in FACTORS
            operands.append(tensor.in_memory() if factor else tensor)
            if factor:  # a layer multiplies by the transpose of its weights
                transposes[FACTORS[name]] = "t" if tensor.transposed != (name == "weight") else "n"
    if len(transposes) < 2:
        return ()
    return (Work(shapes_text(operands), _attributes(transposes["a"], transposes["b"])),)


def _any_sparse(tensors: Sequence[Tensor]) -> bool:
    """Whether some of the tensors have strides and others have none, as sparse ones."""
    return len({bool(tensor.strides) for tensor in tensors if tensor != ONE_ELEMENT}) > 1


def _of_library(call: Call, arguments: Mapping[str, Argument]) -> Work:
    """The product of a library's op, by what its arguments say or its sizes allow."""
    a, b = (_only_tensor(_unpacked(call, arguments[name])) if name in arguments else None for name in "ab")
    if a is None or b is None:
        return Work()
    if "trans_a" in arguments and "trans_b" in arguments:
        flags = ["t" if str(read_value(arguments, f"trans_{side}")).lower() in TRUE else "n" for side in "ab"]
        inner = a.dims[-2 if flags[0] == "t" else -1], b.dims[-1 if flags[1] == "t" else -2]
        return Work(shapes_text((a, b)), _attributes(*flags)) if inner[0] == inner[1] else Work()
    if PACKED_WEIGHTS.search(call.name) and 2 * b.dims[-1] == a.dims[-1]:
        b = Tensor((*b.dims[:-1], a.dims[-1]), ())
    return _fitted(Tensor(_batch_first(a.dims, b.dims), ()), b)


def _fitted(a: Tensor, b: Tensor) -> Work:
    """The product over the last axis of ``a``, and the axis of ``b`` that is as long: its last one first."""
    if a.dims[-1] not in b.dims[-2:]:
        return Work()
    return Work(shapes_text((a, b)), _attributes("n", "t" if a.dims[-1] == b.dims[-1] else "n"))


def _of_template(tensors: Sequence[Sizes]) -> Work:
    """The one product of two operands whose result is as large as the last operand; the others are fused to it.

    Operands are listed as they are stored, so only the numbers of their elements tell how they multiply.
    """
    *inputs, result = [dims for dims in tensors if len(dims) > 1 and min(dims) > 0] or [()]
    batched = len(result) == 3 and sum(len(dims) == 3 and dims[0] == result[0] for dims in inputs) > 1
    groups = result[0] if batched else 1
    products = {
        product
        for a, b in permutations(inputs, 2)
        if (product := _sizes(math.prod(a), math.prod(b), result, groups)) and product[2] in a and product[1] in b
    }
    if len(products) != 1:
        return Work()
    m, n, k = products.pop()
    return Work(f"{groups}x{m}x{k};{groups}x{k}x{n}" if batched else f"{m}x{k};{k}x{n}", _attributes("n", "n"))


def _sizes(a: int, b: int, result: Sizes, groups: int) -> tuple[int, int, int] | None:
    """m, n and k of a product of so many elements; None where there is none."""
    n = result[-1]
    m = math.prod(result) // (groups * n)
    k = a // (groups * m)
    return (m, n, k) if a == groups * m * k and b == groups * k * n else None


def _grouped(factors: list[Tensor]) -> Work:
    """A product of each group as one product of all rows: its FLOP do not depend on how the rows are divided."""
    if len(factors) != 2 or not all(2 <= len(tensor.dims) <= 3 for tensor in factors):
        return Work()
    a, b = factors
    if len(a.dims) == len(b.dims) == 3:
        return Work(shapes_text((a, b)), _attributes("n", "n")) if a.dims[2] == b.dims[1] else Work()
    if len(a.dims) == 2 and len(b.dims) == 3:
        return _rows_by_group(a.dims, b.dims)
    if len(a.dims) == 3:  # the columns of the second are divided
        return _rows_by_group(b.dims[::-1], (a.dims[0], a.dims[2], a.dims[1]))
    if a.dims[1] == b.dims[0]:  # the depth is divided
        return Work(shapes_text(factors), _attributes("n", "n"))
    return Work(shapes_text(factors), _attributes("t", "n")) if a.dims[0] == b.dims[0] else Work()


def _rows_by_group(rows: Sizes, weights: Sizes) -> Work:
    """Rows × depth times a matrix of each group; as a batch of groups where these can be of one size."""
    count, depth = rows
    groups, *sides = weights
    if depth not in sides:
        return Work()
    flags = _attributes("n", "n" if sides[0] == depth else "t")
    if groups and count % groups == 0:
        return Work(shapes_text((Tensor((groups, count // groups, depth), ()), Tensor(weights, ()))), flags)
    return Work(shapes_text((Tensor(rows, ()), Tensor(weights[1:], ()))), flags)


def _batch_first(a: Sizes, b: Sizes) -> Sizes:
    """The sizes of a batched factor with its batch first, as the other one has it."""
    swapped = len(a) == len(b) == 3 and a[0] != b[0] == a[1]
    return (a[1], a[0], a[2]) if swapped else a


def _only_tensor(argument: Argument) -> Tensor | None:
    """The one matrix of an argument; None where there are none or several, or it has no elements."""
    tensors = non_scalars(argument)
    known = len(tensors) == 1 and len(tensors[0].dims) >= 2 and min(tensors[0].dims) > 0
    return tensors[0] if known else None


def _unpacked(call: Call, argument: Argument) -> Argument:
    """An argument whose fp4 numbers lie two in a byte along the depth, with the sizes of the numbers."""
    fp4 = [known_format(str(name)) == "fp4" for name in read_list(call.types)]
    if not (any(fp4) or PACKED.search(call.name)):
        return argument
    tensors = (_unpacked_tensor(tensor) if len(tensor.dims) > 1 else tensor for tensor in argument.tensors)
    return Argument(tuple(tensors), argument.value)


def _unpacked_tensor(tensor: Tensor) -> Tensor:
    axis = len(tensor.dims) - (2 if tensor.transposed else 1)
    dims = tuple(2 * size if place == axis else size for place, size in enumerate(tensor.dims))
    return Tensor(dims, tensor.strides)


def _attributes(trans_a: str, trans_b: str) -> str:
    return f"trans_a={trans_a};trans_b={trans_b}"
