"""Operands and masks of fused attention, by the schemas of PyTorch, flash-attn, xformers and aiter; and their FLOP."""

import json
from collections.abc import Sequence
from typing import Any

import pandas as pd
import pytest

from estimator.core.types import Workload
from estimator.profiles.kineto.arguments import Call
from estimator.profiles.kineto.attention import SIGNATURES, describe_attention, is_attention, is_causal
from estimator.profiles.kineto.torch_ops import describe, does_product
from estimator.work import count_work

LIBRARIES = ("flash_attn::_flash_attn_forward", "aiter::wrapper_fmha_v3_fwd", "aiter::mha_bwd", "flash_attn_3::fwd")
Q, KV = [2, 48, 8, 64], [2, 32, 4, 64]  # batch × positions × heads × size
PRODUCT = 2 * 2 * 8 * 48 * 32 * 64  # FLOP of one of its products


def heads_first(dims: list[int]) -> list[int]:
    return [dims[0], dims[2], dims[1], dims[3]]


def packed(dims: list[int]) -> list[int]:
    return [dims[0] * dims[1], *dims[2:]]


def call(name: str, dims: Sequence[Any], values: Sequence[Any] = ()) -> Call:
    types = ["c10::BFloat16" if sizes else "Scalar" for sizes in dims]
    texts = [str(value) for value in [*values, *[""] * (len(dims) - len(values))]]
    return Call(name, json.dumps(dims).encode(), json.dumps(types).encode(), b"", json.dumps(texts).encode())


def flop(of: Call) -> float:
    (work,) = describe(of)
    row = {"op": of.name, "op_type": of.name, "kernel": None, "time_s": 1.0, "calls": 1.0, **work._asdict()}
    counted = count_work(pd.DataFrame([row]), Workload(name="toy")).work
    return float(counted["flop"].iloc[0])


@pytest.mark.parametrize(
    "name", [*(f"_{name}" for name in SIGNATURES if "attention" in name and "::" not in name), *LIBRARIES]
)
def test_fused_attention_by_name(name: str) -> None:
    assert is_attention(name)


@pytest.mark.parametrize(
    "name", ["mm", "_native_multi_head_attention", "vllm::unified_attention_with_output", "aiter::rms_norm"]
)
def test_what_is_no_fused_attention_of_known_operands(name: str) -> None:
    assert not is_attention(name)


@pytest.mark.parametrize(
    ("name", "values", "causal"),
    [
        ("_scaled_dot_product_flash_attention", ["", "", "", "0.", "True", "False", "0.125"], True),
        ("_scaled_dot_product_flash_attention", ["", "", "", "0.", "False", "False", "0.125"], False),
        ("_flash_attention_forward", ["", "", "", "", "", "77", "77", "0.", "True", "False"], True),
        ("_efficient_attention_forward", ["", "", "", "", "", "", "", "", "0.", "1", "True"], True),  # kind of mask
        ("_efficient_attention_forward", ["", "", "", "", "", "", "", "", "0.", "0", "True"], False),
        # 2.1 and 2.2 have no longest length of the keys
        ("_efficient_attention_forward", ["", "", "", "", "", "", "", "0.", "1", "False"], True),
        ("_efficient_attention_forward", ["", "", "", "", "", "", "", "1e-05", "0", "True"], False),
        ("_efficient_attention_forward", ["", "", "", "", "", "", "True", "False", ""], False),  # 2.0: sums, causal
        ("_scaled_dot_product_efficient_attention", ["", "", "", "", "True", "0.", "True", ""], True),
        ("_scaled_dot_product_efficient_attention", ["", "", "", "False", "True", ""], True),  # 2.0
        ("_scaled_dot_product_cudnn_attention", ["", "", "", "0.", "True", "False", ""], True),  # 2.3 and 2.4
        ("_scaled_dot_product_cudnn_attention", ["", "", "", "", "True", "0.", "False", "False", ""], False),
        (
            "_scaled_dot_product_efficient_attention_backward",
            [*[""] * 9, "0.", "[True, True, True, False]", "True", ""],
            True,
        ),
        ("_scaled_dot_product_efficient_attention_backward", [*[""] * 6, "True", "False", ""], True),  # 2.0
        ("flash_attn::_flash_attn_forward", ["", "", "", "0.", "0.1", "True"], True),
        ("aiter::wrapper_fmha_v3_fwd", ["", "", "", "0.", "0.1", "True"], True),
        (
            "aiter::_flash_attn_backward",
            [*[""] * 10, "0.", "0.125", "False"],
            False,
        ),  # one argument more than flash-attn's
        ("scaled_dot_product_attention", [], False),
    ],
)
def test_the_value_that_makes_attention_causal(name: str, values: list[str], causal: bool) -> None:
    assert is_causal(name, values) == causal


