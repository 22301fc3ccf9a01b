"""Which ops of PyTorch and its libraries are fused attention, and which of their arguments makes it causal."""

from __future__ import annotations

import re
from collections.abc import Sequence

ATTENTION = re.compile(
    r"_{0,2}(scaled_dot_product|flash_attention|efficient_attention|cudnn_attention)\w*"
    r"|(flash_attn\w*|aiter)::_?(wrapper_)?(flash_attn|fmha|mha)\w*"
)
FLAGS = {  # name of the op without leading underscores → place of ``is_causal`` or of a mask's kind among its arguments
    "scaled_dot_product_attention": 5,
    "scaled_dot_product_flash_attention": 4,
    "scaled_dot_product_flash_attention_for_cpu": 4,
    "scaled_dot_product_efficient_attention": 6,
    "scaled_dot_product_cudnn_attention": 6,
    "scaled_dot_product_fused_attention_overrideable": 5,
    "flash_attention_forward": 8,
    "efficient_attention_forward": 9,
    "cudnn_attention_forward": 10,
    "scaled_dot_product_flash_attention_backward": 11,
    "scaled_dot_product_flash_attention_for_cpu_backward": 7,
    "scaled_dot_product_efficient_attention_backward": 11,
    "scaled_dot_product_cudnn_attention_backward": 14,
    "scaled_dot_product_fused_attention_overrideable_backward": 13,
    "flash_attention_backward": 11,
    "efficient_attention_backward": 14,
    "flash_attn_forward": 5,
    "flash_attn_varlen_forward": 9,
    "flash_attn_backward": 11,
    "fmha_v3_fwd": 5,
    "mha_fwd": 5,
    "fmha_v3_bwd": 8,
    "mha_bwd": 8,
}
NO_MASK = ("", "false", "0", "none")


def is_attention(base: str) -> bool:
    """Whether an op of this name, without ``aten::``, computes or dispatches fused attention."""
    return bool(ATTENTION.fullmatch(base))


def is_causal(base: str, values: Sequence[object]) -> bool:
    """Whether the values of an op's arguments say that each query sees only the keys up to its own place."""
    place = FLAGS.get(base.rpartition("::")[2].lstrip("_").removeprefix("wrapper_"))
    return place is not None and place < len(values) and str(values[place]).lower() not in NO_MASK
