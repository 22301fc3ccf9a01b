"""PyTorch's names of ops."""

from __future__ import annotations

import re

from estimator.work.operators.rule import ATTENDED, Family, Rule

CONVOLUTION = r"((mkldnn|cudnn|miopen|slow|thnn)_)?conv(olution\w*|_?(transpose|depthwise|dilated|tbc|[123]d)\w*)"
ADDED = ("summand", "a", "b")
BACKWARD, OF_LIBRARY = ("output", "image", "weights"), ("image", "output", "weights")
ATTENDED_GRAD = ("", *ATTENDED)
LAYER = ("input", "weights", "weights", "", "", "state")
IN_PLACE = r"aten::\w+_"  # writes its first operand

OWN = "aten::"  # begins the names of PyTorch's own ops
INTO_OPERAND = re.compile(r"aten::(?!_|copy_)\w+[^_]_")  # ops that write into their first operand
COPY = re.compile(r"aten::(copy_|_to_copy|clone|contiguous)")
RECURRENT_LAYER = re.compile(r"aten::((_cudnn|miopen|mkldnn)_rnn(_layer)?|gru|lstm|rnn_tanh|rnn_relu)")
KEPT = {  # by a part of the name: what ops keep for their gradients, where it is not what their operator keeps
    "pool2d_with_indices": "operand indices",  # of the largest elements, in whole numbers
    "aten::clamp_min": "result",  # which aten::relu calls
    "aten::silu_": "operand clone",
    "aten::mish_": "operand clone",
}

