"""What kind of work an op is, from the op type that the framework prints. The first rule that matches decides."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd

ARITHMETIC = (
    "Add|AddN|AddV2|Sub|Mul|Div|RealDiv|DivNoNan|Neg|Exp|Log|Sqrt|Rsqrt|Square|SquaredDifference|Pow|Floor|Maximum|Minimum|"
    "Fill|Cast|Select|SelectV2|GreaterEqual|OnesLike|ZerosLike|BroadcastTo|BiasAdd|BiasAddV1|"
    "RandomUniform|RandomStandardNormal"
)
ACTIVATION = "Relu|Relu6|Elu|Selu|Tanh|Sigmoid|Softplus"
HOST = "VariableV2|VarHandleOp|ReadVariableOp|Const|NoOp|Identity|Shape|Reshape|_Arg|_Retval"
RULES = tuple(
    (op_class, re.compile(pattern))
    for op_class, pattern in (
        ("input", r"(?i)^memcpy[ _]?(HtoD|DtoH|H2D|D2H)"),  # crosses the host's link, not the device's memory
        ("gemm", r"^_?(Fused|MklNative|MklFused|MklNativeFused)?(Batch)?MatMul(V2|V3)?$"),
        ("gemm", r"^(gemm|mm|bmm|addmm|linear|dot|dot_general|Einsum)$"),
        ("convolution", r"^_?(Fused)?(Depthwise)?Conv\dD|^convolution"),
        ("embedding", r"^(Resource)?Gather(V2|Nd)?$|^embedding"),
        ("normalization", r"(Fused)?(BatchNorm|LayerNorm)|^(Log)?Softmax"),
        ("elementwise", r"^(Resource)?(Sparse)?Apply|^Assign(Add|Sub)"),
        ("movement", r"^(Assign|Concat|Split|Slice|StridedSlice|Transpose|Pad|Tile|Pack|Unpack|Copy|Memcpy)"),
        ("reduction", r"^(Sum|Mean|Max|Min|Prod|ArgMax|L2Loss|BiasAddGrad)$|Pool"),
        ("elementwise", rf"^({ARITHMETIC}|({ACTIVATION})(Grad)?)$"),
        ("collective", r"AllReduce|AllGather|ReduceScatter|^nccl"),
        ("input", r"^(Placeholder|Iterator|OneShotIterator|QueueDequeue|PrefetchDataset)"),
        ("host", rf"^({HOST})$"),
    )
)


def classify(op_types: pd.Series) -> pd.Series:
    """The op class of each op type; ``unmodelled`` where no rule knows it."""
    known = {op_type: _class_of(op_type) for op_type in op_types.dropna().unique()}
    return op_types.map(known).astype("string[python]").fillna("unmodelled")


def _class_of(op_type: str) -> str:
    return next((op_class for op_class, pattern in RULES if pattern.search(op_type)), "unmodelled")
