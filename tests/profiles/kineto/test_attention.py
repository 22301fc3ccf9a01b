import pytest

from estimator.profiles.kineto.attention import FLAGS, is_attention, is_causal

LIBRARIES = ("flash_attn::_flash_attn_forward", "aiter::wrapper_fmha_v3_fwd", "aiter::mha_bwd")


@pytest.mark.parametrize("name", [*(f"_{name}" for name in FLAGS if "attention" in name), *LIBRARIES])
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
        ("flash_attn::_flash_attn_forward", ["", "", "", "0.", "0.1", "True"], True),
        ("aiter::wrapper_fmha_v3_fwd", ["", "", "", "0.", "0.1", "True"], True),
        ("scaled_dot_product_attention", [], False),
    ],
)
def test_the_value_that_makes_attention_causal(name: str, values: list[str], causal: bool) -> None:
    assert is_causal(name, values) == causal
