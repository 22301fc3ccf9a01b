"""Formats that kernels' names tell."""

import pytest

from estimator.work.operators.formats import precision_of


@pytest.mark.parametrize(
    ("kernel", "precision"),
    [
        ("ampere_sgemm_128x64_nn", "fp32"), ("volta_dgemm_64x64_nt", "fp64"), ("volta_hgemm_64x64_nt", "fp16"),
        ("ampere_fp16_s16816gemm_fp16_128x64_ldg8_f2f_stages_32x6_tn", "fp16"),
        ("ampere_bf16_s16816gemm_bf16_128x64_ldg8_f2f_stages_64x3_tn", "bf16"),
        ("sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64", "bf16"),
        ("sm80_xmma_fprop_implicit_gemm_tf32f32_tf32f32_f32_nhwckrsc_nhwc", "tf32"),
        ("sm80_xmma_gemm_f16f16_f16f32_f32_tn", "fp16"), ("volta_fp16_s884gemm_fp16_128x64_ldg8_f2f_nn", "fp16"),
        ("void cutlass::Kernel<cutlass_80_tensorop_s1688gemm_256x64_16x4_tn_align1>(Params)", "tf32"),
        ("cutlass_80_simt_sgemm_64x64_8x5_nn_align1", "fp32"), ("nvjet_tst_128x256_64x4_1x2_h_bz_coopA_TNT", "bf16"),
        ("nvjet_hsh_128x256_64x4_1x2_h_bz_NNT", "fp16"), ("volta_scudnn_128x64_relu_interior_nn_v1", "fp32"),
        ("Cijk_Ailk_Bljk_HHS_BH_MT128x128x16", "fp16"), ("Cijk_Ailk_Bljk_SB_MT64x64x16", "fp32"),
        ("Cijk_Alik_Bljk_BBS_BH_Bias_HA_S_SAV_UserArgs_MT96x96x128", "bf16"), ("Cijk_Ailk_Bjlk_DB_MT64", "fp64"),
        ("igemm_fwd_gtcx2_nhwc_bf16_bx0_ex1_bt32x256x32", "bf16"), ("igemm_wrw_gtc_nchw_fp32_bx0", "fp32"),
        ("void at::native::vectorized_elementwise_kernel<4, at::native::AddFunctor<float>>(int)", "fp32"),
        ("void at::native::vectorized_elementwise_kernel<8, at::native::AddFunctor<c10::BFloat16>>(int)", "bf16"),
        ("void layer_norm_kernel<c10::Half, float>(int)", "fp16"), ("triton_poi_fused_add_0", None), ("", None),
        ("ncclDevKernel_AllReduce_Sum_f32_RING_LL", "fp32"), ("_matmul_ogs_NNT_bf16xbf16xmxfp4_16x128x256x1", "bf16"),
    ],
)  # fmt: skip
def test_the_format_of_each_kernel(kernel: str, precision: str | None) -> None:
    assert precision_of(kernel) == precision
