"""PyTorch, on processors and on GPUs."""
# ruff: noqa: D102 (what a back end overrides is described in Library)

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Sequence
from typing import Any

from estimator.collect.bench.library import Library
from estimator.collect.bench.machine import nvidia_gpu
from estimator.collect.bench.timing import stopwatch
from estimator.collect.bench.types import DTYPE, Conv, Row, Run, Sample


class Torch(Library):
    """PyTorch, eager; GPUs by CUDA or ROCm."""

    name = "torch"

    def sees_gpu(self) -> bool:
        return bool(self.module.cuda.is_available())

    def start(self) -> None:
        self.device_name = "cuda" if self.gpu else "cpu"
        self.module.set_num_threads(self.threads)
        self.module.backends.cudnn.benchmark = True  # cuDNN's fastest algorithm, as in DeepBench

    def versions(self) -> str:
        version = self.module.version
        parts = re.findall(r"(MKL-DNN v[\d.]+|Math Kernel Library Version [\d.]+)", self.module.__config__.show())
        if self.gpu:
            stack = f"CUDA {version.cuda}" if version.cuda else f"ROCm {version.hip}"
            parts = [stack, f"cuDNN {self.module.backends.cudnn.version()}"]
        return "; ".join([super().versions(), *parts])

    def accelerator(self) -> Row:
        gpu = self.module.cuda.get_device_properties(0)
        known = {"name": gpu.name, "memory": gpu.total_memory, "units": gpu.multi_processor_count}
        return {**nvidia_gpu(), **known, "cache": getattr(gpu, "L2_cache_size", None)}

    def array(self, shape: Sequence[int], precision: str) -> Any:
        tensor = self.module.from_numpy(self.host(shape, precision))
        return tensor.to(self.device_name, getattr(self.module, DTYPE[precision]))

    def select(self, precision: str) -> None:
        backends = self.module.backends
        backends.cuda.matmul.allow_tf32 = backends.cudnn.allow_tf32 = precision == "tf32"

    def wait(self, output: Any) -> None:
        if self.gpu:
            self.module.cuda.synchronize()

    def time_calls(self, run: Run, count: int, flush: Run | None) -> Sample:
        if not self.gpu:
            return super().time_calls(run, count, flush)
        start, end, stop = *(self.module.cuda.Event(enable_timing=True) for _ in range(2)), stopwatch()
        if flush:
            flush()  # runs while the call is launched, so that only the kernel is timed
        start.record()
        for _ in range(count):
            run()
        end.record()
        end.synchronize()
        return float(start.elapsed_time(end)) / 1e3, stop()[1]

    def convolution(self, precision: str, conv: Conv) -> Run:
        aten = self.module.ops.aten
        x = self.array((conv.n, conv.c, conv.h, conv.w), precision)
        w = self.array((conv.k, conv.c // conv.groups, conv.r, conv.s), precision)
        options = (conv.stride, conv.pad, conv.dilation, False, [0, 0], conv.groups)
        if conv.direction == "forward":
            return lambda: aten.convolution(x, w, None, *options)
        dy = aten.convolution(x, w, None, *options)
        output_mask = [conv.direction != "grad_weights", conv.direction != "grad_input", False]
        return lambda: aten.convolution_backward(dy, x, w, None, *options, output_mask)

    def cast(self, precision: str, shape: Sequence[int]) -> Run:
        return functools.partial(self.array(shape, "fp32").to, getattr(self.module, DTYPE[precision]))

    def call(self, kernel: str, arrays: Sequence[Any]) -> Run:
        if kernel not in ("sgd_momentum", "adam"):
            return super().call(kernel, arrays)
        arrays[0].requires_grad_(True).grad = arrays[1]
        make = functools.partial(self.ops()[kernel], arrays[:1])
        try:
            return make(fused=True).step  # type: ignore[no-any-return]
        except (RuntimeError, TypeError):  # PyTorch before 2.4 fuses on GPUs alone
            return make().step  # type: ignore[no-any-return]

    def ops(self) -> dict[str, Callable[..., Any]]:
        torch, nn, aten = self.module, self.module.nn.functional, self.module.ops.aten
        return {
            "sigmoid": torch.sigmoid, "sigmoid_grad": lambda y, dy: aten.sigmoid_backward(dy, y),
            "tanh": torch.tanh, "tanh_grad": lambda y, dy: aten.tanh_backward(dy, y),
            "add": torch.add, "copy": torch.clone, "relu": torch.relu, "gelu": nn.gelu, "sum": torch.sum,
            "bias_add": torch.add, "channel_sum": lambda x: torch.sum(x, 0), "bias_grad": lambda x: torch.sum(x, 0),
            "triad": lambda x, y: torch.add(x, y, alpha=3.0),
            "softmax": lambda x: torch.softmax(x, -1),
            "layer_norm": lambda x: nn.layer_norm(x, x.shape[-1:]),
            "sgd_momentum": functools.partial(torch.optim.SGD, lr=1e-3, momentum=0.9),
            "adam": torch.optim.Adam,  # both are created in call
        }  # fmt: skip
