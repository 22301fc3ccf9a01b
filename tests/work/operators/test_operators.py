"""Names that dumps really hold, and the class of each."""

import pandas as pd
import pytest

from estimator.core.operators import class_of, operators
from estimator.work.operators import FAMILIES, operator_of, operators_of, rule_of

TABLE = {
    "gemm": """
        MatMul BatchMatMul BatchMatMulV2 BatchMatMulV3 _FusedMatMul _MklMatMul _MklNativeFusedMatMul
        _MklFusedBatchMatMulV2 _MklEinsum Einsum XlaDot XlaDotV2 SparseMatMul QuantizedMatMul QuantizedMatMulWithBias
        gemm linear dot_general aten::mm aten::addmm aten::addmm_ aten::_addmm_activation aten::bmm aten::baddbmm
        aten::baddbmm_ aten::linear aten::matmul aten::einsum aten::mv aten::dot aten::_scaled_mm aten::_int_mm
        mkldnn::_linear_pointwise aten::mkldnn_linear dot __cublas$gemm __cublas$lt$matmul __cublas$lt$matmul$f8
        __onednn$matmul
        __triton_gemm ampere_sgemm_128x64_tn volta_sgemm_32x128_nn volta_h884gemm_64x128_ldg8_nn
        ampere_fp16_s16816gemm_fp16_128x64_ldg8_f2f_stages_64x3_tn
        sm80_xmma_gemm_f32f32_f32f32_f32_tn_n_tilesize32x32x8 nvjet_hsh_256x128_64x4_1x2_h_bz_coopA_NNT
        Cijk_Ailk_Bljk_SB_MT128x128x16 triton_tem_fused_addmm_relu_3 gemm_fusion_dot_12 maxwell_sgemm_128x64_nn
        """,
    "attention": """
        aten::scaled_dot_product_attention aten::_scaled_dot_product_flash_attention_backward
        aten::_flash_attention_forward aten::_efficient_attention_backward flash_attn::_flash_attn_backward
        aiter::fmha_v3_fwd __cudnn$fmhaSoftmax attn_fwd aiter::fmha_fwd_hd128_bf16_rtz
        """,
    "convolution": """
        Conv1D Conv2D Conv3D _FusedConv2D _MklNativeFusedConv2D _MklPadWithConv2D Conv2DBackpropInput
        Conv2DBackpropFilter Conv2DBackpropFilterV2 Conv3DBackpropInputV2 Conv3DBackpropFilterV2
        _MklConv2DBackpropFilterWithBias DepthwiseConv2dNative DepthwiseConv2dNativeBackpropInput
        DepthwiseConv2dNativeBackpropFilter _FusedDepthwiseConv2dNative XlaConvV2 aten::convolution aten::_convolution
        aten::mkldnn_convolution aten::cudnn_convolution aten::cudnn_convolution_add_relu
        aten::cudnn_convolution_transpose aten::convolution_backward aten::conv2d aten::_conv_depthwise2d
        aten::conv_transpose2d aten::slow_conv2d_forward aten::thnn_conv2d mkldnn::_convolution_pointwise convolution
        __cudnn$convForward __cudnn$convBiasActivationForward __cudnn$convBackwardFilter __onednn$convolution
        sm80_xmma_fprop_implicit_gemm_tf32f32_tf32f32_f32_nhwckrsc_nhwc_tilesize128x128x16
        volta_scudnn_128x64_relu_interior_nn_v1 sm80_xmma_dgrad_implicit_gemm_indexed_f16f16_f16f32_f32
        sm86_xmma_wgrad_implicit_gemm_indexed_tf32f32 wgrad_alg0_engine
        cutlass_80_tensorop_s1688fprop_optimized_tf32_128x128
        ampere_scudnn_winograd_128x128_ldg1_ldg4_relu_tile148t_nt_v1
        """,
    "elementwise": """
        Relu ReluGrad Relu6 Relu6Grad _MklRelu _MklReluGrad LeakyRelu LeakyReluGrad EluGrad Tanh TanhGrad SigmoidGrad
        Add AddV2 AddN Sub Mul RealDiv Square Sqrt Rsqrt RsqrtGrad Maximum Minimum Floor FloorMod Select SelectV2
        GreaterEqual Cast BiasAdd Fill ZerosLike BroadcastTo RandomUniform StatelessRandomUniformV2 TruncatedNormal
        AssignAdd AssignSub AssignAddVariableOp AssignSubVariableOp ApplyGradientDescent ResourceApplyAdam
        ResourceApplyKerasMomentum ResourceSparseApplyAdagradV2 aten::add aten::add_ aten::mul aten::div_ aten::relu
        aten::relu_ aten::clamp_min aten::threshold_backward aten::gelu aten::gelu_backward aten::silu
        aten::sigmoid_backward aten::tanh_backward aten::native_dropout aten::native_dropout_backward
        aten::_foreach_add_ aten::_foreach_addcdiv_ aten::_fused_adam_ aten::_fused_adamw_ aten::_fused_sgd_
        aten::where aten::masked_fill_ aten::eq aten::mse_loss_backward aten::bernoulli_ aten::_thnn_fused_lstm_cell
        aten::logical_and aten::rsub aten::pow add multiply maximum compare select convert broadcast iota
        rng-bit-generator exponential logistic fusion loop_add_fusion loop_multiply_fusion_3 and reduce-precision
        triton_poi_fused_add_relu_0 flash_bwd_convert_dq_kernel
        cpp_fused_add_0 graph_0_cpp_fused__scaled_dot_product_flash_attention_for_cpu_backward_permute_view_7
        CompiledFunction CompiledFunctionBackward Lgamma Atanh Xlogy Atan2 IsInf BitwiseAnd TruncateMod CheckNumericsV2
        FakeQuantWithMinMaxVars FakeQuantWithMinMaxVarsGradient AdjustContrastv2 StatefulStandardNormalV2
        aten::xlogy aten::special_entr aten::logaddexp aten::softshrink aten::lgamma_
        aten::digamma Digamma aten::softshrink_backward aten::bitwise_left_shift aten::logit_backward Dawsn
        aten::fake_quantize_per_tensor_affine aten::_ctc_loss_backward aten::isin
        """,
    "pooling": """
        MaxPool MaxPoolGrad MaxPoolV2 AvgPool AvgPoolGrad MaxPool3D AvgPool3DGrad MaxPoolWithArgmax _MklMaxPool
        aten::max_pool2d aten::max_pool2d_with_indices aten::max_pool2d_with_indices_backward aten::avg_pool2d
        aten::_adaptive_avg_pool2d aten::_adaptive_avg_pool2d_backward
        """,
    "reduction": """
        Sum Mean Max Min Prod ArgMax All L2Loss BiasAddGrad UnsortedSegmentSum SegmentSum Cumsum aten::sum
        CumulativeLogsumexp DenseBincount HistogramFixedWidth aten::logcumsumexp aten::bincount aten::histc
        aten::topk TopKV2 topk aten::_ctc_loss aten::_cudnn_ctc_loss
        aten::mean aten::max aten::amax aten::argmax aten::std_mean aten::var aten::cumsum aten::mse_loss
        aten::nll_loss_forward aten::nll_loss_nd aten::_foreach_norm aten::linalg_vector_norm
        aten::binary_cross_entropy_with_logits reduce reduce-window select-and-scatter input_reduce_fusion_2
        triton_red_fused_sum_1 triton_per_fused_mean_2 splitKreduce_kernel
        """,
    "normalization": """
        FusedBatchNorm FusedBatchNormV3 FusedBatchNormGradV3 _FusedBatchNormEx _FusedBatchNormGradEx
        _MklNativeFusedBatchNormV3 _MklLayerNorm Softmax LogSoftmax _MklSoftmax SoftmaxCrossEntropyWithLogits
        SparseSoftmaxCrossEntropyWithLogits aten::native_layer_norm aten::native_layer_norm_backward
        aten::native_batch_norm aten::cudnn_batch_norm_backward aten::batch_norm aten::native_group_norm
        aten::native_group_norm_backward aten::_softmax aten::_softmax_backward_data aten::log_softmax
        aten::_log_softmax aten::_log_softmax_backward_data batch-norm-training batch-norm-grad __onednn$softmax
        __onednn$layernorm LRN LRNGrad BatchNormWithGlobalNormalizationGrad aten::special_log_softmax
        """,
    "embedding": """
        Gather GatherV2 GatherNd ResourceGather SparseSegmentSum SparseSegmentMeanGrad
        SparseSegmentSqrtNWithNumSegments ScatterNd ResourceScatterAdd TensorScatterUpdate aten::embedding
        aten::embedding_dense_backward aten::_embedding_bag aten::index_select aten::index aten::index_put_
        aten::_index_put_impl_ aten::gather aten::scatter_add_ gather scatter
        """,
    "movement": """
        Assign AssignVariableOp Concat ConcatV2 Split SplitV Slice StridedSlice StridedSliceGrad Transpose Pad PadV2
        MirrorPad Tile Pack Unpack OneHot _MklToTf _MklInputConversion aten::copy_ aten::_to_copy aten::contiguous
        aten::clone aten::cat aten::stack aten::fill_ aten::zero_ aten::zeros aten::ones_like aten::constant_pad_nd
        aten::repeat aten::flip aten::slice_backward aten::upsample_nearest2d aten::nll_loss_backward
        aten::_foreach_copy_ copy transpose slice dynamic-slice dynamic-update-slice concatenate pad
        reverse wrapped_transpose memcpy_d2d MEMCPYDtoD MemcpyD2D CopyDeviceToDevice __amd_rocclr_copyBuffer.kd
        __amd_rocclr_fillBufferAligned.kd ResizeBilinear ResizeBilinearGrad ResizeNearestNeighbor CropAndResize
        aten::upsample_bilinear2d_backward aten::grid_sampler_2d aten::grid_sampler_2d_backward torchvision::roi_align
        torchvision::_roi_align_backward CropAndResizeGradImage ExtractImagePatches
        aten::sort aten::argsort aten::_unique2 aten::unique_consecutive aten::nonzero aten::masked_select
        aten::linspace sort UniqueWithCountsV2 MatrixDiagPartV3 ReverseSequence Snapshot ResourceStridedSliceAssign
        """,
    "collective": """
        CollectiveReduce CollectiveReduceV2 CollectiveGatherV2 CollectiveBcastSendV2 NcclAllReduce _NcclReduceSend
        HorovodAllreduce HorovodBroadcast BytepsPushPull CrossReplicaSum AllReduce c10d::allreduce_
        c10d::_allgather_base_ nccl:all_reduce gloo:all_reduce record_param_comms _c10d_functional::all_reduce
        all-reduce all-reduce-start
        all-reduce-done all-gather reduce-scatter collective-permute collective-permute-start all-to-all
        ncclDevKernel_AllReduce_Sum_f32_RING_LL ncclKernel_AllReduce_RING_LL_Sum_float
        """,
    "input": """
        Placeholder PlaceholderWithDefault Iterator IteratorV2 IteratorGetNext OneShotIterator QueueDequeueV2
        FIFOQueueV2 PrefetchDataset RandomDataset RandomShuffleQueueV2
        ParallelMapDatasetV2 TFRecordDataset ReadFile DecodeJpeg ParseExampleV2
        InfeedEnqueueTuple memcpy_h2d MEMCPYHtoD MEMCPYDtoH MemcpyH2D CopyHostToDevice infeed outfeed
        Iterator::Prefetch::Map enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__
        """,
    "host": """
        VariableV2 VarHandleOp ReadVariableOp Const _HostSend _Send _Recv NoOp Identity IdentityN Shape ShapeN Reshape
        ExpandDims Squeeze _Arg _Retval BroadcastGradientArgs StopGradient Enter Exit Merge Switch NextIteration While
        StatelessIf PartitionedCall StatefulPartitionedCall XlaLaunch _XlaRun Assert Range TensorArrayV3
        TensorListReserve aten::view aten::t aten::transpose aten::permute aten::as_strided aten::expand aten::reshape
        aten::_unsafe_view aten::squeeze aten::unsqueeze aten::select aten::slice aten::detach aten::empty
        aten::empty_strided aten::empty_like aten::resize_ aten::resolve_conj aten::item aten::_local_scalar_dense
        aten::_pack_padded_sequence aten::_pack_padded_sequence_backward aten::_values aten::_indices aten::_nnz
        aten::real aten::_efficientzerotensor aten::_has_same_storage_numel aten::_make_dual aten::crow_indices
        fsdp::all_gather_copy_in fsdp::split_with_sizes_copy torch.distributed.ddp.reducer::copy_bucket_to_grad
        torch::distributed::reducer::mul_out PythonSubclass NestedRedistribute _FromTorchTensorBackward
        RegisterPostBackwardFunction _c10d_functional::wait_tensor
        aten::meshgrid aten::_native_multi_head_attention
        torchao::choose_qparams_affine torchao::quantize_affine
        aten::to aten::broadcast_tensors aten::split aten::chunk aten::unbind aten::alias detach AddmmBackward0
        torch::autograd::AccumulateGrad Optimizer.step#SGD.step Optimizer.zero_grad#SGD.zero_grad cudaLaunchKernel
        cudaDeviceSynchronize cuLaunchKernelEx hipLaunchKernel ProfilerStep#3 while call conditional tuple
        get-tuple-element parameter bitcast constant after-all
        """,
    "unmodelled": """
        Mystery unlisted MyMatMul MatMulish PreMaxPool ReluX aten::lstm aten::gru aten::_cudnn_rnn
        custom-call fft aten::fft_r2c aten::nonsense aten::_convert_indices_from_coo_to_csr dense_1/MatMul
        model/max_pool my_gemm_layer conv2d_1 softmax_head copy-start copy-done async-start slice-done
        """,
    "recurrent": """
        CudnnRNN CudnnRNNV3 LSTMBlockCell GRUBlockCell BlockLSTM BlockLSTMV2 CudnnRNNBackpropV3 aten::mkldnn_rnn_layer
        """,
}
SPACED = {  # names with spaces
    "void cutlass::Kernel2<cutlass_80_simt_sgemm_64x64_8x5_nn_align1>(cutlass_80_simt_sgemm::Params)": "gemm",
    "void cutlass__5x_cudnn::Kernel<cutlass_tensorop_s1688fprop_optimized_tf32_64x64>(Params)": "convolution",
    "void gemmSN_TN_kernel<float, 128, 16, 2, 4, 4, 4, true>(cublasGemmSmallNParams)": "gemm",
    "void gemv2T_kernel_val<int, int, float, float, float, float, 128, 16, 4, 4>(params)": "gemm",
    "std::enable_if<!(false), void>::type internal::gemvx::kernel<int, int, float>(params)": "gemm",
    "void implicit_convolve_sgemm<float, float, 1024, 5, 5, 3, 3, 3, 1>(int, int, int, float const*)": "convolution",
    "void cudnn::winograd_nonfused::winogradForwardData4x4<float, float>(params)": "convolution",
    "void conv2d_grouped_direct_kernel<false, true, false>(params)": "convolution",
    "void at::native::(anonymous namespace)::conv_depthwise2d_forward_kernel<3, float, int>(params)": "convolution",
    "void cudnn::ops::nchwToNhwcKernel<float, float, float, false, true>(params)": "movement",
    "void pytorch_flash::flash_fwd_kernel<Flash_fwd_kernel_traits<64, 128, 128>>(params)": "attention",
    "void pytorch_flash::flash_bwd_dq_dk_dv_loop_seqk_parallel_kernel<traits>(params)": "attention",
    "fmha_cutlassF_f16_aligned_64x64_rf_sm80(params)": "attention",
    "cudnn_generated_fort_native_sdpa_sm90_flash_fprop_wgmma_f16": "attention",
    "void cublasLt::splitKreduce_kernel<32, 16, int, float>(params)": "reduction",
    "Cijk_BBS_BH_Bias_HAS_SAV_UserArgs_PostGSU4_VW4": "reduction",
    "Cijk_SB_BetaOnly_GA": "elementwise",
    "Cijk_S_GA.kd": "elementwise",
    "trt_ampere_h16816gemm_128x64_ldg8_stages_64x3_tn_v1": "gemm",
    "trt_turing_h1688cudnn_128x128_ldg8_relu_exp_medium_nhwc_tn_v1": "convolution",
    "void marlin::Marlin<__nv_bfloat16, 256, 4, 16, 4, false, 4, 8>(int4 const*)": "gemm",
    "void flash_bwd_convert_dkv_kernel<Flash_bwd_kernel_traits<64>>(params)": "elementwise",
    "void cutlass::device_kernel<flash::FlashAttnBwdPreprocess<cute::tuple<X>, cutlass::bfloat16_t>>(X)": "elementwise",
    "void flashinfer::SinglePrefillWithKVCacheKernel<X>(X)": "attention",
    "void flash_fwd_splitkv_kernel<Flash_fwd_kernel_traits<64>>(params)": "attention",
    "void flash_fwd_splitkv_combine_kernel<Flash_fwd_kernel_traits<64>>(params)": "reduction",
    "void flash_bwd_clear_dkvaccum_kernel<Flash_bwd_kernel_traits<64>>(params)": "elementwise",
    "void cutlass::device_kernel<flash::FlashAttnFwdCombine<cute::tuple<X>>>(X)": "reduction",
    "void cutlass::device_kernel<cutlass::fmha::kernel::Sm100FmhaMlaKernelTmaWarpspecialized<X>>(X)": "attention",
    "void cutlass::device_kernel<cutlass::fmha::kernel::Sm100FmhaMlaReductionKernel<X>>(X)": "reduction",
    "void cutlass::device_kernel<cutlass::fmha::kernel::Sm100FmhaBwdKernelTmaWarpSpecialized<X>>(X)": "attention",
    "void cutlass::device_kernel<cutlass::fmha::kernel::FmhaKernelBwdSumOdO<X>>(X)": "elementwise",
    "void cutlass::Kernel<cutlass::reduction::kernel::ReduceSplitK<X>>(X)": "reduction",
    "void ck_tile::kentry<1, ck_tile::FmhaFwdSplitKVKernel<X>>(X)": "attention",
    "void ck_tile::kentry<1, ck_tile::FmhaFwdSplitKVCombineKernel<X>>(X)": "reduction",
    "void ck_tile::kentry<1, ck_tile::FmhaFwdAppendKVKernel<X>>(X)": "movement",
    "void vllm::paged_attention_v2_kernel<unsigned short, unsigned short, 128, 16>(X)": "attention",
    "_ZN4vllm32paged_attention_v2_reduce_kernelIttLi128E": "reduction",
    "fmhaReductionKernel": "reduction",
    "_fwd_grouped_kernel_stage1": "attention",
    "_fwd_kernel_stage2": "reduction",
    "triton_flex_decoding": "attention",
    "_5x_cudnn_ampere_scudnn_128x32_relu_medium_nn_v1": "convolution",
    "_attn_bwd_preprocess": "elementwise",
    "fmhaSm100aKernel_QkvBfloat16OBfloat16H128PagedKvDenseP64VarSeqQ16Kv128PersistentSwapsAbForGen": "attention",
    "void ck::kernel_moe_gemm_2lds<ck::GridwiseMoeGemmBlockScale<X>>(X)": "gemm",
    "void ck::kernel_grouped_conv_fwd_multiple_abd_xdl_cshuffle<X>(X)": "convolution",
    "void deep_gemm::transpose_fp32<512u, 56u>(X)": "movement",
    "_layer_norm_fwd_1pass_kernel": "normalization",
    "_attn_bwd_dkdv": "attention",
    "_bwd_kernel_dq": "attention",
    "_fwd_kernel_stage1": "attention",
    "triton_tem_fused_flex_attention_backward_2": "attention",
    "triton_tem_fused_zeros_9": "gemm",
    "void vllm::rotary_embedding_kernel<c10::BFloat16, true>(long const*, c10::BFloat16*)": "unmodelled",
    "GreaterEqual_GPU_DT_INT32_DT_BOOL_kernel": "elementwise",
    "_ZN2at6native18elementwise_kernelILi128ELi4EZNS0_15gpu_kernel_implIZZZNS0_23direct_copy_kernel_cudaE": "movement",
    "_ZN13pytorch_flash16flash_fwd_kernelI23Flash_fwd_kernel_traitsILi64ELi128ELi128E": "attention",
    "_ZN12_GLOBAL__N_120softmax_warp_forwardIfffLi10ELb0ELb0EEEvPT0_PKT_iiiPKbib": "normalization",
    "_ZN5cudnn3ops16nchwToNhwcKernelI6__halfS2_fLb0ELb1EL21cudnnKernelDataType_t0EEEv": "movement",
    "_ZN4vllm26cross_device_reduce_1stageI13__nv_bfloat16Li8EEEvPNS_8RankDataE": "collective",
    "_Z37ncclDevKernel_AllReduce_Sum_f32_TREE_LL24ncclDevKernelArgsStorageILm4096EE": "collective",
    "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>, 3>(int)": "elementwise",
    "void at::native::unrolled_elementwise_kernel<at::native::direct_copy_kernel_cuda(at::X&)>(int)": "movement",
    "void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<float>, 1>(int)": "movement",
    "void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float, SumOps>>(params)": "reduction",
    "void at::native::(anonymous namespace)::multi_tensor_apply_kernel<FusedAdam>(params)": "elementwise",
    "void at::native::(anonymous namespace)::CatArrayBatchedCopy<float, 2>(params)": "movement",
    "void at::native::(anonymous namespace)::indexSelectLargeIndex<float>(params)": "embedding",
    "void at::native::(anonymous namespace)::embedding_backward_feature_kernel<float>(params)": "embedding",
    "void at::native::(anonymous namespace)::vectorized_layer_norm_kernel<float, float>(params)": "normalization",
    "void (anonymous namespace)::softmax_warp_forward<float, float, float, 9, false, false>(float*)": "normalization",
    "void at::native::(anonymous namespace)::cunn_SoftMaxBackward<4, float>(float*)": "normalization",
    "void at::native::batch_norm_collect_statistics_channels_last_kernel<Var>(params)": "normalization",
    "void cudnn::bn_fw_tr_1C11_kernel_NCHW<float, float, 512, true, 1>(params)": "normalization",
    "void at::native::(anonymous namespace)::max_pool_forward_nhwc<float>(params)": "pooling",
    "void cudnn::pooling_fw_4d_kernel<float, float>(params)": "pooling",
    "void at::native::(anonymous namespace)::fused_dropout_kernel_vec<float>(params)": "elementwise",
    "void Eigen::internal::EigenMetaKernel<Eigen::TensorEvaluator<X>, long>(params)": "elementwise",
    "void tensorflow::BiasNHWCKernel<float>(int, float const*)": "elementwise",
    "void tensorflow::functor::ShuffleInTensor3Simple<unsigned int, 2, 1, 0, false>(int)": "movement",
    "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)": "collective",
    "igemm_fwd_gtcx2_nhwc_bf16_bx0_ex1_bt32x256x32": "convolution",
    "cudnn_infer_volta_scudnn_128x64_stridedB_interior_nn_v1": "convolution",
    "miopenSp3AsmConv_v21_1_2_gfx9_fp32_stride1": "convolution",
    "batched_transpose_32x32_half": "movement",
    "MIOpenBatchNormFwdTrainSpatial": "normalization",
    "MIOpenLRNWithinChannel2D": "normalization",
    "void cudnn::detail::lrnForward_evenC<4, 1, 32, 5, float, float>(x)": "normalization",
    "void tensorflow::(anonymous namespace)::ResizeBilinearKernel_faster<float>(int)": "movement",
    "void tensorflow::(anonymous namespace)::ResizeBilinearGradKernel<float>(int)": "movement",
    "void at::native::(anonymous namespace)::upsample_bilinear2d_out_frame<float>(x)": "movement",
    "Cijk_Ailk_Bljk_HHS_BH_MT128x128x16": "gemm",
    "Custom_Cijk_Alik_Bljk_F8BS_BH_MT256": "gemm",
    "void cutlass::device_kernel<cutlass::gemm::kernel::GemmUniversal<cute::tuple<int>>>(X)": "gemm",
    "_gemm_a8w8_blockscale_kernel": "gemm",
    "f4gemm_bf16_per1x32Fp4_BpreShuffle_128x512": "gemm",
    "_ZN5aiter36fmoe_bf16_blockscaleFp8_g1u1_vs": "gemm",
    "moe_ck2stages_gemm1_256x": "gemm",
    "void wvSplitK_hf_sml_<__hip_bfloat16>(int)": "gemm",
    "fused_moe_kernel": "gemm",
    "void deep_gemm::sm90_fp8_gemm_1d2d_impl<X>(X)": "gemm",
    "naive_conv_nonpacked_fwd_nchw_half": "convolution",
    "void cutlass::device_kernel<flash::enable_sm90<flash::FlashAttnFwdSm90<X>>>(X)": "attention",
    "void cutlass::device_kernel<flash::enable_sm90<flash::FlashAttnBwdSm90<X>>>(X)": "attention",
    "void vllm::paged_attention_v2_kernel<X>(X)": "attention",
    "void flashinfer::BatchDecodeWithPagedKVCacheKernel<X>(X)": "attention",
    "bwd_kernel_dk_dv": "attention",
    "void vllm::cross_device_reduce_1stage<float>(X)": "collective",
    "attn_fwd": "attention",
    "aiter::fmha_fwd_hd128_bf16_rtz": "attention",
    "kernel_unified_attention_2d": "attention",
    "void ck_tile::kentry<ck_tile::gfx950_t, 2, ck_tile::FmhaFwdKernel<X>>(X)": "attention",
    "void ck_tile::kentry<ck_tile::gfx950_t, 2, ck_tile::FmhaBwdOGradDotOKernel<X>>(X)": "elementwise",
    "_ZN7ck_tile6kentryILi1ENS_12Rmsnorm2dFwdINS_27Rmsnorm": "normalization",
    "softmax_warp_forward": "normalization",
    "triton_poi_fused_add_0": "elementwise",
    "triton__0d1d2d3d": "elementwise",
    "triton_red_fused_sum_1": "reduction",
    "__amd_rocclr_copyBuffer.kd": "movement",
    "Memcpy HtoD (Pageable -> Device)": "input",
    "Memcpy DtoH (Device -> Pinned)": "input",
    "Memcpy DtoD (Device -> Device)": "movement",
    "Memset (Device)": "movement",
    "autograd::engine::evaluate_function: AddmmBackward0": "host",
    "autograd::engine::evaluate_function: CompiledFunctionBackward": "host",
    "graph_0_gemm_m64n1024k256_kernel": "gemm",
    "TorchDynamo Cache Lookup": "host",
    "AOTDispatcher Runtime Wrapper Prologue": "host",
    "Pregraph bytecode": "host",
    "Torch-Compiled Region: 0/0": "elementwise",
    "## Call CompiledFxGraph fxbxv ##": "elementwise",
}
CASES = [(name, op_class) for op_class, text in TABLE.items() for name in text.split()] + list(SPACED.items())


