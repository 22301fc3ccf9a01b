"""Matrix products of PyTorch and of libraries, from the arguments in a trace to FLOP that were counted by hand."""

import json
from typing import Any

import pytest

from estimator.profiles.kineto.arguments import Call
from estimator.profiles.kineto.product_ops import describe_product, is_product
from estimator.profiles.kineto.torch_ops import describe, does_product
from tests.profiles.kineto.test_attention import call, flop

M, N, K, G = 48, 80, 64, 4
FLOP = 2 * M * N * K
A, ROWS, COLUMNS = [M, K], [N, K], [K, N]  # weights by rows, as a layer has them, or by columns
NONE: list[int] = []


def te_flags(a: str, b: str) -> list[str]:
    """The values of Transformer Engine's product, as far as they say which factor is transposed."""
    return [*[""] * 4, a, *[""] * 4, b]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "dims", "values"),
    [
        ("aten::_int_mm", [A, COLUMNS], []),
        ("aten::_scaled_mm", [A, COLUMNS, NONE, NONE, NONE, NONE, NONE, NONE], []),
        ("aten::_weight_int8pack_mm", [A, ROWS, [N]], []),
        ("aiter::gemm_a16w16", [A, ROWS, NONE, NONE], []),
        ("aiter::gemm_a8w8_blockscale_ck", [A, ROWS, [M, 1], [1, 1], [M, N]], []),
        ("aiter::_gemm_a8w8_blockscale_bpreshuffle_asm", [A, ROWS, [M, 1], [1, 1]], []),
        ("aiter::flatmm_a8w8_blockscale_asm", [A, ROWS, [M, 1], [1, 1]], []),
        ("vllm::rocm_unquantized_gemm", [A, ROWS, [N]], []),
        ("vllm::rocm_unquantized_gemm", [[2, M // 2, K], ROWS, NONE], []),
        ("vllm::rocm_aiter_triton_gemm_a8w8_blockscale", [A, ROWS, [M, 1], [1, 1]], []),
        ("vllm::apply_w8a8_block_fp8_linear", [A, ROWS, NONE, [1, 1]], []),
        ("sglang_profiler::fp8_utils_gemm_a8w8_blockscale_12", [A, ROWS, [M, 1], [1, 1]], []),
        ("vllm::gemm_with_dynamic_quant", [A, [N, K // 2], [N, 1], NONE, NONE], []),  # two numbers in a byte
        ("vllm::fp8_gemm_nt_op", [A, [M, 1], ROWS, [1, 1], [M, N], NONE], []),
        ("sglang::deep_gemm_fp8_fp8_bf16_nt", [A, [M, 1], ROWS, [1, 1], [M, N]], []),
        ("aiter::hipb_mm", [A, COLUMNS, NONE, NONE], []),
        ("_rocm_C::wvSplitK", [ROWS, A, NONE, NONE], []),
        ("_C::cutlass_scaled_mm", [[M, N], A, COLUMNS, [1], [1], NONE], []),
        ("sgl_kernel::fp8_scaled_mm", [A, COLUMNS, [M], [N], NONE, NONE], []),
        ("trtllm::cublas_scaled_mm", [A, COLUMNS, [1], [1], NONE, NONE], []),
        ("bitsandbytes::int8_linear_matmul", [A, ROWS], []),
        ("fbgemm::f8f8bf16_rowwise", [A, ROWS, [M], [N], NONE, NONE], []),
        ("tex_ts::te_gemm_ts", [ROWS, [1], *[NONE] * 3, A, [1], *[NONE] * 3, [M, N]], te_flags("1", "0")),
        ("tex_ts::te_gemm_ts", [[M, N], [1], *[NONE] * 3, [M, K], [1], *[NONE] * 3, [K, N]], te_flags("0", "1")),
        ("primus_turbo::hipblaslt_gemm_fp8", [A, [1], ROWS, [1], NONE, NONE, NONE], [*[""] * 5, "False", "True"]),
        ("aten::_grouped_mm", [A, [G, K, N], [G], NONE, NONE], []),
        ("aten::_grouped_mm", [[G, M, K], COLUMNS, [G], NONE, NONE], []),
        ("aten::_grouped_mm", [A, COLUMNS, [G], NONE, NONE], []),
        ("aten::_scaled_grouped_mm", [A, [G, K, N], [M], [G, N], [G], NONE, NONE], []),
        ("primus_turbo::grouped_gemm", [A, [G, N, K], [G], [G]], []),
        ("primus_turbo::grouped_gemm", [[M + 1, K], [G, N, K], [G], [G]], []),
        ("primus_turbo_cpp_extension::ck_grouped_gemm_variable_k", [[M, K], [M, N], [G], [G]], []),
    ],
)  # fmt: skip
def test_flop_of_products(name: str, dims: list[Any], values: list[str]) -> None:
    rows = dims[0][0] / M if name == "primus_turbo::grouped_gemm" else 1  # that no size of groups divides
    groups = G if len(dims[0]) == 3 and name == "aten::_grouped_mm" else 1
    of = call(name, dims, values)
    assert is_product(name)
    assert does_product(of)
    assert flop(of) == pytest.approx(FLOP * rows * groups / (1 if groups == 1 else G))


@pytest.mark.parametrize(
    ("name", "dims", "groups"),
    [
        ("aten::_grouped_mm", [[G, M, K], [G, K, N], NONE], G),
        ("aiter::batched_gemm_a8w8", [[G, M, K], [G, N, K], [G, M, 1]], G),
        ("aiter::batched_gemm_a16wfp4_", [[G, M, K], [G, N, K // 2], [G, N, K // 32]], G),
        ("aiter::batched_gemm_a8w8", [[M, G, K], [G, N, K], [G]], G),  # the batch in the middle
        ("aiter::gemm_a4w4", [[M, K // 2], [N, K // 2], [M, 2], [N, 2]], 1),  # two numbers in a byte
        ("aiter::gemm_afp4wfp4_", [[M, K // 2], [N, K // 2], [M, 2], [N, 2]], 1),
    ],
)
def test_flop_of_batched_and_packed_products(name: str, dims: list[Any], groups: int) -> None:
    assert flop(call(name, dims)) == FLOP * groups


@pytest.mark.parametrize(
    ("name", "dims", "groups"),
    [
        ("triton_tem_fused_mm_3", [A, COLUMNS, [M, N]], 1),
        ("triton_tem_fused_mm_3", [[2, M // 2, K], ROWS, [2, M // 2, N]], 1),
        ("triton_tem_fused_addmm_relu_7", [[N], A, COLUMNS, [M, N]], 1),
        ("triton_tem_fused_add_mm_12", [A, COLUMNS, [M, N], [M, N]], 1),  # a summand of the size of the result
        ("triton_tem_fused_bmm_0", [[G, M, K], [G, K, N], [G, M, N]], G),
        ("triton_mm", [A, COLUMNS, [M, N]], 1),
    ],
)
def test_flop_of_products_from_templates_of_inductor(name: str, dims: list[Any], groups: int) -> None:
    assert flop(call(name, dims)) == FLOP * groups


@pytest.mark.parametrize(
    ("name", "dims"),
    [
        ("triton_tem_fused_mm_3", [A, [M, N]]),
        ("triton_tem_fused_mm_3", []),
        ("triton_tem_fused_mm_3", [[64, 64], [64, 64], [64, 32], [32, 64], [64, 64]]),  # with k = 64 or k = 32
    ],
)
def test_a_template_of_unclear_sizes_is_not_counted(name: str, dims: list[Any]) -> None:
    (work,) = describe_product(call(name, dims))
    assert work.shapes is None


def test_fp4_numbers_are_two_in_an_element() -> None:
    types = json.dumps(["c10::Float4_e2m1fn_x2", "c10::Float4_e2m1fn_x2", "c10::Float8_e4m3fn"]).encode()
    dims, strides = json.dumps([[M, K // 2], [K // 2, N], [M]]), json.dumps([[K // 2, 1], [1, K // 2], [1]])
    of = Call("aten::_scaled_mm", dims.encode(), types, strides.encode())
    (work,) = describe(of)
    assert (work.shapes, work.attributes, work.precision) == (f"{M}x{K};{N}x{K}", "trans_a=n;trans_b=t", "fp4")
    assert flop(of) == FLOP


@pytest.mark.parametrize(
    ("name", "dims"),
    [
        ("aiter::gemm_a16w16", [A, [N, K + 1]]),
        ("aiter::gemm_afp4wfp4_", [[M, K // 2], [N // 16, 8 * K]]),  # weights in another order
        ("aiter::gemm_a16w16", [A]),
        ("aten::_grouped_mm", [A, [G, K + 1, N], [G]]),
        ("primus_turbo::hipblaslt_gemm_fp8", [A, [1], ROWS, [1], NONE, NONE, NONE]),  # flags without their values
    ],
)
def test_a_product_whose_sizes_do_not_fit_has_no_operands(name: str, dims: list[Any]) -> None:
    (work,) = describe_product(call(name, dims))
    assert work.shapes is None
    assert does_product(call(name, dims)) == name.startswith("aten::")


@pytest.mark.parametrize(
    "name",
    ["aiter::rms_norm", "vllm::moe_forward", "_C::silu_and_mul", "aiter::fused_moe_", "triton_tem_fused_convolution_2"],
)
def test_what_is_no_product(name: str) -> None:
    assert not is_product(name)


@pytest.mark.parametrize(
    ("strides", "shapes"),
    [([[K, 1], [N, 1]], f"{M}x{K};{K}x{N}"), ([[], []], f"{M}x{K};{K}x{N}"), ([[], [N, 1]], None)],
)
def test_a_sparse_factor_has_no_strides_and_tells_no_work(strides: list[list[int]], shapes: str | None) -> None:
    """As the matrix of neighbours of a graph. Old traces have no strides at all."""
    dims, types, steps = (json.dumps(each).encode() for each in ([A, COLUMNS], ["float", "float"], strides))
    assert [work.shapes for work in describe(Call("aten::mm", dims, types, steps))] == [shapes]
