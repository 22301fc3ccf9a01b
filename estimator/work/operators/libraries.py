"""Names of kernels in GPU libraries and generated code, matched by their beginning."""

from __future__ import annotations

from estimator.work.operators.rule import Family, Rule

FUSED = r"(?i).*(fus|triton|foreach|multi_tensor).*"  # kernels that are fusions already
LIBRARY = r"(trt_)?(_5x_)?(cudnn_)?((infer|train|ops)_)?(cutlass|ampere|volta|turing|maxwell|sm\d+)_\S*?"
TILES = r"void ck_tile::kentry.*"  # composable-kernel's, whose entry is one name for all
CK = r"(void )?ck::[\w:() ]*"
CUTLASS = r"(Kernel2?|device_kernel)<cutlass\S*?"
CUTLASS_FMHA = r"device_kernel<cutlass::fmha::\S*?"
NCCL = r"(nccl|rccl)\w*(Kernel|Dev)\w*?_?"  # AMD's library keeps NVIDIA's names

DISTINCT = (  # names with a unique beginning
    Rule("custom_all_reduce", r"(void )?((vllm|sglang|aiter)::cross_device_reduce|[\w:]*(one|two)ShotAllReduce)"),
    Rule("all_reduce", rf"{NCCL}AllReduce"),
    Rule("all_gather", rf"{NCCL}AllGather"),
    Rule("reduce_scatter", rf"{NCCL}ReduceScatter"),
    Rule("collective_broadcast", rf"{NCCL}Broadcast"),
    Rule("collective_reduce", rf"{NCCL}Reduce(?!S)"),
    Rule("send_recv", rf"{NCCL}SendRecv"),
    Rule("collective", NCCL),
    Rule("elementwise", rf"{TILES}FmhaBwd(OGradDotO|ConvertQGrad)|_?(attn_)?bwd_preprocess"),
    Rule("movement", rf"{TILES}FmhaFwdAppendKV"),
    Rule(  # the sum of attention's parts, where keys are split among blocks
        "reduction", rf"{TILES}Fmha\w*Combine|fmha(Sm\d+\w*)?Reduction|(kernel_)?paged_attention\w*_reduce"
    ),
    Rule("reduction", r"_fwd_kernel_(flash_decode_)?stage2"),
    Rule("attention_grad", rf"_?attn_bwd|te_fused_attn_backward|(aiter::)?fmha_bwd|{TILES}Fmha_?Bwd"),
    Rule("attention_grad", r"triton_\w*flex_attention_backward|_?bwd_kernel_(dk|dq)"),
    Rule("attention", rf"(aiter::)?fmha_|cudnn_generated\w*(sdpa|flash)|_?attn_fwd|te_fused_attn_forward|{TILES}Fmha"),
    Rule("attention", r"(kernel_)?(unified|paged)_attention|triton_\w*flex_(attention|decoding)|mla_\w*fwd"),
    Rule("attention", r"aiter::(pa|mla|fmha)_"),
    Rule("attention", r"_fwd_(grouped_)?kernel(_stage|(?!_))"),
    Rule("convolution_grad_weights", rf"{LIBRARY}wgrad|igemm_wrw|{CK}bwd_weight|miopen\w*(wrw|Wrw)"),
    Rule("convolution_grad_input", rf"{LIBRARY}dgrad|igemm_bwd|{CK}bwd_data|miopen\w*(bwd|Bwd)"),
    Rule("convolution", rf"{LIBRARY}(fprop|cudnn|conv)|igemm_fwd|{CK}conv|miopen\w*([cC]onv|fwd|Fwd)"),
    Rule("convolution", r"naive_conv|gridwise_convolution|MIOpenConv|triton_tem_fused\w*convolution"),
    Rule("elementwise", r"Cijk_(\w*BetaOnly|(?!A[a-z]|\w*PostGSU)[A-Z])"),  # scales a result before
    Rule("split_k_sum", r"Cijk_\w*PostGSU"),
    Rule("gemm", rf"{LIBRARY}gemm|nvjet_|(Custom_)?Cijk_|gemm_fusion_dot|triton_tem_|{CK}gemm"),
    Rule(
        "gemm", r"_?matmul_ogs_|_?(batched_)?gemm_a\d*[_wf]|_?fused_moe_kernel|cutlass3x_\w*gemm|triton_mm|f[48]gemm_"
    ),
    Rule("gemm", r"graph_\d+_gemm_"),  # templates of PyTorch's inductor for processors
    Rule("gemm", r"aiter::(fmoe|\w*gemm)|(moe_)?ck2?_?(moe_)?stages?_?\w*gemm|kernel_(moe_)?gemm|ck_moe_stage"),
    Rule("gemm", r"(void )?(deep_gemm::\w*(gemm|mqa_logits<)|(\w+::)*Marlin(_24)?<)"),
    Rule("batch_norm", r"MIOpenBatchNorm"),
    Rule("local_response_norm_grad", r"MIOpenLRN\w*Bwd"),
    Rule("local_response_norm", r"MIOpenLRN"),
    Rule("rms_norm", rf"{TILES}Rmsnorm"),
    Rule("softmax", r"softmax_warp_"),
    Rule("reduction", r"triton_(red|per)_"),
    Rule("fused_elementwise", r"triton_(poi_|_\d+d)|(graph_\d+_)?cpp_fused_"),
    Rule("elementwise", r"SubTensorOp|Op(\dd)?Tensor|[A-Z]\w+_GPU_DT_"),
    Rule("random", r"(void )?([\w ]+::)*FillPhiloxRandom"),
    Rule("movement", r"batched_transpose_|Im[23]d2Col|Col2Im[23]d"),
    Rule("memcpy", r"CopyDeviceToDevice|__amd_rocclr_copyBuffer"),
    Rule("memset", r"__amd_rocclr_fillBuffer"),
)
SIGNATURES = (  # kernels that only their whole signature identifies
    Rule(  # the lesser kernels of attention's gradient
        "elementwise", r"flash_bwd_(dot_do_o|c(lear|onvert)_d|preprocess)|device_kernel<flash::\S*?Bwd(Pre|Post)process"
    ),
    Rule("elementwise", rf"{CUTLASS_FMHA}Bwd(SumOdO|Convert)"),
    Rule(
        "reduction",
        rf"flash_fwd_\w*combine|paged_attention\w*_reduce|device_kernel<flash::\S*?Combine|{CUTLASS_FMHA}Reduction",
    ),
    Rule("attention_grad", rf"{CUTLASS_FMHA}Bwd"),
    Rule("attention", CUTLASS_FMHA),
    Rule("split_k_sum", r"Kernel2?<cutlass::reduction::\S*?SplitK"),
    Rule("reduction", r"Kernel2?<cutlass::reduction::"),
    Rule("attention_grad", r"device_kernel<flash::\S*Bwd"),
    Rule("attention", r"flash_(fwd|bwd)|fmha|device_kernel<flash::|\w*paged_attention"),
    Rule("attention", r"(Batch|Single)?(Prefill|Decode)With"),
    Rule("convolution_grad_weights", rf"{CUTLASS}wgrad|\w*wgrad(?![a-z])"),
    Rule("convolution_grad_input", rf"{CUTLASS}dgrad|\w*dgrad(?![a-z])"),
    Rule("convolution", rf"{CUTLASS}fprop|\w*implicit_\w*gemm|\w*fprop(?![a-z])"),
    Rule("convolution", r"\w*(convolve|[wW]inograd|conv_depthwise|conv2d)|fft2d_"),
    Rule("convolution", r"\w*DepthwiseConv2d", depthwise=True),
    Rule("split_k_sum", r"splitK\w*"),
    Rule("gemm", rf"{CUTLASS}gemm|\w*[sdhcz]gemm|(kernel_)?gemm(?!a)|\w*gemv|wvSplitK|dot_kernel"),
    Rule("softmax", r"\w*[sS]oft_?[mM]ax"),
    Rule("layer_norm", r"\w*(layer_?norm|LayerNorm)|RowwiseMoments|GammaBetaBackward"),
    Rule("batch_norm", r"\w*(batch_?norm|BatchNorm)|bn_(fw|bw)"),
    Rule("group_norm", r"\w*(group_?norm|GroupNorm)"),
    Rule("rms_norm", r"\w*(rms_?norm|RMSNorm)"),
    Rule("local_response_norm_grad", r"lrnBackward"),
    Rule("local_response_norm", r"lrnForward"),
    Rule("resize_grad", r"\w*upsample_\w*backward|(Legacy)?(Resize\w+Grad|CropAndResizeBackprop)"),
    Rule("resize", r"\w*upsample_|(Legacy)?Resize(Bilinear|Bicubic|NearestNeighbor|Area)|CropAndResizeKernel"),
    Rule("embedding", r"(?!\w*rotary)\w*([eE]mbedding|[gG]ather(Op)?_?[kK]ernel)"),
    Rule("embedding", r"\w*(index_?[sS]elect|index_elementwise)"),
    Rule("scatter", r"\w*[sS]catter\w*_?[kK]ernel"),
    Rule("movement", r"(nchw|nhwc)To\w+|CatArray|Concat\w*Kernel|SwapDimension|ShuffleInTensor|\w*transpose"),
    Rule("movement", r"\w*elementwise_kernel\w*<.*(direct_copy_kernel|FillFunctor)"),
    Rule("loss", r"nll_loss_forward"),
    Rule("fused_cross_entropy_grad", r"cross_entropy_(bwd|backward)|liger_cross_entropy"),  # Liger's loss writes it
    Rule("fused_cross_entropy", r"cross_entropy_(fwd|forward)"),
    Rule("reduction", r"Device\w*(Reduce|Scan)\w*Kernel|(Row|Column)Reduce"),
    Rule("reduction", r"\w*reduce_?\w*kernel"),
    Rule("max_pool_grad", r"\w*max_pool\w*backward|pooling_bw\w*max"),
    Rule("avg_pool_grad", r"\w*avg_pool\w*backward"),
    Rule("max_pool", r"\w*max_pool|MaxPool"),
    Rule("avg_pool", r"\w*avg_pool|(Ave|Avg)Pool"),
    Rule("pooling_grad", r"pooling_bw"),
    Rule("pooling", r"pooling_fw"),
    Rule("bias_grad", r"BiasGradNHWC"),
    Rule("foreach", r"multi_tensor_apply"),
    Rule("recurrent_cell", r"\w*(lstm|gru)_cell|(LSTM|GRU)_elementWise|elem(ent)?WiseRNN"),
    Rule("elementwise", r"\w*elementwise_kernel|\w*dropout|EigenMetaKernel|Bias\w+Kernel"),
    Rule("optimizer_update", r"(Sparse)?Apply\w+Kernel"),
)
DISTINCT_KERNELS = Family("library", r"", r".*", DISTINCT)
KERNELS = Family("library", r"(void |(?=.*([kK]ernel|_engine)))([\w() ]+::)*", r".*", SIGNATURES)