NONE: list[int] = []
FIRST = heads_first(Q), heads_first(KV), heads_first(KV)
LAST = Q, KV, KV
BEGINS = [3]  # of two sequences


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "dims", "values", "products"),
    [
        ("aten::_scaled_dot_product_flash_attention", [*FIRST, *[NONE] * 4], ["", "", "", "0.", "False"], 2),
        ("aten::_scaled_dot_product_flash_attention", [*FIRST, *[NONE] * 4], ["", "", "", "0.", "True"], 1),
        ("aten::_scaled_dot_product_cudnn_attention", [*FIRST, *[NONE] * 6], [], 2),
        ("aten::_cudnn_attention_forward", [*FIRST, *[NONE] * 9], [*[""] * 10, "True"], 1),
        ("aten::_flash_attention_forward", [*LAST, *[NONE] * 9], [*[""] * 8, "False"], 2),
        ("aten::_efficient_attention_forward", [*LAST, *[NONE] * 9], [*[""] * 8, "0.", "1"], 1),
        ("FlashAttnFunc", [*LAST, *[NONE] * 5], ["", "", "", "0.", "0.1", "True"], 1),
        ("flash_attn::_flash_attn_forward", [*LAST, *[NONE] * 5], [*[""] * 5, "True"], 1),
        ("flash_attn_3::fwd", [*LAST, *[NONE] * 30], [*[""] * 24, "True"], 1),
        ("xformers_flash::flash_fwd", [*LAST, *[NONE] * 12], [*[""] * 10, "True"], 1),
        ("aiter::mha_fwd", [*LAST, *[NONE] * 6], [*[""] * 5, "False"], 2),
        ("aiter::wrapper_fmha_v3_fwd", [[1], *LAST, *[NONE] * 6], [*[""] * 6, "True"], 1),
        ("aiter::_flash_attn_backward", [Q, *LAST, Q, *[NONE] * 12], [*[""] * 12, "True"], 2.5),
        ("aiter::_flash_attn_backward", [Q, *LAST, Q, *[NONE] * 12], [*[""] * 10, "0.", "0.1", "False"], 5),
        ("flash_attn::_flash_attn_backward", [Q, *LAST, Q, *[NONE] * 12], [*[""] * 11, "True"], 2.5),
        ("flash_attn_3::bwd", [Q, *LAST, Q, *[NONE] * 16], [*[""] * 16, "True"], 2.5),
        ("aten::_scaled_dot_product_cudnn_attention_backward", [FIRST[0], *FIRST, *[NONE] * 12], [], 5),
    ],
)
def test_flop_by_the_arguments_of_each_library(name: str, dims: list[Any], values: list[str], products: float) -> None:
    assert flop(call(name, dims, values)) == products * PRODUCT


@pytest.mark.parametrize(
    ("name", "before", "between", "causal"),
    [
        ("aten::_flash_attention_forward", 0, 0, 8),
        ("aten::_efficient_attention_forward", 0, 1, 9),
        ("aten::_cudnn_attention_forward", 0, 1, 10),
        ("flash_attn::_flash_attn_varlen_forward", 0, 0, 9),
        ("flash_attn::_flash_attn_varlen_backward", 1, 5, 15),
    ],
)
@pytest.mark.parametrize("mask", ["0", "1"])
def test_packed_sequences_of_one_length_are_a_batch(
    name: str, before: int, between: int, causal: int, mask: str
) -> None:
    tensors = [packed(Q)] * before + [packed(Q), packed(KV), packed(KV)]
    dims = [*tensors, *[NONE] * between, BEGINS, BEGINS, *[NONE] * 10]
    values = [""] * len(dims)
    place = len(tensors) + between + 2
    values[place : place + 2], values[causal - 1 : causal + 1] = ["48", "32"], ["0.", mask]
    products = 5 if before else 2
    assert flop(call(name, dims, values)) == products * PRODUCT / (2 if mask == "1" else 1)
    values[place] = "50"  # the longest is longer than the mean
    assert pd.isna(flop(call(name, dims, values)))


def test_attention_over_pages_of_a_cache_is_of_unknown_size() -> None:
    dims = [*LAST, *[NONE] * 11, [2, 16], *[NONE] * 12]
    (work,) = describe_attention(call("flash_attn_3::fwd", dims))
    assert work.shapes is None
    assert not does_product(call("flash_attn_3::fwd", dims))


def test_attention_of_unknown_arguments_is_described_as_any_op() -> None:
    assert describe_attention(call("aiter::mha_varlen_fwd", [packed(Q), packed(KV), packed(KV), BEGINS])) == ()
