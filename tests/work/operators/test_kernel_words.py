"""Kernels that no rule knows: what the words in their names tell. All are names of real kernels."""

import pandas as pd
import pytest

from estimator.core.operators import class_of, operators
from estimator.core.schema import MATRIX, STREAMING
from estimator.work.operators import is_partial_kernel, operator_by_words, operators_of, rule_of
from estimator.work.operators.kernel_words import MESSAGES, OPERATORS, operator_of_words, words

BINDING = {  # what binds kernels → their names
    "compute": """
        sgemm_32x32x32_NN_vec
        void tensorrt_llm::kernels::cudaCoreGemm<__half>(Params)
        void tensorrt_llm::kernels::cutlass_kernels::fused_moe::run_global<__nv_bfloat16>(Params)
        void tensorrt_llm::kernels::mmha::masked_multihead_attention_kernel<unsigned short, 128, 256, 8>(Params)
        void kernel_mha<__nv_bfloat16, 128, false>(Params)
        bmm_E4m3_E4m3E4m3_Fp32_t128x64x128u2_s6_et64x64_m64x64x32_cga1x1x1_16dp256b_TN_transOut_schedS_dynBatch_sm100f
        kernel_cutlass_kernel_flash_attncuteflash_fwd_sm100FlashAttentionForwardSm100_object_at__tensorptrbf16gmem
        void flashinfer::mla::hopper::BatchMLAPageAttentionHopperKernel<flashinfer::mla::KernelTraits<X>>(X)
        void cutlass::device_kernel<enable_sm90_or_later<cutlass::gemm::kernel::GemmUniversal<cute::tuple<int>>>>(X)
        void cutlass::device_kernel<enable_sm90_or_later<cutlass::gem
        void ck_tile::kentry<1, ck_tile::QuantGemmKernel<X>>(X)
        void LLGemm1_kernel<c10::Half, 4>(c10::Half const*)
        MIOpenCvFwd11x11
        RNN_blockPersist_fp_GRU<__half, __half, float, __half, 3, 512, 2, 4, 256, true>(Params)
        _w8a8_block_fp8_matmul
        awq_gemm_kernel
        _lora_shrink_kernel
        matmul_kernel_persistent
        _hstu_attn_fwd
        chunk_gated_delta_rule_fwd_kernel_h_blockdim64
        void Eigen::internal::EigenContractionKernel<X>(X)
        void flashinfer::PODWithKVCacheTensorKernel<X>(X)
        _gqa_share_sparse_fwd_kernel
        _moe_bwd_down_proj_kernel
        """,
    "memory": """
        void epilogue::impl::globalKernel<float, float, float, true, true>(int, int, long, float*, cublasLtE)
        void cudnn::ops::scalePackedTensor_kernel<float, float>(long, float*, float)
        void cudnn::cnn::im2col4d_kernel<float, long>(cudnn::cnn::im2col4d_params, cudnnConvolutionStruct)
        void cask_cudnn::computeOffsetsKernel<false, false>(cask_cudnn::ComputeOffsetsParams)
        void cudnn::fusion::convert_dq_to_16bits<true, __nv_bfloat16, 128, 128, 4>(__nv_bfloat16*, float*)
        void ln_fwd_kernel<Kernel_traits<__nv_bfloat16, __nv_bfloat16, float, unsigned int, 4096u>>(FwdParams)
        void GRU_cell_kernel<X>(X)
        void tensorrt_llm::kernels::fusedQKNormRopeKernel<128, true>(Params)
        void tensorrt_llm::kernels::cutlass_kernels::doActivationKernel<__nv_bfloat16>(Params)
        void ck_tile::kentry<256, 1, ck_tile::MoeSortingKernel<X>, ck_tile::MoeSortingKernel::Kargs>(X)
        void ck_tile::kentry<256, 2, ck_tile::Smoothquant<X>>(X)
        void aiter::dynamic_per_group_scaled_quant_kernel<X>(X)
        mloPoolingForwardNaive
        gcnAsmBNFwdTrainSpatial
        void vllm::reshape_and_cache_flash_kernel<__nv_bfloat16, __nv_bfloat16, (vllm::Fp8KVCacheDataType)0>(X)
        void vllm::act_and_mul_kernel<c10::BFloat16, &(c10::BFloat16 vllm::silu_kernel<c10::BFloat16>(X)), true>(X)
        void marlin::gptq_marlin_repack_kernel<256, 4, false>(unsigned int const*)
        void moe_permute_kernel<__nv_bfloat16, float, 128, false>(X)
        _silu_mul_fp8_quant_deep_gemm
        _finalize_matmul_scatter_bf16
        _gemma4_routing_kernel
        _combine_splitk_kernel
        _merge_attn_out_kernel
        _lfm_short_conv_decode_kernel
        _per_token_group_quant_mla_deep_gemm_masked_fp8
        void moe_lora_align_block_size_kernel<X>(X)
        void flashinfer::MergeStateKernel<X>(X)
        fused_store_flashmla_cache
        set_mla_kv_buffer_kernel
        _sparsemax_forward_kernel
        _topk_forward
        void transformer_engine::fused_rope_forward_kernel<__nv_bfloat16>(X)
        void (anonymous namespace)::cuComputeGradInput<float, float>(X)
        void selective_scan_fwd_kernel<Selective_Scan_fwd_kernel_traits<128, 16, 1, true, c10::BFloat16>>(SSMParamsBase)
        void causal_conv1d_update_kernel<X>(ConvParamsBase)
        _jsd_kernel
        void at_cuda_detail::cub::DeviceRadixSortOnesweepKernel<X, false, int>(X)
        void rocprim::ROCPRIM_400000_NS::detail::trampoline_kernel<rocprim::detail::radix_sort_config<X>>(X)
        void at::native::(anonymous namespace)::roll_cuda_kernel<float>(X)
        void fbgemm_gpu::permute_2D_data_kernel<true, long, long, float>(X)
        void Eigen::internal::FullReductionKernel<256, 128, X>(X)
        void kn_mla_reduce_v1_ps<X>(X)
        void deep_gemm::smxx_clean_logits<X>(X)
        void thrust::cuda_cub::core::_kernel_agent<thrust::cuda_cub::__parallel_for::ParallelForAgent<X>>(X)
        _ZN4vllm30reshape_and_cache_flash_kernelI13__nv_bfloat16S1_LNS_18Fp8KVCacheDataTypeE0EEEvPKT_S5_PT0_
        """,
    "message": """
        void all_reduce_kernel_one_shot<X>(X)
        void c10d::symmetric_memory::multimem_one_shot_all_reduce_kernel<X>(X)
        void flashinfer::trtllm_allreduce_fusion::allreduce_fusion_kernel_oneshot_lamport<X, __nv_bfloat16, 8>(X)
        void at::native::multimem_all_gather_kernel<16>(X)
        void deep_ep::internode_ll::dispatch<true, false, 7168>(void*, float*)
        void deep_ep::intranode::cached_notify_combine<8>(void**)
        void tensorrt_llm::kernels::moe_comm::moeA2ADispatchKernel<1, 8>(Params)
        kuserbuffers_pushsend(int*, int*, int4*, int4*, int)
        mscclKernel_Sum_half_Simple
        EpDispatchIntraNodeKernel_bf16
        cake_fp4_allreduce_tp4_rmsnorm_bf16_bf16_bv0_csp_b1r_rst
        fused_reducescatter_allreduce_kernel
        nvshmemi_transfer_rma_kernel
        _ZN7deep_ep9intranode7combineI13__nv_bfloat16Li8ELi768ELi4096EEEvPT_PfPKS3_
        """,
}
CASES = [(name.strip(), binding) for binding, text in BINDING.items() for name in text.strip().splitlines()]


