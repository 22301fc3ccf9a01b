"""Fused attention as ops of PyTorch and its libraries: their arguments → operands and the causal mask."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from estimator.profiles.kineto.arguments import (
    Argument,
    Call,
    Sizes,
    Tensor,
    Work,
    base_name,
    non_scalars,
    read_arguments,
    shapes_text,
)  # fmt: skip

ATTENTION = re.compile(
    r"_{0,2}(scaled_dot_product|flash_attention|efficient_attention|cudnn_attention)\w*"
    r"|(flash_attn\w*|aiter)::_?(wrapper_)?(flash_attn|fmha|mha)\w*|flash_attn_3::(fwd|bwd)"
    r"|FlashAttn(Varlen)?Func|xformers\w*::(flash_fwd|flash_bwd|efficient_attention_(forward|backward)_cutlass)"
)


class Signature(NamedTuple):
    """Places among an op's arguments."""

    causal: int | None = None  # of ``is_causal``, or of a mask's kind; None in PyTorch's own ops: see :func:`_mask`
    queries: int = 0  # keys and values follow
    begins: int | None = None  # of packed sequences: where those of the queries begin; those of the keys follow
    longest: int | None = None  # of packed sequences: length of the longest of the queries; that of the keys follows
    paged: tuple[int, ...] = ()  # of tensors that say how much of a cache of pages is used


SIGNATURES = {  # by name, without leading underscores
    "scaled_dot_product_attention": Signature(),
    "scaled_dot_product_attention_math": Signature(),
    "scaled_dot_product_flash_attention": Signature(),
    "scaled_dot_product_flash_attention_for_cpu": Signature(),
    "scaled_dot_product_efficient_attention": Signature(),
    "scaled_dot_product_cudnn_attention": Signature(),
    "scaled_dot_product_fused_attention_overrideable": Signature(),
    "flash_attention_forward": Signature(begins=3, longest=5),
    "efficient_attention_forward": Signature(begins=4, longest=6),
    "cudnn_attention_forward": Signature(begins=4, longest=6),
    "scaled_dot_product_flash_attention_backward": Signature(queries=1),
    "scaled_dot_product_flash_attention_for_cpu_backward": Signature(queries=1),
    "scaled_dot_product_efficient_attention_backward": Signature(queries=1),
    "scaled_dot_product_cudnn_attention_backward": Signature(queries=1),
    "scaled_dot_product_fused_attention_overrideable_backward": Signature(queries=1),
    "flash_attention_backward": Signature(queries=1, begins=6, longest=8),
    "efficient_attention_backward": Signature(queries=1, begins=6, longest=8),
    "cudnn_attention_backward": Signature(queries=1, begins=9, longest=11),
    "FlashAttnFunc": Signature(5),
    "FlashAttnVarlenFunc": Signature(9, 0, 3, 5),
    "flash_attn_forward": Signature(5),
    "flash_attn_varlen_forward": Signature(9, 0, 3, 5),
    "flash_attn_backward": Signature(11, 1),
    "flash_attn_varlen_backward": Signature(15, 1, 9, 11),
    "aiter::flash_attn_backward": Signature(12, 1),
    "aiter::flash_attn_varlen_forward": Signature(10, 0, 3, 5),
    "flash_attn_3::flash_attn_forward": Signature(24, 0, 7, 12, (10, 11, 14)),
    "flash_attn_3::flash_attn_backward": Signature(16, 1, 6, 10, (8, 9)),
    "flash_attn_3::fwd": Signature(24, 0, 7, 12, (10, 11, 14)),
    "flash_attn_3::bwd": Signature(16, 1, 9, 13, (11, 12)),
    "xformers::flash_fwd": Signature(10, 0, 3, 6),
    "xformers::efficient_attention_forward_cutlass": Signature(9, 0, 4),
    "fmha_v3_fwd": Signature(5),
    "mha_fwd": Signature(5),
    "fmha_v3_bwd": Signature(8, 1),
    "mha_bwd": Signature(8, 1),
}
WRAPPER = "wrapper_"  # of an op with one more argument before the others, in some versions
HEADS_FIRST = "cudnn_attention"  # of ops whose heads come before the positions
BOOLS, MASKED = ("true", "false"), ("true", "1", "2")  # 2: the mask begins at the last key
PROBABILITY = re.compile(r"\d+\.\d*|\d+(\.\d*)?e-\d+")  # as PyTorch prints numbers: 0. and not 0