RULES = (
    Rule("gemm", r"(addmm|baddbmm|addbmm|addmv)", operands=ADDED, multiply="nn"),
    Rule("gemm", r"addmm_activation", operands=ADDED, multiply="nn"),
    Rule("gemm", r"(int_mm|scaled_mm(_v2)?)|b?mm|mv|v?dot|matmul", multiply="nn"),
    Rule("gemm", r"einsum|tensordot|(grouped|scaled_grouped)_mm(_v2)?|weight_int8pack_mm"),
    Rule("gemm", r"(mkldnn_)?linear(_pointwise)?", multiply="nt"),
    Rule("gemm", r"(mkldnn_)?linear(_pointwise)?_backward\w*"),
    Rule("attention_grad", r"scaled_dot_product_\w+_backward\w*", operands=ATTENDED_GRAD),
    Rule("attention", r"scaled_dot_product\w*", operands=ATTENDED),
    Rule("attention_grad", r"(flash|efficient)_attention_backward", operands=ATTENDED_GRAD, positions=1),
    Rule("attention", r"(flash|efficient)_attention_forward", operands=ATTENDED, positions=1),
    Rule("attention_grad", r"cudnn_attention_backward", operands=ATTENDED_GRAD),
    Rule("attention", r"cudnn_attention_forward", operands=ATTENDED),
    Rule("attention", r"(flash|efficient|cudnn)_attention\w*"),
    Rule("attention_grad", r"(wrapper_)?(flash_attn|fmha|mha)\w*_(bwd|backward)", operands=ATTENDED_GRAD, positions=1),
    Rule("attention", r"(wrapper_)?(flash_attn|fmha|mha)\w*_(fwd|forward)", operands=ATTENDED, positions=1),
    Rule("convolution_grad_input", rf"{CONVOLUTION}_backward_input", operands=OF_LIBRARY),
    Rule("convolution_grad_weights", rf"{CONVOLUTION}_backward_weight", operands=("weights", "output", "image")),
    Rule("convolution_grad", rf"(?=cudnn|miopen|mkldnn){CONVOLUTION}_backward", operands=OF_LIBRARY),
    Rule("convolution_grad", rf"{CONVOLUTION}_backward\w*", operands=BACKWARD),
    Rule("convolution", CONVOLUTION),
    Rule("embedding_grad", r"embedding\w*_backward", subject=0),
    Rule("embedding", r"embedding\w*"),
    Rule("index_select", r"index_select"),
    Rule("index", r"index"),
    Rule("scatter", r"index_put_impl|(index|scatter)_(add|put|copy|reduce)\w*|scatter", subject=-1),
    Rule("pick", r"gather|take"),
    Rule("batch_norm_grad", r"((native|cudnn|miopen|mkldnn|fused)_)?batch_norm\w*_backward\w*"),
    Rule("batch_norm", r"((native|cudnn|miopen|mkldnn|fused)_)?batch_norm\w*"),
    Rule("layer_norm_grad", r"((native|cudnn|miopen|mkldnn|fused)_)?layer_norm\w*_backward\w*"),
    Rule("layer_norm", r"((native|cudnn|miopen|mkldnn|fused)_)?layer_norm\w*"),
    Rule("rms_norm_grad", r"((native|cudnn|miopen|mkldnn|fused)_)?rms_norm\w*_backward\w*"),
    Rule("rms_norm", r"((native|cudnn|miopen|mkldnn|fused)_)?rms_norm\w*"),
    Rule("group_norm_grad", r"((native|cudnn|miopen|mkldnn|fused)_)?group_norm\w*_backward\w*"),
    Rule("group_norm", r"((native|cudnn|miopen|mkldnn|fused)_)?group_norm\w*"),
    Rule("instance_norm_grad", r"((native|cudnn|miopen|mkldnn|fused)_)?instance_norm\w*_backward\w*"),
    Rule("instance_norm", r"((native|cudnn|miopen|mkldnn|fused)_)?instance_norm\w*"),
    Rule("weight_norm_grad", r"weight_norm\w*_backward\w*"),
    Rule("weight_norm", r"weight_norm\w*"),
    Rule("softmax_grad", r"(masked_|safe_|special_)?(log_)?softmax_backward(_data)?"),
    Rule("softmax", r"(masked_|safe_|special_)?(log_)?softmax(_data)?"),
    Rule("cross_entropy_loss", r"cross_entropy_loss"),
    Rule("fused_cross_entropy_grad", r"cross_entropy_(bwd|backward)\w*"),
    Rule("fused_cross_entropy", r"cross_entropy_(fwd|forward)\w*"),
    Rule("foreach_copy", r"foreach_(copy|zero)"),
    Rule("sum", r"sum|nansum"),
    Rule("mean", r"mean"),
    Rule("prod", r"prod|cumprod"),
    Rule("max", r"max|amax|aminmax"),
    Rule("min", r"min|amin"),
    Rule("arg_max", r"arg(max|min)|topk|kthvalue"),
    Rule("sort", r"(arg|m)?sort|unique(2|_\w+)?"),
    Rule("segment_sum", r"bincount|histc"),
    Rule("all", r"all|any|count_nonzero"),
    Rule("var", r"std|var|(std|var)_mean"),
    Rule("norm", r"norm|linalg_vector_norm"),
    Rule("logsumexp", r"(special_)?logsumexp"),
    Rule("cumsum", r"cumsum|logcumsumexp"),
    Rule("cum_max", r"cum(max|min)(_helper)?"),
    Rule("foreach_norm", r"foreach_(norm|max)"),
    Rule("max_pool_grad", r"((mkldnn|cudnn)_)?(adaptive_)?max_pool[123]d\w*_backward\w*"),
    Rule("avg_pool_grad", r"((mkldnn|cudnn)_)?(adaptive_)?avg_pool[123]d\w*_backward\w*"),
    Rule("max_pool", r"((mkldnn|cudnn)_)?(adaptive_)?max_pool[123]d\w*"),
    Rule("avg_pool", r"((mkldnn|cudnn)_)?(adaptive_)?avg_pool[123]d\w*"),
    Rule("loss_pick", r"nll_loss(2d)?_forward"),
    Rule("loss_grad", r"((cudnn|miopen)_)?ctc_loss_backward"),
    Rule("loss", r"((cudnn|miopen)_)?ctc_loss"),
    Rule("loss_grad", r"(mse_loss|l1_loss|smooth_l1_loss|huber_loss|kl_div|soft_margin_loss)_backward"),
    Rule("loss_grad", r"binary_cross_entropy\w*_backward"),
    Rule(
        "loss", r"(mse|l1|smooth_l1|huber|nll)_loss(2d|_nd)?(_forward)?|kl_div|soft_margin_loss|binary_cross_entropy\w*"
    ),
    Rule("copy", r"(to_)?copy|contiguous|clone"),
    Rule("concatenate", r"cat|stack|chunk_cat"),
    Rule("pad_grad", r"(constant_|re\w+_)?pad(_nd|[123]d)?_backward"),
    Rule("pad", r"(constant_|re\w+_)?pad(_nd|[123]d)?"),
    Rule("roll", r"roll"),
    Rule("reverse", r"flip"),
    Rule("tile", r"repeat(_interleave)?|tile"),
    Rule("set", r"fill|zero|(new_)?(zeros|ones|full)(_like)?|arange|linspace", subject=0),
    Rule("triangle", r"tril|triu"),
    Rule("movement", r"one_hot|nonzero(_static)?|masked_select|\w+_copy"),
    Rule("rearrange", r"im2col|col2im|pixel_(un)?shuffle|to_mkldnn|to_dense|mkldnn_reorder\w*"),
    Rule("resize_grad", r"(upsample|grid_sampler|roi_align)_(\w+_)?backward\w*"),
    Rule("resize", r"(upsample|grid_sampler)_\w+|roi_align"),
    Rule("slice_grad", r"(slice|select|unfold|diagonal)_backward"),
    Rule("loss_pick_grad", r"nll_loss(2d)?_backward", subject=1),
    Rule("add", r"add"),
    Rule("sub", r"sub|rsub"),
    Rule("mul", r"mul"),
    Rule("div", r"div|true_divide|floor_divide"),
    Rule("neg", r"neg"),
    Rule("abs", r"abs"),
    Rule("exp", r"exp"),
    Rule("exp2", r"exp2"),
    Rule("expm1", r"expm1"),
    Rule("log", r"log"),
    Rule("log2", r"log2"),
    Rule("log10", r"log10"),
    Rule("log1p", r"log1p"),
    Rule("sqrt", r"sqrt"),
    Rule("rsqrt", r"rsqrt"),
    Rule("pow", r"pow"),
    Rule("square", r"square"),
    Rule("reciprocal", r"reciprocal"),
    Rule("remainder", r"remainder|fmod"),
    Rule("sign", r"sign"),
    Rule("floor", r"floor|trunc"),
    Rule("ceil", r"ceil"),
    Rule("round", r"round"),
    Rule("erf", r"erfc?"),
    Rule("erfinv", r"erfinv"),
    Rule("sin", r"sin"),
    Rule("cos", r"cos"),
    Rule("tan", r"tan"),
    Rule("asin", r"asin"),
    Rule("acos", r"acos"),
    Rule("atan", r"atan2?"),
    Rule("sinh", r"sinh"),
    Rule("cosh", r"cosh"),
    Rule("sigmoid_grad", r"sigmoid_backward"),
    Rule("sigmoid", r"sigmoid"),
    Rule("tanh_grad", r"tanh_backward"),
    Rule("tanh", r"tanh"),
    Rule("relu", r"relu"),
    Rule("gelu_grad", r"gelu_backward"),
    Rule("gelu", r"gelu"),
    Rule("softplus_grad", r"softplus_backward"),
    Rule("softplus", r"softplus(_forward)?"),
    Rule("activation_grad", r"(relu6?|prelu|silu|elu|celu|selu|leaky_relu|hard(tanh|swish|sigmoid)|mish)_backward"),
    Rule("activation_grad", r"(log_sigmoid|glu|threshold|(soft|hard)shrink)_backward|prelu_kernel_backward"),
    Rule("activation", r"relu6|prelu|silu|elu|celu|selu|leaky_relu|hard(tanh|swish|sigmoid)|mish"),
    Rule("activation", r"(log_sigmoid|glu|threshold|(soft|hard)shrink)(_forward)?|prelu_kernel\w*"),
    Rule("clip", r"clamp(_min|_max)?"),
    Rule("select", r"where|masked_(fill|scale)"),
    Rule("maximum", r"maximum|fmax"),
    Rule("minimum", r"minimum|fmin"),
    Rule("compare", r"eq|equal|ne|lt|le|gt|ge|is(in|nan|inf|neginf|posinf|finite)"),
    Rule("bitwise", r"bitwise_(left|right)_shift|[lr]shift"),
    Rule("logical", r"(logical|bitwise)_\w+"),
    Rule("elementwise", r"lerp|nan_to_num|addcmul|addcdiv|addr|outer|ger|transform_bias_rescale_qkv"),
    Rule("special", r"a(sin|cos|tan)h|(l|di|poly|mvl)gamma|igammac?|i0|xlogy|logaddexp2?|hypot|sinc|logit"),
    Rule("special", r"special_(?!(log_)?softmax|logsumexp)\w+"),
    Rule("elementwise", r"copysign|heaviside|sgn|frac|fake_quantize_\w+(?<!_backward)"),
    Rule("unary_grad", r"logit_backward|fake_quantize_\w+_backward"),
    Rule("dropout_grad", r"((native|fused|feature|alpha)_)?dropout_backward"),
    Rule("dropout", r"((native|fused|feature|alpha)_)?dropout"),
    Rule(
        "random", r"bernoulli|multinomial|(log_)?normal|uniform|random|exponential|rand(n|int|perm)?(_like)?", subject=0
    ),
    Rule("amp_update", r"amp_\w+"),
    Rule("foreach", r"foreach_\w+"),
    Rule("adam", r"fused_adam\w*"),
    Rule("sgd_momentum", r"fused_sgd"),
    Rule("adagrad", r"fused_adagrad"),
    Rule("recurrent_cell", r"thnn_fused_(lstm|gru)_cell\w*"),
    Rule("recurrent_grad", r"mkldnn_rnn_layer_backward", operands=LAYER),
    Rule("recurrent", r"mkldnn_rnn_layer", operands=LAYER),
    Rule("host", r"view(_as\w*)?|unsafe_view|reshape(_as|_alias)?|as_strided|t|numpy_T|transpose|permute|movedim"),
    Rule("host", r"swap(axes|dims)|expand(_as)?|(un)?squeeze|(un)?flatten|ravel|detach|alias|lift_fresh|select|slice"),
    Rule("host", r"narrow|unbind|diagonal|(unsafe_)?(split(_with_sizes)?|chunk)|unfold|(new_)?empty\w*|resize"),
    Rule("host", r"resolve_(conj|neg)|conj|item|to|type_as|local_scalar_dense|is_nonzero|broadcast_tensors|set|size"),
    Rule("host", r"stride|result_type|record_stream|(is_)?pin\w*|scalar_tensor|resize_as|nnpack_available"),
    Rule("host", r"cudnn_is_acceptable|real|imag|is_same_size|has_same_storage_numel|efficientzerotensor"),
    Rule("host", r"meshgrid|native_multi_head_attention"),
    Rule("host", r"(make|unpack)_dual|fw_primal|pack_padded_sequence(_backward)?|pad_packed_sequence"),
    Rule("host", r"values|(crow_|col_)?indices|(is_)?coalesced|nnz|(sparse|dense)_dim|sparse_coo_tensor\w*"),
)
LIBRARIES = r"(aten|torch|mkldnn|quantized|prims|torchvision|xla|flash_attn\w*|aiter)::_{0,2}"
FAMILY = Family("torch", LIBRARIES, r"(_|_out)?(\.\w+)?", RULES)

