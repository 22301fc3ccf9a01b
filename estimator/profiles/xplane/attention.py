"""Fused attention as XLA's calls of cuDNN: their configuration → operands, and which scores their mask leaves out.

Queries, keys and values are the first three operands of every pass. Their axes are in any order; the configuration
states them as axes of the pass's products. Sources: CudnnfMHABackendConfig of xla/service/gpu/backend_configs.proto;
xla/service/gpu/transforms/cudnn_custom_call_compiler.cc; jax/_src/cudnn/fused_attention_stablehlo.py, which writes it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

Shape = tuple[int, ...]
Config = Mapping[str, Any]

CALL = "__cudnn$fmha"  # before the name of the pass and its options
SIZE, POSITIONS = 3, 2  # axes of operands as they are written: batch, heads, positions, size of a head


class Factor(NamedTuple):
    """A product that takes an operand: its side there, and the operand's axis that the product sums over."""

    product: str
    side: str
    summed: int

    def order(self, config: Config) -> Shape:
        """The operand's axes in the order in which they are written."""
        numbers = config[f"{self.product}_dot_dimension_numbers"]
        batch, heads = (int(axis) for axis in numbers[f"{self.side}_batch_dimensions"])
        (summed,) = (int(axis) for axis in numbers[f"{self.side}_contracting_dimensions"])
        (other,) = {0, 1, 2, 3} - {batch, heads, summed}
        return (batch, heads, *((other, summed) if self.summed == SIZE else (summed, other)))


FORWARD = (Factor("bmm1", "lhs", SIZE), Factor("bmm1", "rhs", SIZE), Factor("bmm2", "rhs", POSITIONS))
BACKWARD = (
    Factor("bmm1_grad_gemm1", "rhs", POSITIONS),
    Factor("bmm1_grad_gemm2", "rhs", POSITIONS),
    Factor("bmm2_grad_gemm2", "rhs", SIZE),
)


def read_operands(config: bytes, operands: Sequence[Sequence[int]]) -> tuple[list[Shape], str]:
    """Queries, keys and values as (batch, heads, positions, size), and attributes of the mask.

    Nothing where the configuration does not tell the work: it is unreadable, or sequences are padded or packed, whose
    lengths are values that no program holds, or the keys are pages of a cache.
    """
    try:
        stated = json.loads(config)["cudnn_fmha_backend_config"]
        if _lengths_vary(stated):
            return [], ""
        factors = BACKWARD if "bmm1_grad_gemm1_dot_dimension_numbers" in stated else FORWARD
        pairs = zip(factors, operands, strict=False)
        written = [tuple(int(sizes[axis]) for axis in factor.order(stated)) for factor, sizes in pairs]
        return (written, _mask(stated)) if _fit(written, stated) else ([], "")
    except (ValueError, KeyError, TypeError, AttributeError, IndexError, RecursionError):
        return [], ""


def _lengths_vary(stated: Config) -> bool:
    return "PADDING" in str(stated.get("mask_type", "")) or int(stated.get("max_seg_per_batch", 0)) > 1


def _fit(operands: Sequence[Shape], stated: Config) -> bool:
    """Whether the operands make the matrix of scores that the configuration states."""
    queries, keys, _ = operands
    scores = [int(size) for size in stated["intermediate_tensor_shape"]["dimensions"]]
    return scores == [*queries[:SIZE], keys[POSITIONS]]


def _mask(stated: Config) -> str:
    """``causal=1`` where no query sees later keys, and ``window=N`` where none sees keys that are N or more earlier."""
    causal = stated.get("mask_type") == "CAUSAL" or stated.get("is_causal_mask") is True
    window = int(stated.get("sliding_window_length", 0))
    return ";".join([*(["causal=1"] if causal else []), *([f"window={window}"] if window > 0 else [])])
