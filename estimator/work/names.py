"""The names that frameworks and libraries give to kinds of work: data for ``classify.py``.

A rule is an op class and the names (a regular expression) that belong to it; within all families the first rule that
fits a whole name decides. A family also says what may stand before and behind each of its names.
"""

Rules = tuple[tuple[str, str], ...]

PLAIN: Rules = (  # op tables made by hand, and what profilers themselves write
    ("gemm", r"gemm|mm|bmm|addmm|linear|dot_general"),
    ("unmodelled", r"unlisted"),  # time that a profiler's shares tell of, but no line
    ("input", r"(?i:memcpy[ _]?(HtoD|DtoH|H2D|D2H)\b.*)"),  # crosses the host's link, not the device's memory
    ("input", r"enumerate\(DataLoader\)\S*|Iterator::\S+"),
    ("movement", r"(?i:memcpy\b.*|memcpy[ _]?(DtoD|PtoP|D2D|P2P)\b.*|memset\b.*)"),
    ("collective", r"(nccl|gloo|mpi|ucc|c10d|_?c10d_functional)::?\w+|record_param_comms"),
    (
        "host",
        r"(autograd::engine|torch::autograd|profiler)::.*|Optimizer\..*|\w+Backward\d*|detach_?|ProfilerStep\W\d+",
    ),
    ("host", r"(cuda|hip)[A-Z]\w+|cu(Launch|Mem|Stream|Event|Ctx|Module|Func)\w+"),
)
TENSORFLOW: Rules = (
    ("gemm", r"(Batch)?MatMul(V2|V3)?(With\w+)?|Einsum|XlaDot(V2)?|\w*SparseMatMul"),
    ("convolution", r"(PadWith|ResizeAndPad|Pad)?(Depthwise)?Conv[123]D(With\w+)?|XlaConv(V2)?"),
    ("convolution", r"Conv[123]DBackprop(Input|Filter)(V2|WithBias)?|DepthwiseConv2dNative\w*"),
    ("embedding", r"(Resource)?Gather(V2|Nd)?|SparseSegment(Sum|Mean|SqrtN)\w*|(Resource|Tensor)?Scatter\w+"),
    ("normalization", r"(Batch|Layer|Instance)Norm\w*|(Log)?Softmax(Grad)?|(Sparse)?SoftmaxCrossEntropyWithLogits"),
    ("elementwise", r"(Resource)?(Sparse)?Apply[A-Z]\w+|Assign(Add|Sub)(VariableOp)?"),
    ("movement", r"Assign(VariableOp)?|(Parallel)?Concat(V2)?|Split(V)?|(Strided)?Slice(Grad)?|Pack|Unpack"),
    ("movement", r"(Conjugate)?Transpose|(Mirror)?Pad(V2)?(Grad)?|Tile(Grad)?|(Deep)?Copy(Host)?|Reverse(V2)?|Roll"),
    ("movement", r"OneHot|InputConversion|ToTf|SpaceToDepth|DepthToSpace|(SpaceToBatch|BatchToSpace)(ND)?"),
    ("movement", r"(Parallel)?DynamicStitch|DynamicPartition"),
    ("host", r"Optional\w+|VariableShape"),
    ("reduction", r"Sum|Mean|Max|Min|Prod|All|Any|Arg(Max|Min)|L2Loss|BiasAddGrad|Cum(sum|prod)|EuclideanNorm"),
    ("pooling", r"(Max|Avg)Pool(3D)?(V2|WithArgmax)?((Grad){1,2}(V2|WithArgmax)?)?"),
    ("reduction", r"(Unsorted)?Segment(Sum|Mean|Max|Min|Prod)(V2)?"),
    (
        "elementwise",
        r"(Relu6?|LeakyRelu|Elu|Selu|Gelu|Tanh|Sigmoid|Softplus|Softsign|Sqrt|Rsqrt|Reciprocal|Inv)(Grad)?",
    ),
    ("elementwise", r"Swish|Add|AddN|AddV2|AccumulateNV2|Sub|Mul|Div|RealDiv|DivNoNan|MulNoNan|Xdivy|Neg|Abs|Sign"),
    (
        "elementwise",
        r"Exp|Expm1|Log|Log1p|Erfc?|UnaryOpsComposition|Square|SquaredDifference|Pow|Floor|FloorDiv|FloorMod|Mod|Ceil|Round|Rint",
    ),
    ("elementwise", r"Sin|Cos|Tan|Atan|Maximum|Minimum|ClipByValue|Fill|Cast|Select(V2)?|(Ones|Zeros)Like|BroadcastTo"),
    ("elementwise", r"(Greater|Less)(Equal)?|(Not)?Equal|Logical(And|Or|Not)|IsFinite|IsNan|BiasAdd(V1)?|Dropout"),
    ("elementwise", r"(Stateless)?(Random|TruncatedNormal|Multinomial)\w*|(LSTM|GRU)BlockCellGrad|MatrixBandPart"),
    ("collective", r"Collective(Reduce|Gather|Bcast|AllToAll|Permute)\w*|Nccl\w+|Horovod\w+|CrossReplicaSum"),
    ("collective", r"\w*(AllReduce|AllGather|ReduceScatter|AllToAll)\w*"),
    ("input", r"Placeholder(V2|WithDefault)?|\w*Iterator\w*|\w*Dataset(V\d)?|\w*Queue\w*|\w*Reader(V2)?|Infeed\w*"),
    ("input", r"Read(File|Record)\w*|Decode\w+|Parse(Single)?(Sequence)?Example\w*"),
    ("host", r"Variable(V2)?|VarHandleOp|ReadVariableOp|VarIsInitializedOp|\w*ResourceOp|Const|NoOp|Identity(N)?"),
    ("host", r"(Device)?(Arg|Retval)|ShapeN?|Rank|Size|Reshape|ExpandDims|Squeeze|BroadcastGradientArgs|BroadcastArgs"),
    (
        "host",
        r"StopGradient|PreventGradient|Enter|Exit|Merge|SwitchN?|NextIteration|LoopCond|ControlTrigger|Bitcast",
    ),
    ("host", r"(Stateless|Stateful)?(While|If|Case|PartitionedCall)|SymbolicGradient|Xla(Launch|Run|Compile)\w*"),
    ("host", r"(Host)?(Send|Recv)|Assert|Print(V2)?|\w*Summary(V2)?|Range|ConcatOffset|InvertPermutation"),
    ("host", r"TensorArray\w*|Stack\w*V2|TensorList\w*|\w*HashTable\w*|LookupTable\w*|Restore(V2)?|Save(V2)?"),
)
TORCH: Rules = (
    ("gemm", r"mm|bmm|addmm(_activation)?|baddbmm|addbmm|mv|addmv|v?dot|matmul|einsum|tensordot"),
    ("gemm", r"(int|scaled|grouped|scaled_grouped)_mm|(mkldnn_)?linear(_pointwise)?(_backward\w*)?"),
    ("gemm", r"scaled_dot_product\w*|(flash|efficient|cudnn)_attention\w*"),
    (
        "convolution",
        r"((mkldnn|cudnn|miopen|slow|thnn)_)?conv(olution\w*|_?(transpose|depthwise|dilated|tbc|[123]d)\w*)",
    ),
    (
        "embedding",
        r"embedding\w*|index(_select|_put_impl)?|gather|take|(index|scatter)_(add|put|copy|reduce)\w*|scatter",
    ),
    ("normalization", r"((native|cudnn|miopen|mkldnn|fused)_)?(batch|layer|group|instance|rms)_norm\w*|weight_norm\w*"),
    ("normalization", r"(masked_|safe_)?(log_)?softmax(_backward)?(_data)?|cross_entropy_loss"),
    ("reduction", r"sum|nansum|mean|prod|max|min|amax|amin|aminmax|arg(max|min)|all|any|std|var|(std|var)_mean|norm"),
    ("reduction", r"count_nonzero|linalg_vector_norm|logsumexp|cum(sum|prod)|foreach_(norm|max)"),
    ("pooling", r"((mkldnn|cudnn)_)?(adaptive_)?(max|avg)_pool[123]d\w*"),
    (
        "reduction",
        r"(mse|l1|smooth_l1|huber|nll)_loss(2d|_nd)?(_forward)?|(kl_div|soft_margin_loss|binary_cross_entropy\w*)",
    ),
    ("movement", r"(to_)?copy|contiguous|clone|cat|stack|chunk_cat|(constant_|re\w+_)?pad(_nd|[123]d)?(_backward)?"),
    (
        "movement",
        r"roll|flip|repeat(_interleave)?|tile|fill|zero|(new_)?(zeros|ones|full)(_like)?|arange|tril|triu|one_hot",
    ),
    ("movement", r"im2col|col2im|pixel_(un)?shuffle|upsample_\w+|\w+_copy|(slice|select|unfold|diagonal)_backward"),
    ("movement", r"to_mkldnn|to_dense|mkldnn_reorder\w*|nll_loss(2d)?_backward|foreach_(copy|zero)"),
    (
        "elementwise",
        r"add|sub|rsub|mul|div|true_divide|floor_divide|neg|abs|exp|exp2|expm1|log|log2|log10|log1p|sqrt|rsqrt",
    ),
    ("elementwise", r"pow|square|reciprocal|remainder|fmod|sign|floor|ceil|round|trunc|erfc?|sin|cos|tan|atan2?|lerp"),
    (
        "elementwise",
        r"(sigmoid|tanh|relu6?|prelu|gelu|silu|elu|celu|selu|leaky_relu|hard(tanh|swish|sigmoid)|mish)(_backward)?",
    ),
    ("elementwise", r"(softplus|log_sigmoid|glu|threshold)(_forward|_backward)?|prelu_kernel\w*|clamp(_min|_max)?"),
    ("elementwise", r"where|masked_(fill|scale)|maximum|minimum|fmax|fmin|eq|ne|lt|le|gt|ge|(logical|bitwise)_\w+"),
    (
        "elementwise",
        r"is(nan|inf|neginf|posinf|finite)|nan_to_num|addcmul|addcdiv|addr|outer|ger",
    ),
    ("elementwise", r"((native|fused|feature|alpha)_)?dropout(_backward)?|bernoulli|multinomial|(log_)?normal|uniform"),
    ("elementwise", r"random|exponential|rand(n|int|perm)?(_like)?|amp_\w+|foreach_\w+|fused_(adam\w*|sgd|adagrad)"),
    ("elementwise", r"thnn_fused_(lstm|gru)_cell\w*"),
    (
        "elementwise",
        r"(mse_loss|l1_loss|smooth_l1_loss|huber_loss|kl_div|soft_margin_loss|binary_cross_entropy\w*)_backward",
    ),
    (
        "host",
        r"view(_as\w*)?|unsafe_view|reshape(_as|_alias)?|as_strided|t|numpy_T|transpose|permute|movedim|swap(axes|dims)",
    ),
    (
        "host",
        r"expand(_as)?|(un)?squeeze|(un)?flatten|ravel|detach|alias|lift_fresh|select|slice|narrow|unbind|diagonal",
    ),
    (
        "host",
        r"(unsafe_)?(split(_with_sizes)?|chunk)|unfold|(new_)?empty\w*|resize|resolve_(conj|neg)|conj|item|to|type_as",
    ),
    ("host", r"local_scalar_dense|is_nonzero|broadcast_tensors|set|size|stride|result_type|record_stream|(is_)?pin\w*"),
    ("host", r"scalar_tensor|resize_as|nnpack_available|cudnn_is_acceptable"),
    ("elementwise", r"transform_bias_rescale_qkv"),
)
XLA: Rules = (
    ("gemm", r"dot|__cublas\$(lt\$)?(gemm|matmul)(\$\w+)?|__onednn\$matmul\w*|__triton\w*gemm|__cudnn\$fmha\w*"),
    ("convolution", r"convolution|__cudnn\$conv\w+|__onednn\$convolution\w*"),
    ("embedding", r"gather|scatter"),
    (
        "normalization",
        r"batch-norm-(training|inference|grad)|__onednn\$(softmax|layernorm)\w*|__cudnn\$(norm|softmax)\w*",
    ),
    ("reduction", r"reduce(-window)?|select-and-scatter|input_\w*reduce\w*fusion(_\d+)?"),
    ("movement", r"copy(-start|-done)?|transpose|slice|dynamic-slice|dynamic-update-slice|concatenate|pad|reverse"),
    ("movement", r"wrapped_(transpose|copy|slice)\w*"),
    ("elementwise", r"broadcast|iota|rng(-bit-generator|-uniform|-normal)?|fusion|loop_\w*fusion(_\d+)?|wrapped_\w+"),
    (
        "elementwise",
        r"add|subtract|multiply|divide|remainder|power|negate|abs|sign|exponential(-minus-one)?|log(-plus-one)?",
    ),
    ("elementwise", r"logistic|tanh|tan|sqrt|rsqrt|cbrt|sine|cosine|atan2|erf|floor|ceil|round-nearest-(afz|even)|map"),
    ("elementwise", r"maximum|minimum|clamp|compare|select|convert|and|or|xor|not|shift-(left|right-\w+)|is-finite"),
    ("elementwise", r"reduce-precision|stochastic-convert|popcnt|clz"),
    ("collective", r"(all-reduce|all-gather|reduce-scatter|collective-\w+|all-to-all|send|recv)(-start|-done)?"),
    ("input", r"infeed|outfeed"),
    ("host", r"while|call|conditional|tuple|get-tuple-element|parameter|constant|bitcast(-convert)?|reshape|after-all"),
    ("host", r"async-(start|update|done)|opt(imization)?-barrier|(partition|replica)-id|add-dependency"),
)
LIBRARIES: Rules = (  # GPU kernels whose names begin like no other
    ("collective", r"(nccl|rccl)\w*(Kernel|Dev)"),
    ("gemm", r"fmha_|cudnn_generated\w*(sdpa|flash)"),
    ("convolution", r"(cutlass|ampere|volta|turing|maxwell|sm\d+)_\S*?(fprop|dgrad|wgrad|cudnn|conv)"),
    (
        "gemm",
        r"(cutlass|ampere|volta|turing|maxwell|sm\d+)_\S*?gemm|nvjet_|Cijk_|gemm_fusion_dot|triton_tem_fused\w*mm",
    ),
    ("reduction", r"triton_(red|per)_fused"),
    ("elementwise", r"triton_poi_fused"),
)
KERNELS: Rules = (  # GPU kernels that only their whole signature gives away as such
    ("elementwise", r"flash_bwd_(dot_do_o|convert_dq|preprocess)"),  # the lesser kernels of attention's gradient
    ("gemm", r"flash_(fwd|bwd)|fmha"),
    ("convolution", r"Kernel2?<cutlass\S*?(fprop|dgrad|wgrad)|\w*implicit_\w*gemm|\w*([dw]grad|fprop)(?![a-z])"),
    (
        "convolution",
        r"\w*(convolve|[wW]inograd|conv_depthwise|conv2d|DepthwiseConv2d)|fft2d_|(miopen|igemm)\w*(fwd|bwd|wrw)",
    ),
    ("reduction", r"splitK\w*"),  # adds the parts of a product
    ("gemm", r"Kernel2?<cutlass\S*gemm|\w*[sdhcz]gemm|gemm|\w*gemv|dot_kernel"),
    ("normalization", r"\w*([sS]oft_?[mM]ax|(layer|batch|group|rms)_?norm|(Layer|Batch|Group|RMS)Norm)"),
    ("normalization", r"bn_(fw|bw)|RowwiseMoments|GammaBetaBackward"),
    (
        "embedding",
        r"\w*(index_?[sS]elect|index_elementwise|[eE]mbedding|[gG]ather(Op)?_?[kK]ernel|[sS]catter\w*_?[kK]ernel)",
    ),
    ("movement", r"(nchw|nhwc)To\w+|CatArray|Concat\w*Kernel|SwapDimension|ShuffleInTensor|\w*transpose"),
    ("movement", r"\w*elementwise_kernel\w*<.*(direct_copy_kernel|FillFunctor)"),
    ("reduction", r"\w*reduce_?\w*kernel|Device\w*(Reduce|Scan)\w*Kernel|(Row|Column)Reduce|nll_loss_forward"),
    ("pooling", r"\w*(max|avg)_pool|pooling_(fw|bw)|(Max|Ave|Avg)Pool"),
    ("reduction", r"BiasGradNHWC"),
    ("elementwise", r"\w*elementwise_kernel|multi_tensor_apply|\w*dropout|EigenMetaKernel|Bias\w+Kernel"),
    ("elementwise", r"\w*(lstm|gru)_cell|LSTM_elementWise|elementWiseRNN|(Sparse)?Apply\w+Kernel"),
)
FAMILIES: tuple[tuple[str, str, Rules], ...] = (  # what stands before each name, and behind it
    (r"", r"", PLAIN),
    (r"_?(Quantized|Mkl|Native|Fused)*", r"", TENSORFLOW),
    (r"(aten|torch|mkldnn|quantized|prims|torchvision|xla)::_{0,2}", r"(_|_out)?(\.\w+)?", TORCH),
    (r"", r"", XLA),
    (r"", r".*", LIBRARIES),
    (r"(void |(?=.*([kK]ernel|_engine)))([\w() ]+::)*", r".*", KERNELS),
)