def class_of_name(name: str) -> str:
    rule = rule_of(name)
    return rule.properties.op_class if rule else "unmodelled"


def test_class_of_each_name() -> None:
    actual = [(name, op_class, class_of_name(name)) for name, op_class in CASES]
    assert [(name, op_class, read) for name, op_class, read in actual if read != op_class] == []


def test_copies_across_the_hosts_link_and_waits_for_them_are_input() -> None:
    names = ["copy-done", "copy", "copy-done", "copy"]
    attributes = ["memory=host", "memory=host", None, None]
    columns = {"op_type": names, "kernel": names, "attributes": attributes, "placement": "/device:TPU:0"}
    ops = pd.DataFrame(columns, dtype="string[python]")
    assert operators_of(ops).tolist() == ["input", "input", "wait", "copy"]


def test_every_operator_has_a_name_in_a_framework_or_library() -> None:
    named = {rule.operator for family in FAMILIES[:-1] for rule in family.rules}  # the last are their own names
    assert operators().keys() - named == {"channel_sum", "launch", "triad"}  # of benchmarks alone


def test_every_rule_has_a_known_operator() -> None:
    assert {rule.operator for family in FAMILIES for rule in family.rules} <= operators().keys()


def test_an_operator_is_known_by_its_own_name() -> None:
    assert {name: class_of_name(name) for name in operators()} == {name: class_of(name) for name in operators()}