def binding_of(operator: str | None) -> str:
    op_class = class_of(operator) if operator else "unknown"
    return "compute" if op_class in MATRIX else "memory" if op_class in STREAMING else "message"


def test_what_binds_each_kernel() -> None:
    read = [(name, binding, binding_of(operator_by_words(name, name))) for name, binding in CASES]
    assert [(name, binding, by_words) for name, binding, by_words in read if by_words != binding] == []


def test_each_operator_is_in_the_vocabulary() -> None:
    assert {operator for operator, _ in (*MESSAGES, *OPERATORS)} <= operators().keys()


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("RMSNormKernel", "rms norm kernel"), ("moe_permute_row_map", "moe permute row map"),
        ("applyBiasRopeUpdateKVCacheV2", "apply bias rope update kv cache v2"), ("_fwd_kernel", "fwd kernel"),
    ],
)  # fmt: skip
def test_the_words_of_a_name(name: str, text: str) -> None:
    assert words(name) == text


@pytest.mark.parametrize("name", ["mystery", "my_kernel", "void foo<1>(cutlass::Params)", "", "kernel_0"])
def test_no_word_tells_nothing(name: str) -> None:
    assert operator_of_words(name) is None


@pytest.mark.parametrize(
    ("kernel", "op_type", "operator"),
    [
        ("_topk_forward", "vllm::moe_forward", "reduction"),  # an op that no rule knows
        ("_swiglu_backward_kernel", "LigerSiLUMulFunctionBackward", "elementwise"),  # a wrapper of the host
        ("_swiglu_backward_kernel", "CompiledFunction", "elementwise"),  # any code
        ("void nhwcAddPaddingKernel<__half>(int)", "aten::cudnn_convolution", "elementwise"),  # a part of a product
        ("my_gemm_variant", "aten::mm", None),  # the op's type tells as much
        ("void one_shot_all_reduce_kernel<float>(int)", "aten::sum", "custom_all_reduce"),  # whatever launched it
        ("ncclDevKernel_AllReduce_Sum_f32_RING_LL(Args)", "c10d::allreduce_", None),
        ("triton_poi_fused_all_reduce_lift_fresh_0", "CompiledFunction", None),  # fills what another kernel sends
        ("input_reduce_scatter_fusion", "fusion", None),  # a scatter, with a reduction
        ("relu_and_copy", "aten::relu", None),
        ("ampere_sgemm_128x64_tn", "vllm::moe_forward", None),  # by its rule
    ],
)
def test_words_tell_where_neither_the_kernel_nor_its_op_is_known(
    kernel: str, op_type: str, operator: str | None
) -> None:
    assert operator_by_words(kernel, op_type) == operator
    if operator and operator_of_words(kernel) == operator:
        assert is_partial_kernel(kernel, op_type)  # the op's shapes are hardly the kernel's own


def test_words_tell_of_what_an_accelerator_ran_alone() -> None:
    name = "_topk_forward"
    assert rule_of(name) is None
    columns = {"op_type": [name] * 3, "kernel": [name] * 3, "placement": ["gpu:0", "cpu", None]}
    ops = pd.DataFrame({**columns, "attributes": [None] * 3}, dtype="string[python]")
    assert operators_of(ops).tolist() == ["reduction", "unmodelled", "reduction"]
