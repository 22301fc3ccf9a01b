import pandas as pd
import pytest

from tests.work.test_recurrent import counted

QKV = "2x4x128x64;2x4x100x64;2x4x100x64"
SEQUENCE_FIRST = "2x128x4x64;2x100x4x64;2x100x4x64"
PRODUCT = 2 * 2 * 4 * 128 * 100 * 64


@pytest.mark.parametrize(
    ("op_type", "shapes", "products"),
    [
        ("aten::_scaled_dot_product_flash_attention", QKV, 2),
        ("aten::_scaled_dot_product_flash_attention_for_cpu_backward", f"2x4x128x64;{QKV}", 5),
        ("aten::_flash_attention_forward", SEQUENCE_FIRST, 2),
        ("aten::_flash_attention_backward", f"2x128x4x64;{SEQUENCE_FIRST}", 5),
        ("aten::_scaled_dot_product_flash_attention", "2x4x128x64;2x1x100x64;2x1x100x64", 2),  # shared keys
    ],
)
def test_attention(op_type: str, shapes: str, products: int) -> None:
    row = counted(op_type, shapes)
    assert (row["op_class"], row["flop"], row["work_source"]) == ("attention", products * PRODUCT, "shapes")


def test_attention_moves_its_operands_and_result_alone() -> None:
    assert counted("aten::_scaled_dot_product_flash_attention", QKV)["bytes"] == 4 * 2 * 4 * 64 * (2 * 128 + 2 * 100)


def test_causal_attention_does_half_of_the_work_on_the_same_operands() -> None:
    whole, half = (counted("aten::_scaled_dot_product_flash_attention", QKV, attributes=a) for a in (None, "causal=1"))
    assert (half["flop"], half["bytes"]) == (whole["flop"] / 2, whole["bytes"])


@pytest.mark.parametrize(
    ("kernel", "counts"), [("attn_fwd", True), ("_ZN2ck33kernel_batched_gemm_softmax_gemm_xdl", True),
                           ("a_kernel_of_no_known_name", True), ("flash_bwd_dot_do_o", False),
                           ("void at::native::vectorized_elementwise_kernel<4>(int)", False)],
)  # fmt: skip
def test_the_kernels_of_attention_that_do_something_else_do_not_do_its_work(kernel: str, counts: bool) -> None:
    row = counted("aten::_scaled_dot_product_flash_attention", QKV, kernel=kernel)
    assert (row["op_class"] == "attention" and row["flop"] == 2 * PRODUCT) == counts


@pytest.mark.parametrize("name", ["flash_attn::_flash_attn_forward", "aiter::fmha_v3_fwd", "aiter::mha_fwd"])
def test_libraries_have_ops_of_their_own(name: str) -> None:
    assert counted(name, SEQUENCE_FIRST)["flop"] == 2 * PRODUCT


def test_attention_over_a_cache_of_keys_stays_uncounted() -> None:
    row = counted("vllm::unified_attention_with_output", "32x64x64;32x8x64;32x8x64;32x64x64")
    assert row[["flop", "bytes"]].isna().all()


def test_a_wrapper_around_attention_does_nothing_itself() -> None:
    row = counted("aten::scaled_dot_product_attention", QKV, attributes="dispatch=1")
    assert row["op_class"] == "host"
    assert pd.isna(row["flop"])


@pytest.mark.parametrize(
    ("attributes", "share"),
    [("window=100", 1), ("window=200", 1), ("window=50", 7 / 8), ("causal=1;window=25", 1 / 2 - 9 / 32)],
)
def test_a_window_leaves_out_the_keys_before_it(attributes: str, share: float) -> None:
    row = counted("aten::_scaled_dot_product_flash_attention", QKV, attributes=attributes)
    assert row["flop"] == pytest.approx(share * 2 * PRODUCT)


@pytest.mark.parametrize(("kernel", "products"), [("__cudnn$fmhaSoftmax", 2), ("__cudnn$fmhaSoftmaxBackward", 5)])
def test_a_librarys_call_lists_the_operands_of_its_kernel(kernel: str, products: int) -> None:
    row = counted("custom-call", QKV, kernel=kernel)
    assert (row["op_class"], row["flop"]) == ("attention", products * PRODUCT)