@pytest.mark.parametrize(
    ("name", "operator"),
    [
        ("Sigmoid", "sigmoid"), ("aten::sigmoid_", "sigmoid"), ("logistic", "sigmoid"), ("TanhGrad", "tanh_grad"),
        ("aten::tanh_backward", "tanh_grad"), ("_MklTanh", "tanh"), ("aten::sigmoid.out", "sigmoid"),
        ("aten::log_sigmoid_forward", "activation"), ("BiasAddGrad", "bias_grad"), ("_FusedMatMul", "gemm"),
        ("Conv2DBackpropFilter", "convolution_grad_weights"), ("aten::convolution_backward", "convolution_grad"),
        ("ConvBiasReLU_", "convolution"), ("ConvBiasReLU_Backward", "convolution_grad"),
        ("void cudnn::cnn::wgrad_alg0_engine<float>(x)", "convolution_grad_weights"),
        ("ResourceApplyAdam", "adam"), ("ResourceApplyKerasMomentum", "sgd_momentum"),
        ("AssignSubVariableOp", "accumulate"),
        ("flash_attn::cross_entropy_forward", "fused_cross_entropy"), ("aten::binary_cross_entropy", "loss"),
        ("flash_attn::cross_entropy_backward", "fused_cross_entropy_grad"),
        ("cross_entropy_fwd_kernel", "fused_cross_entropy"), ("liger_cross_entropy_kernel", "fused_cross_entropy_grad"),
        ("SparseSoftmaxCrossEntropyWithLogits", "softmax_cross_entropy"), ("exponential-minus-one", "expm1"),
        ("void softmax_warp_forward<float>(x)Kernel", "softmax"), ("AvgPoolGrad", "avg_pool_grad"),
        ("aten::max_pool2d_with_indices_backward", "max_pool_grad"), ("MEMCPYDtoD", "memcpy"), ("Cast", "cast"),
    ],
)  # fmt: skip
def test_operator_of_each_name(name: str, operator: str) -> None:
    rule = rule_of(name)
    assert rule is not None
    assert rule.operator == operator