LIBRARY_RULES = (  # of libraries beside PyTorch, whose names mean something with the library's own
    Rule("host", r"fsdp::\w+|torch(\.|::)distributed(\.ddp\.|::)reducer::\w+"),  # PyTorch's ops inside do the work
    Rule("host", r"PythonSubclass|(_FromTorchTensor|_ToTorchTensor|(Nested)?Redistribute)(Backward)?"),  # of DTensor
    Rule("host", r"RegisterPostBackwardFunction(Backward)?"),  # of FSDP
    Rule("host", r"torchao::\w+_affine(_\w+)?"),
    Rule("convolution", r"Conv(Bias|FrozenScaleBias)(Mask)?(ReLU)?_"),  # of apex
    Rule("gemm", r"aiter::_?(batched_gemm|gemm|flatmm|gfx\d+)_a\w*|(vllm|aiter)::_?rocm_aiter_\w*gemm\w*"),
    Rule("gemm", r"vllm::\w*w8a8\w*|sglang_profiler::\w*(gemm_a(fp)?\d+w|hgemm)\w*"),
    Rule("gemm", r"vllm::\w*unquantized_gemm\w*|_rocm_C::(wvSplitK\w*|LLMM1)|_C::cutlass_scaled_mm\w*"),
    Rule("gemm", r"(sgl_kernel|trtllm|vllm)::\w*scaled_mm\w*|sgl_kernel::bmm_fp8|bitsandbytes::int8_linear_matmul"),
    Rule("gemm", r"fbgemm::f8f8bf16(_\w+wise)?|tex(_ts)?::te_gemm(_ts)?|triton_(b|add|badd)?mm(_\w*)?"),
    Rule("gemm", r"primus_turbo\w*::(hipblaslt_gemm\w*|(ck_)?grouped_gemm(_variable_k)?(_impl)?)"),
    Rule("gemm", r"_(Linear|GroupedLinear|LayerNormLinear|LayerNormMLP)(Backward)?"),  # of Transformer Engine
    Rule("attention_grad", r"flash_attn_3::bwd|xformers\w*::flash_bwd", operands=ATTENDED_GRAD, positions=1),
    Rule("attention_grad", r"xformers\w*::efficient_attention_backward_cutlass", operands=ATTENDED_GRAD, positions=1),
    Rule(
        "attention", r"FlashAttn(Varlen)?Func|flash_attn_3::fwd|xformers\w*::flash_fwd", operands=ATTENDED, positions=1
    ),
    Rule("attention", r"xformers\w*::efficient_attention_forward_cutlass", operands=ATTENDED, positions=1),
)
LIBRARY_OPS = Family("torch", r"", r"(\.\w+)?", LIBRARY_RULES)
