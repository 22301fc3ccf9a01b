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
        ("nvjet_sm100_tst_128x256_64x6_2x1_2cta_v_bz_TNT", "bf16"), ("nvjet_qqtst_128x256_128x4_2x1_v_bz_TNT", "fp8"),
        ("nvjet_sm100_ootst_256x128_256x4_2x1_2cta_v_bz_TNT", "fp4"), ("nvjet_sm90_hsh_64x64_64x13_h_bz_TNN", "fp16"),
        ("sm80_xmma_gemm_i8i8_i8i32_f32_tn_n_tilesize128x256x64_stage3", "int8"), ("ampere_zgemm_64x64_nn", "fp64"),
        ("sm80_xmma_gemm_i8i32_i8i32_i32_tn_n_tilesize64x64x64_stage4", "int8"), ("maxwell_gcgemm_32x32_nt", "fp32"),
        ("volta_int8x4_icudnn_int8x4_128x128_relu_interior_nn_v1", "int8"), ("turing_h1688gemm_128x64_tn", "fp16"),
        ("bmm_E4m3_E4m3E4m3_Fp32_t128x64x128u2_s6_et64x64", "fp8"), ("bmm_E2m1_E2m1E2m1_Fp32_t128x128x256", "fp4"),
        ("nvjet_sm100_sss_128x128_32x6_2x1_v_bz_TNT", "tf32"),
        ("cutlass_75_tensorop_s1688gemm_f16_256x128_32x2_nt_align8", "fp16"),
        ("bmm_Bfloat16_E2m1E2m1_Fp32_t128x16x256", "fp4"), ("gemm_Bfloat16_E4m3E4m3_Fp32_t128x8x128u2", "fp8"),
        ("Custom_Cijk_Alik_Bljk_F8BS_BH_Bias_SHB_HAS_MT256x256x128", "fp8"), ("Cijk_Alik_Bljk_S_MX_B_MT128", "tf32"),
        ("Cijk_Ailk_Bjlk_B8F8BS_BH_UserArgs_MT256x128x128", "fp8"), ("Cijk_Ailk_Bljk_ZB_MT64x32x8", "fp64"),
        ("_ZN5aiter42f4gemm_bf16_per1x32Fp4_BpreShuffle_256x256E", "fp4"),
        ("_ZN5aiter28I8gemm_bf16_perTokenI8_128x256E", "int8"), ("fmoe_bf16_pertokenFp8_g1u1_silu_32x384", "fp8"),
        ("naive_conv_ab_nonpacked_fwd_nchw_float_double_float", "fp32"),
        ("void rocblas_gemvt_warp_reduce_kernel<false, 1024, int, _Float16 const*, float>(bool)", "fp16"),
        ("void Marlin<256, 1, 8, 8, 4, -1>(int4 const*)", None), ("_Z6MarlinILi256ELi1ELi8ELi8ELi4EEvPK4int4", None),
        ("ncclKernel_SendRecv_RING_SIMPLE_Sum_int8_t(ncclDevComm*)", None),
        ("ncclDevKernel_AllReduce_Sum_f32_RING_LL", "fp32"), ("_matmul_ogs_NNT_bf16xbf16xmxfp4_16x128x256x1", "bf16"),
    ],
)  # fmt: skip
def test_the_format_of_each_kernel(kernel: str, precision: str | None) -> None:
    assert precision_of(kernel) == precision