@pytest.mark.parametrize(
    ("kernel", "op_type", "op_class"),
    [
        ("_MklNativeFusedMatMul", "Relu", "gemm"),
        ("ampere_sgemm_128x64_tn", "aten::addmm", "gemm"),
        ("ampere_sgemm_128x64_tn", "aten::cudnn_convolution", "convolution"),  # run as a product
        ("void cudnn::ops::nchwToNhwcKernel<float>(x)", "aten::cudnn_convolution", "movement"),
        ("some_new_kernel", "aten::relu", "elementwise"),
        ("", "Relu", "elementwise"),
        ("reduce", "fusion", "reduction"),
        ("dot", "fusion", "gemm"),
        ("tuple", "fusion", "elementwise"),
        ("bitcast", "fusion", "elementwise"),
        ("__cublas$gemm", "custom-call", "gemm"),
        ("Sharding", "custom-call", "unmodelled"),
        ("Mystery", "Mystery", "unmodelled"),
        ("", "", "unmodelled"),
    ],
)
def test_the_kernel_outranks_the_op_type(kernel: str, op_type: str, op_class: str) -> None:
    assert class_of(operator_of(kernel, op_type)) == op_class


def test_a_wrapper_is_host_work() -> None:
    op_types = pd.Series(["aten::linear", "aten::mm", None], dtype="string[python]")
    attributes = pd.Series(["dispatch=1", "dispatch=0;trans_b=t", None], dtype="string[python]")
    missing = pd.Series([None] * 3, dtype="string[python]")
    ops = pd.DataFrame({"op_type": op_types, "kernel": missing, "attributes": attributes, "placement": missing})
    assert list(operators_of(ops)) == ["host", "gemm", "unmodelled"]