@lru_cache(maxsize=1 << 16)
def is_attention(base: str) -> bool:
    """Whether an op of this name, without ``aten::``, computes or dispatches fused attention."""
    return bool(ATTENTION.fullmatch(base))


def describe_attention(call: Call) -> tuple[Work, ...]:
    """The operands of attention, and whether it is causal; nothing where its arguments are not known by name.

    Packed sequences become a batch of sequences where they are of one length. Where lengths differ, or pages of a cache
    are read, the sizes do not tell the work: it has no operands.
    """
    name, arguments = base_name(call.name), read_arguments(call)
    signature = _signature(name)
    if signature is None:
        return ()
    if WRAPPER in name and arguments and len(_only(arguments[0])) < 2:
        arguments = arguments[1:]
    values = [argument.value for argument in arguments]
    operands = _operands(name, arguments, signature)
    shapes = shapes_text([Tensor(dims, ()) for dims in operands if dims])
    return (Work(shapes, "causal=1" if is_causal(name, values) else None),)


def is_causal(base: str, values: Sequence[object]) -> bool:
    """Whether the values of an op's arguments say that each query sees only the keys up to its own place."""
    signature, texts = _signature(base), [str(value).lower() for value in values]
    if signature is None:
        return False
    if signature.causal is None:
        return _mask(texts, is_gradient=signature.queries > 0) in MASKED
    return signature.causal < len(texts) and texts[signature.causal] in MASKED


def _mask(texts: Sequence[str], *, is_gradient: bool) -> str:
    """The value of ``is_causal``, or of the mask's kind, among those of an op of PyTorch's own; empty where none is.

    Its place differs between versions. It is the first flag behind the dropout's probability; in version 2.0, which has
    none there, the gradient's first one, and the last one of attention itself.
    """
    dropout = next((place for place, text in enumerate(texts) if PROBABILITY.fullmatch(text)), len(texts))
    flags = [text for text in texts[dropout + 1 :] if text in (*BOOLS, *MASKED, "0")]
    if flags:
        return flags[0]
    flags = [text for text in texts if text in BOOLS]
    return flags[0 if is_gradient else -1] if flags else ""


def _operands(name: str, arguments: Sequence[Argument], signature: Signature) -> list[Sizes]:
    """The sizes of the gradient, where there is one, and of queries, keys and values; none where they tell no work."""
    operands = [_only(argument) for argument in arguments[: signature.queries + 3]]
    if len(operands) < signature.queries + 3 or any(_given(arguments, place) for place in signature.paged):
        return []
    if not _given(arguments, signature.begins):
        return operands
    by_sequence = _as_batch(operands, arguments, signature)
    heads_first = HEADS_FIRST in name
    return [
        (n, heads, length, size) if heads_first else (n, length, heads, size) for n, length, heads, size in by_sequence
    ]


def _signature(base: str) -> Signature | None:
    """The places of an op's arguments, of its library's own op before those of the name alone."""
    library, _, name = base.rpartition("::")
    name = name.lstrip("_").removeprefix(WRAPPER)
    return SIGNATURES.get(f"{library.partition('_flash')[0]}::{name}") or SIGNATURES.get(name)


def _only(argument: Argument) -> Sizes:
    """The sizes of an argument's one tensor; empty where it is none."""
    tensors = non_scalars(argument)
    return tensors[0].dims if len(tensors) == 1 else ()


def _given(arguments: Sequence[Argument], place: int | None) -> Sizes:
    """The sizes of the tensor at a place; empty where there is none."""
    return _only(arguments[place]) if place is not None and place < len(arguments) else ()


def _as_batch(
    operands: Sequence[Sizes], arguments: Sequence[Argument], signature: Signature
) -> list[tuple[int, int, int, int]]:
    """Packed operands as (sequence, position, head, size); none where the sequences' lengths differ, or may differ."""
    count = _given(arguments, signature.begins)[0] - 1
    if count < 1 or any(len(dims) < 3 or dims[-3] % count for dims in operands):
        return []
    lengths = [dims[-3] // count for dims in operands]
    of_longest = (lengths[signature.queries], lengths[signature.queries + 1])
    if count > 1 and any(_stated(arguments, signature.longest, side) != str(of_longest[side]) for side in (0, 1)):
        return []
    return [(count, length, *dims[-2:]) for length, dims in zip(lengths, operands, strict=True)]  # type: ignore[misc]


def _stated(arguments: Sequence[Argument], place: int | None, side: int) -> str:
    """The value of one of two arguments that begin at a place."""
    return arguments[place + side].value if place is not None and place + side < len(arguments) else ""
