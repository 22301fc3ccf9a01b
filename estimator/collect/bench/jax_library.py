"""JAX, on processors, GPUs and TPUs."""
# ruff: noqa: D102 (what a back end overrides is described in Library)

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from estimator.collect.bench.library import Library
from estimator.collect.bench.machine import nvidia_gpu
from estimator.collect.bench.types import DTYPE, Conv, Row, Run
from estimator.collect.bench.xla_formulas import FORMULAS


class Jax(Library):
    """JAX: each op compiled by XLA before it is timed."""

    name = "jax"

    def sees_gpu(self) -> bool:
        return bool(self.module.default_backend() != "cpu")  # a TPU is measured as a GPU is

    def start(self) -> None:
        self.module.config.update("jax_enable_x64", True)
        if not self.gpu:
            self.module.config.update("jax_platforms", "cpu")

    def accelerator(self) -> Row:
        first = self.module.devices()[0]
        return {"name": first.device_kind, **nvidia_gpu(), "units": getattr(first, "core_count", None)}

    def array(self, shape: Sequence[int], precision: str) -> Any:
        return self.module.numpy.asarray(self.host(shape, precision), dtype=DTYPE[precision])

    def select(self, precision: str) -> None:
        name = {"fp32": "float32", "tf32": "tensorfloat32"}.get(precision)
        self.module.config.update("jax_default_matmul_precision", name)

    def wait(self, output: Any) -> None:
        self.module.block_until_ready(output)

    def compiled(self, op: Callable[..., Any], *arrays: Any) -> Run:
        """The compiled op as a call; on a processor it waits, as calls may overlap there."""
        run = functools.partial(self.module.jit(op), *arrays)
        return run if self.gpu else lambda: self.module.block_until_ready(run())

    def gemm(self, precision: str, a: Sequence[int], b: Sequence[int], trans_a: bool, trans_b: bool) -> Run:
        def product(x: Any, y: Any) -> Any:
            return (x.swapaxes(-1, -2) if trans_a else x) @ (y.swapaxes(-1, -2) if trans_b else y)

        return self.compiled(product, self.array(a, precision), self.array(b, precision))

    def convolution(self, precision: str, conv: Conv) -> Run:
        def forward(x: Any, w: Any) -> Any:
            convolve, pads = self.module.lax.conv_general_dilated, [(pad, pad) for pad in conv.pad]
            return convolve(x, w, conv.stride, pads, rhs_dilation=conv.dilation, feature_group_count=conv.groups)

        def backward(x: Any, w: Any, dy: Any) -> Any:
            transpose = self.module.linear_transpose
            grad_input = transpose(lambda x: forward(x, w), x)(dy) if conv.direction != "grad_weights" else ()
            return grad_input, transpose(lambda w: forward(x, w), w)(dy) if conv.direction != "grad_input" else ()

        x = self.array((conv.n, conv.c, conv.h, conv.w), precision)
        w = self.array((conv.k, conv.c // conv.groups, conv.r, conv.s), precision)
        return self.compiled(*((forward, x, w) if conv.direction == "forward" else (backward, x, w, forward(x, w))))

    def cast(self, precision: str, shape: Sequence[int]) -> Run:
        return self.compiled(lambda x: x.astype(DTYPE[precision]), self.array(shape, "fp32"))

    def call(self, kernel: str, arrays: Sequence[Any]) -> Run:
        return self.compiled(self.ops()[kernel], *arrays)

    def ops(self) -> dict[str, Callable[..., Any]]:
        nn, np = self.module.nn, self.module.numpy
        return {
            "add": np.add, "copy": np.copy, "relu": nn.relu, "gelu": nn.gelu, "sum": np.sum, "softmax": nn.softmax,
            "layer_norm": nn.standardize, "sigmoid": nn.sigmoid, "tanh": np.tanh,
            "bias_add": np.add, "channel_sum": lambda x: np.sum(x, 0), "bias_grad": lambda x: np.sum(x, 0),
            "sigmoid_grad": lambda y, dy: dy * y * (1.0 - y), "tanh_grad": lambda y, dy: dy * (1.0 - y * y), **FORMULAS,
        }  # fmt: skip