@pytest.mark.parametrize(
    ("op_type", "kernel", "placement", "operator"),
    [
        ("LigerSiLUMulFunctionBackward", "_backward_kernel", "gpu:0", "unmodelled"),
        ("LigerSiLUMulFunctionBackward", "_backward_kernel", None, "unmodelled"),  # of merged ranks
        ("aten::permute", "my_kernel", "gpu:0", "unmodelled"),
        ("enumerate(DataLoader)#_Iter.__next__", "u8_kernel", "gpu:0", "unmodelled"),
        ("x", "hipMyKernel", "gpu:0", "unmodelled"),
        ("aten::to", "Memcpy HtoD (Pinned -> Device)", "gpu:0", "input"),
        ("aten::permute", None, "cpu", "host"),
        ("aten::permute", "my_kernel", "cpu", "host"),
        ("aten::mm", "_ZN7cutlass6KernelINS_4gemm28PredicatedTileAccessIteratorE", "gpu:0", "gemm"),
        ("CompiledFunction", "mystery", "gpu:0", "unmodelled"),
        ("CompiledFunction", "triton_poi_fused_add_0", "gpu:0", "fused_elementwise"),
        ("CompiledFunction", None, "cpu", "fused_elementwise"),
        ("MyOp", "_ZN4cuco21HashTableInsertKernelE", "gpu:0", "movement"),
    ],
)
def test_what_an_accelerator_ran_is_no_work_of_a_host(
    op_type: str, kernel: str | None, placement: str | None, operator: str
) -> None:
    columns = {"op_type": [op_type], "kernel": [kernel], "placement": [placement], "attributes": [None]}
    assert operators_of(pd.DataFrame(columns, dtype="string[python]")).tolist() == [operator]


def test_the_root_of_a_fusion_is_what_it_computes() -> None:
    assert operator_of("exponential", "fusion") == "exp"
    assert operator_of("bitcast", "fusion") == "fused_elementwise"
