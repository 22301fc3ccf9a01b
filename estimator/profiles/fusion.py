"""Which ops TensorFlow's executors fuse into one kernel: a product, and what follows on its result."""

import re

PRODUCT = re.compile(r"^(_Mkl)?((Batch)?MatMul(V\d)?|DepthwiseConv2dNative|Conv\dD)$")
EPILOGUE = re.compile(
    r"^(Relu|Relu6|Elu|Selu|LeakyRelu|Tanh|Sigmoid|Gelu|Softplus|BiasAdd(V1)?|Add(V2)?|FusedBatchNorm(V\d)?)$"
)
