"""Base class of back ends: make arrays, wait for the device, give each op as a call."""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable, Sequence
from typing import Any

from estimator.collect.bench.machine import nvidia_gpu
from estimator.collect.bench.operators import KERNELS
from estimator.collect.bench.timing import stopwatch
from estimator.collect.bench.types import CAST, LAUNCH, Conv, FaultError, LeftOutError, Pool, Row, Run, Sample


class Library:
    """A library on a device: it makes arrays, gives each op as a call without arguments, and times calls."""

    name = ""
    sees_disturbance = True  # whether only other processes preempt its threads
    precisions: tuple[str, ...] = ("fp64", "fp32", "bf16", "fp16")
    batch_s = 1e-3  # shortest sample; short calls are timed several at once

    def __init__(self, device: str, threads: int) -> None:
        self.np: Any = importlib.import_module("numpy")
        self.numbers = self.np.random.default_rng(0).standard_normal(1_000_003, "float32")
        self.threads = threads
        try:
            self.module: Any = importlib.import_module(self.name)
        except ImportError as error:
            raise FaultError(f"{self.name} cannot be imported ({error}); repair it: pip install {self.name}") from None
        self.gpu = device != "cpu" and self.sees_gpu()
        if device == "cuda" and not self.gpu:
            raise FaultError(f"{self.name} sees no GPU; mend how it or the driver is installed, or use --device cpu")
        if self.gpu:
            self.precisions = ("fp64", "fp32", "tf32", "bf16", "fp16")
        self.start()

    def sees_gpu(self) -> bool:
        """Whether the library can use a GPU."""
        return False

    def start(self) -> None:
        """Apply settings before the first array."""

    def versions(self) -> str:
        """The versions of the library and of its backends."""
        driver = [nvidia_gpu()["driver"]] if self.gpu and nvidia_gpu() else []
        return "; ".join([f"{self.name} {self.module.__version__}", *driver])

    def accelerator(self) -> Row:
        """Facts of the GPU: name, memory and cache [B], compute units, highest clock [Hz]."""
        return nvidia_gpu()

    def host(self, shape: Sequence[int], precision: str) -> Any:
        """Normal random numbers in host memory, a repeated block: none denormal, not all equal."""
        wide = "float64" if precision == "fp64" else "float32"
        return self.np.resize(self.numbers, tuple(shape)).astype(wide, copy=False)

    def array(self, shape: Sequence[int], precision: str) -> Any:
        """The same array on the device, in the precision."""
        return self.host(shape, precision)

    def select(self, precision: str) -> None:
        """Set whether fp32 arrays are multiplied in fp32 or tf32."""

    def wait(self, output: Any) -> None:
        """Wait until the device has finished; on a processor calls are synchronous."""

    def time_calls(self, run: Run, count: int, flush: Run | None) -> Sample:
        """Time ``count`` calls; a flush of the cache before them is not timed."""
        self.wait(flush() if flush else None)
        output, stop = None, stopwatch()
        for _ in range(count):
            output = run()
        self.wait(output)
        return stop()

    def prepare(self, build: Callable[[Library], Run], copies: int) -> Run:
        """An op as a call; it may use up to ``copies`` of its arrays, where several run side by side."""
        return build(self)

    def prepare_cold(self, build: Callable[[Library], Run], copies: int, least_copies: int) -> Run | None:
        """The same where calls take turns on at least ``least_copies`` of its arrays, so that none finds its own in the
        cache; None where they cannot, or last so long that the cache is rather emptied before each.
        """
        return None

    def gemm(self, precision: str, a: Sequence[int], b: Sequence[int], trans_a: bool, trans_b: bool) -> Run:
        """C = A·B; ``a`` and ``b`` are the stored shapes, read transposed where set."""
        x, y = self.array(a, precision), self.array(b, precision)
        x, y = (x.swapaxes(-1, -2) if trans_a else x), (y.swapaxes(-1, -2) if trans_b else y)
        out = self.module.matmul(x, y)
        return lambda: self.module.matmul(x, y, out=out)

    def convolution(self, precision: str, conv: Conv) -> Run:
        """One pass of a convolution."""
        raise LeftOutError(f"{self.name} has no convolution")

    def pool(self, precision: str, pool: Pool) -> Run:
        """One pass of a pool."""
        raise LeftOutError(f"{self.name} has no pool")

    def stream(self, kernel: str, precision: str, shape: Sequence[int]) -> Run:
        """One memory-bound op over arrays of this shape."""
        if kernel not in self.ops():
            raise LeftOutError(f"{self.name} has no {kernel}")
        arrays = [self.array(shape, precision) for _ in range(KERNELS[kernel].reads)]
        return self.call(kernel, [*arrays, *([self.array(shape[-1:], precision)] if kernel == "bias_add" else [])])

    def cast(self, precision: str, shape: Sequence[int]) -> Run:
        """A cast of an array of this shape from fp32 to a precision."""
        raise LeftOutError(f"{self.name} has no cast to {precision}")

    def call(self, kernel: str, arrays: Sequence[Any]) -> Run:
        """A memory-bound op on given arrays, as a call."""
        return functools.partial(self.ops()[kernel], *arrays)

    def kernels(self) -> set[str]:
        """Names of the memory-bound kernels: the ops, a launch, and casts."""
        return {*self.ops(), LAUNCH, CAST}

    def ops(self) -> dict[str, Callable[..., Any]]:
        """The memory-bound ops on arrays, by kernel name."""
        raise NotImplementedError
