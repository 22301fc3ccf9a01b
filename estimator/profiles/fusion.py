"""Op types that one kernel can fuse: a product and the ops after it; the kernel takes the product's operands."""

from __future__ import annotations

import re

MATRIX_PRODUCT = re.compile(r"(Batch)?MatMul(V\d)?")
PRODUCT = re.compile(rf"{MATRIX_PRODUCT.pattern}|DepthwiseConv2dNative|Conv\dD")
EPILOGUE = re.compile(
    r"Relu|Relu6|Elu|Selu|LeakyRelu|Tanh|Sigmoid|Gelu|Softplus|BiasAdd(V1)?|Add(V2)?|FusedBatchNorm(V\d)?"
)
