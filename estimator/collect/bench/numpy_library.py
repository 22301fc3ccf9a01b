"""numpy, on processors."""
# ruff: noqa: D102 (what a back end overrides is described in Library)

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from estimator.collect.bench.library import Library
from estimator.collect.bench.types import Run


class Numpy(Library):
    """Products by numpy's BLAS; other ops block by block, so that their steps use the cache, on all threads."""

    name = "numpy"
    precisions = ("fp64", "fp32")
    block_elements = 1 << 15
    parallel_bytes = 8e6  # from here on the distribution to threads costs little

    def versions(self) -> str:
        try:
            blas = self.np.show_config(mode="dicts")["Build Dependencies"]["blas"]
        except (TypeError, KeyError):  # numpy before 1.25 does not name it
            return super().versions()
        return f"{super().versions()}; {blas.get('name')} {blas.get('version')}"

    def call(self, kernel: str, arrays: Sequence[Any]) -> Run:
        op, arrays = self.ops()[kernel], [*arrays, self.np.empty_like(arrays[0])]
        arrays = [x if x.ndim == arrays[0].ndim else self.np.broadcast_to(x, arrays[0].shape) for x in arrays]
        step = max(2, self.block_elements // math.prod(arrays[0].shape[1:]))
        parts = [[x[i : i + step] for x in arrays] for i in range(0, len(arrays[0]), step)]
        if self.threads == 1 or sum(x.nbytes for x in arrays) < self.parallel_bytes:
            return lambda: [op(*part) for part in parts]
        pool, ends = ThreadPoolExecutor(self.threads), [len(parts) * i // self.threads for i in range(self.threads + 1)]
        shares = [parts[ends[i] : ends[i + 1]] for i in range(self.threads)]
        return lambda: list(pool.map(lambda share: [op(*part) for part in share], shares))

    def ops(self) -> dict[str, Callable[..., Any]]:
        np = self.np

        def softmax(x: Any, out: Any) -> None:
            np.exp(x - x.max(-1, keepdims=True), out=out)
            out /= out.sum(-1, keepdims=True)

        def sigmoid(x: Any, out: Any) -> None:
            np.exp(-x, out=out)
            out += 1.0
            np.reciprocal(out, out=out)

        def momentum(p: Any, g: Any, v: Any, out: Any) -> None:
            v *= 0.9
            v += g
            p -= 1e-3 * v

        def adam(p: Any, g: Any, m: Any, v: Any, out: Any) -> None:
            m += 0.1 * (g - m)
            v += 0.01 * (g * g - v)
            p -= 1e-3 * m / (np.sqrt(abs(v)) + 1e-4)

        return {
            "add": lambda x, y, out: np.add(x, y, out=out),
            "triad": lambda x, y, out: np.add(x, np.multiply(y, 3.0, out=out), out=out),
            "copy": lambda x, out: np.copyto(out, x),
            "relu": lambda x, out: np.maximum(x, 0, out=out),
            "bias_add": lambda x, bias, out: np.add(x, bias, out=out),
            "channel_sum": lambda x, out: x.sum(0), "bias_grad": lambda x, out: x.sum(0),
            "sum": lambda x, out: x.sum(),
            "layer_norm": lambda x, out: np.divide(x - x.mean(-1, keepdims=True), x.std(-1, keepdims=True), out=out),
            "softmax": softmax, "sgd_momentum": momentum, "adam": adam, "sigmoid": sigmoid,
            "tanh": lambda x, out: np.tanh(x, out=out),
            "sigmoid_grad": lambda y, dy, out: np.multiply(dy, y * (1.0 - y), out=out),
            "tanh_grad": lambda y, dy, out: np.multiply(dy, 1.0 - y * y, out=out),
        }  # fmt: skip
