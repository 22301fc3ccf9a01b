"""Time matrix products, convolutions and memory-bound operations on this machine.

    python measure.py                                        # the shapes beside this file, PyTorch if installed
    python measure.py --backend numpy --threads 8 --budget 600

Needs Python 3.9 and numpy; uses PyTorch, TensorFlow or JAX where they are installed. It times each row of shapes.csv
and writes measurements.csv and provenance.json. It sends nothing anywhere and changes nothing on the machine.
Stop it with Ctrl-C at any time: the same command goes on where it stopped.

The sections below: back ends, ops, timing, machine, rows, main.
"""
# ruff: noqa: D102 (what a back end overrides is described in Library)

from __future__ import annotations

import argparse
import csv
import ctypes
import functools
import hashlib
import importlib
import importlib.util
import io
import json
import math
import multiprocessing
import os
import platform
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import namedtuple
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path
from typing import Any, NamedTuple

VERSION = 9  # of what is timed and how: a run that was stopped goes on with the same one alone
Row = dict[str, Any]
Run = Callable[[], Any]
Timed = tuple[float, bool]  # seconds, and whether something else took the processor meanwhile
Timer = Callable[[int], Timed]  # times so many calls
Conv = namedtuple("Conv", "n c h w k r s stride pad dilation groups what")  # sizes as in ops below; the pass timed
Pool = namedtuple("Pool", "maxima n c h w r s p q stride padding what")  # padding as TensorFlow calls it
ITEMSIZE = {"fp64": 8, "fp32": 4, "tf32": 4, "bf16": 2, "fp16": 2}
DTYPE = {"fp64": "float64", "fp32": "float32", "tf32": "float32", "bf16": "bfloat16", "fp16": "float16"}


class LeftOutError(Exception):
    """Why a shape is not measured here, or not within this budget."""


class FaultError(Exception):
    """What is wrong with the input, in one sentence."""


# ------------------------------------------------------------------------------------------------------ back ends
class Library:
    """One back end: how it makes arrays, waits for its device, and gives each op as a call without arguments."""

    name = ""
    tells_disturbance = True  # whether its threads are put off the processors by other processes alone
    precisions: tuple[str, ...] = ("fp64", "fp32", "bf16", "fp16")
    batch_s = 1e-3  # short calls are timed so many at once that they last so long together

    def __init__(self, device: str, threads: int) -> None:
        self.np: Any = importlib.import_module("numpy")
        self.noise = self.np.random.default_rng(0).standard_normal(1_000_003, "float32")
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
        """Settings before the first array."""

    def versions(self) -> str:
        """The library and what it computes with."""
        return "; ".join([f"{self.name} {self.module.__version__}", *([smi()["driver"]] if self.gpu and smi() else [])])

    def accelerator(self) -> Row:
        """What is known of the GPU: name, memory and cache [B], compute units, highest clock [Hz]."""
        return smi()

    def host(self, shape: Sequence[int], precision: str) -> Any:
        """Normal numbers in host memory, a block of them repeated: never denormal, never all alike."""
        wide = "float64" if precision == "fp64" else "float32"
        return self.np.resize(self.noise, tuple(shape)).astype(wide, copy=False)

    def array(self, shape: Sequence[int], precision: str) -> Any:
        """The same on the device, in the precision."""
        return self.host(shape, precision)

    def select(self, precision: str) -> None:
        """Say whether fp32 arrays are multiplied as fp32 or as tf32."""

    def wait(self, output: Any) -> None:
        """Return once the device has done all that it was given; calls on a processor return when they are done."""

    def timed(self, run: Run, count: int, flush: Run | None) -> Timed:
        """The time of ``count`` calls; what empties the cache before them is not timed."""
        self.wait(flush() if flush else None)
        output, stop = None, stopwatch()
        for _ in range(count):
            output = run()
        self.wait(output)
        return stop()

    def prepared(self, build: Callable[[Library], Run], copies: int) -> Run:
        """An op as a call; on up to so many ``copies`` of its arrays, where several run side by side."""
        return build(self)

    def prepared_cold(self, build: Callable[[Library], Run], copies: int, apart: int) -> Run | None:
        """The same where calls take turns on ``apart`` copies, so that none finds its own in the cache; None where they
        cannot, or last so long that the cache is rather emptied before each.
        """
        return None

    def gemm(self, precision: str, a: Sequence[int], b: Sequence[int], trans_a: bool, trans_b: bool) -> Run:
        """C = A·B, each stored in the shape given and read transposed where said."""
        x, y = self.array(a, precision), self.array(b, precision)
        x, y = (x.swapaxes(-1, -2) if trans_a else x), (y.swapaxes(-1, -2) if trans_b else y)
        out = self.module.matmul(x, y)
        return lambda: self.module.matmul(x, y, out=out)

    def convolution(self, precision: str, c: Conv) -> Run:
        """One pass of a convolution."""
        raise LeftOutError(f"{self.name} has no convolution")

    def pool(self, precision: str, p: Pool) -> Run:
        """One pass of a pool."""
        raise LeftOutError(f"{self.name} has no pool")

    def stream(self, kernel: str, precision: str, shape: Sequence[int]) -> Run:
        """One memory-bound op over arrays of this shape."""
        if kernel not in self.ops():
            raise LeftOutError(f"{self.name} has no {kernel}")
        arrays = [self.array(shape, precision) for _ in range(KERNELS[kernel][1])]
        return self.call(kernel, [*arrays, *([self.array(shape[-1:], precision)] if kernel == "bias_add" else [])])

    def cast(self, precision: str, shape: Sequence[int]) -> Run:
        """An array of this shape from fp32 to a precision."""
        raise LeftOutError(f"{self.name} has no cast to {precision}")

    def call(self, kernel: str, arrays: Sequence[Any]) -> Run:
        """A memory-bound op on arrays as a call."""
        return functools.partial(self.ops()[kernel], *arrays)

    def ops(self) -> dict[str, Callable[..., Any]]:
        """The memory-bound ops on arrays."""
        raise NotImplementedError


class Numpy(Library):
    """Products by numpy's BLAS; other ops block by block, so that steps of one op meet in the cache, on all threads."""

    name = "numpy"
    precisions = ("fp64", "fp32")
    block = 1 << 15  # elements
    worth = 8e6  # bytes from which on handing out parts to threads costs little beside the op

    def versions(self) -> str:
        try:
            blas = self.np.show_config(mode="dicts")["Build Dependencies"]["blas"]
        except (TypeError, KeyError):  # numpy before 1.25 does not tell
            return super().versions()
        return f"{super().versions()}; {blas.get('name')} {blas.get('version')}"

    def call(self, kernel: str, arrays: Sequence[Any]) -> Run:
        op, arrays = self.ops()[kernel], [*arrays, self.np.empty_like(arrays[0])]
        arrays = [x if x.ndim == arrays[0].ndim else self.np.broadcast_to(x, arrays[0].shape) for x in arrays]
        step = max(2, self.block // math.prod(arrays[0].shape[1:]))
        parts = [[x[i : i + step] for x in arrays] for i in range(0, len(arrays[0]), step)]
        if self.threads == 1 or sum(x.nbytes for x in arrays) < self.worth:
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
            **dict.fromkeys(SUMS, lambda x, out: x.sum(0)),
            "sum": lambda x, out: x.sum(),
            "layer_norm": lambda x, out: np.divide(x - x.mean(-1, keepdims=True), x.std(-1, keepdims=True), out=out),
            "softmax": softmax, "sgd_momentum": momentum, "adam": adam, "sigmoid": sigmoid,
            "tanh": lambda x, out: np.tanh(x, out=out),
            "sigmoid_grad": lambda y, dy, out: np.multiply(dy, y * (1.0 - y), out=out),
            "tanh_grad": lambda y, dy, out: np.multiply(dy, 1.0 - y * y, out=out),
        }  # fmt: skip


class Torch(Library):
    """PyTorch, eager; GPUs by CUDA or ROCm."""

    name = "torch"

    def sees_gpu(self) -> bool:
        return bool(self.module.cuda.is_available())

    def start(self) -> None:
        self.place = "cuda" if self.gpu else "cpu"
        self.module.set_num_threads(self.threads)
        self.module.backends.cudnn.benchmark = True  # the best of cuDNN's algorithms, as DeepBench has it

    def versions(self) -> str:
        version = self.module.version
        found = re.findall(r"(MKL-DNN v[\d.]+|Math Kernel Library Version [\d.]+)", self.module.__config__.show())
        if self.gpu:
            stack = f"CUDA {version.cuda}" if version.cuda else f"ROCm {version.hip}"
            found = [stack, f"cuDNN {self.module.backends.cudnn.version()}"]
        return "; ".join([super().versions(), *found])

    def accelerator(self) -> Row:
        found = self.module.cuda.get_device_properties(0)
        known = {"name": found.name, "memory": found.total_memory, "units": found.multi_processor_count}
        return {**smi(), **known, "cache": getattr(found, "L2_cache_size", None)}

    def array(self, shape: Sequence[int], precision: str) -> Any:
        made = self.module.from_numpy(self.host(shape, precision))
        return made.to(self.place, getattr(self.module, DTYPE[precision]))

    def select(self, precision: str) -> None:
        backends = self.module.backends
        backends.cuda.matmul.allow_tf32 = backends.cudnn.allow_tf32 = precision == "tf32"

    def wait(self, output: Any) -> None:
        if self.gpu:
            self.module.cuda.synchronize()

    def timed(self, run: Run, count: int, flush: Run | None) -> Timed:
        if not self.gpu:
            return super().timed(run, count, flush)
        start, end, stop = *(self.module.cuda.Event(enable_timing=True) for _ in range(2)), stopwatch()
        if flush:
            flush()  # still runs while the call is launched, so that the time is the kernel's own
        start.record()
        for _ in range(count):
            run()
        end.record()
        end.synchronize()
        return float(start.elapsed_time(end)) / 1e3, stop()[1]

    def convolution(self, precision: str, c: Conv) -> Run:
        aten = self.module.ops.aten
        x, w = self.array((c.n, c.c, c.h, c.w), precision), self.array((c.k, c.c // c.groups, c.r, c.s), precision)
        how = (c.stride, c.pad, c.dilation, False, [0, 0], c.groups)
        if c.what == "forward":
            return lambda: aten.convolution(x, w, None, *how)
        dy = aten.convolution(x, w, None, *how)
        wanted = [c.what != "grad_weights", c.what != "grad_input", False]
        return lambda: aten.convolution_backward(dy, x, w, None, *how, wanted)

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
            "bias_add": torch.add, **dict.fromkeys(SUMS, lambda x: torch.sum(x, 0)),
            "triad": lambda x, y: torch.add(x, y, alpha=3.0),
            "softmax": lambda x: torch.softmax(x, -1),
            "layer_norm": lambda x: nn.layer_norm(x, x.shape[-1:]),
            "sgd_momentum": functools.partial(torch.optim.SGD, lr=1e-3, momentum=0.9),
            "adam": torch.optim.Adam,  # both made in call
        }  # fmt: skip


def _padding(c: Conv) -> str:
    """What TensorFlow calls a convolution's padding: oneDNN has no gradient of the image where it is EXPLICIT."""
    if not any(c.pad):
        return "VALID"
    sizes = [(c.h, c.r), (c.w, c.s)]
    same = [max((-(-h // c.stride[i]) - 1) * c.stride[i] + c.dilation[i] * (r - 1) + 1 - h, 0)
            for i, (h, r) in enumerate(sizes)]  # fmt: skip
    return "SAME" if same == [2 * pad for pad in c.pad] else "EXPLICIT"


class _Chained:
    """A call that is timed in chains of some length, the shorter the longer it lasts; and the same call on other
    arrays, for chains that run side by side, which would share what a cache holds, and for calls in turn.
    """

    def __init__(self, runs: Sequence[Run], lengths: tuple[int, ...]) -> None:
        self.runs, self.lengths = runs, lengths

    def __call__(self) -> Any:
        return self.runs[0]()


class TensorFlow(Library):
    """TensorFlow's own kernels, in graphs of several calls; by XLA what they would do in several steps."""

    name = "tensorflow"
    tells_disturbance = False  # those that call, those for ops and those for their parts put each other off

    def sees_gpu(self) -> bool:
        return bool(self.module.config.list_physical_devices("GPU"))

    def start(self) -> None:
        config = self.module.config
        for gpu in config.list_physical_devices("GPU"):
            config.experimental.set_memory_growth(gpu, True)
        if not self.gpu:
            config.set_visible_devices([], "GPU")
        config.threading.set_intra_op_parallelism_threads(self.threads)
        config.optimizer.set_experimental_options({"disable_meta_optimizer": True})  # it removes what nobody reads
        self.graph = functools.lru_cache(maxsize=4)(self.graph_of)
        self.chains = 1 if self.gpu else self.threads
        self.batch_s = self.batch_s if self.gpu else CHAINS_S

    def prepared(self, build: Callable[[Library], Run], copies: int) -> Run:
        runs = [build(self) for _ in range(max(1, min(self.chains, copies)))]
        return _Chained(runs, getattr(runs[0], "lengths", LENGTHS))

    def prepared_cold(self, build: Callable[[Library], Run], copies: int, apart: int) -> Run | None:
        length = math.ceil(apart / self.chains)
        if self.gpu or length * self.chains > copies:
            return None
        first = build(self)
        lengths = getattr(first, "lengths", LENGTHS)
        if length > (MOST_IN_TURN if lengths == LENGTHS else lengths[-1]):
            return None
        if min(self.timed(first, 1, None)[0] for _ in range(2)) > LONG_S:
            return None
        return _Chained([first, *(build(self) for _ in range(length * self.chains - 1))], (length,))

    def timed(self, run: Run, count: int, flush: Run | None) -> Timed:
        """In a graph, as training runs ops: to call one by itself takes longer than many an op."""
        lengths = getattr(run, "lengths", LENGTHS)
        enough = (length for length in lengths if length * self.chains >= count)
        length = next(enough, lengths[-1])  # each is traced anew, which takes long
        calls = length * self.chains
        graphs = math.ceil(count / calls)
        spent, other = super().timed(self.graph(run, length), graphs, flush)
        return spent * count / (graphs * calls), other and self.tells_disturbance

    def graph_of(self, run: Run, length: int) -> Run:
        """Chains of so many calls, one after the other, as one function. On a processor as many chains as threads stand
        side by side, as ops in a step do: a thread that sleeps takes longer to wake than many an op.
        """
        tf, runs = self.module, getattr(run, "runs", [run])

        def chain(number: int) -> Any:
            output: Any = tf.constant(number)  # chains that are alike would be run once
            for turn in range(length):
                with tf.control_dependencies(tf.nest.flatten(output)):
                    output = runs[(turn * self.chains + number) % len(runs)]()
            with tf.control_dependencies(tf.nest.flatten(output)):
                return tf.constant(number)  # what is written in place is no output

        chains = tf.function(lambda: [chain(number) for number in range(self.chains)], autograph=False)
        graph: Run = chains.get_concrete_function()
        return graph

    def array(self, shape: Sequence[int], precision: str) -> Any:
        return self.module.cast(self.module.constant(self.host(shape, precision)), DTYPE[precision])

    def select(self, precision: str) -> None:
        self.module.config.experimental.enable_tensor_float_32_execution(precision == "tf32")

    def wait(self, output: Any) -> None:
        if self.gpu:
            self.module.test.experimental.sync_devices()

    def gemm(self, precision: str, a: Sequence[int], b: Sequence[int], trans_a: bool, trans_b: bool) -> Run:
        x, y = self.array(a, precision), self.array(b, precision)
        return functools.partial(self.module.linalg.matmul, x, y, trans_a, trans_b)

    def convolution(self, precision: str, c: Conv) -> Run:
        raw, image, kernel = self.module.raw_ops, (c.n, c.h, c.w, c.c), (c.r, c.s, c.c // c.groups, c.k)
        x, w = self.array(image, precision), self.array(kernel, precision)
        how: Row = {"strides": (1, *c.stride, 1), "dilations": (1, *c.dilation, 1), "padding": _padding(c)}
        if how["padding"] == "EXPLICIT":
            how["explicit_paddings"] = (0, 0, c.pad[0], c.pad[0], c.pad[1], c.pad[1], 0, 0)
        if c.what == "forward":
            return lambda: raw.Conv2D(input=x, filter=w, **how)
        how["out_backprop"] = raw.Conv2D(input=x, filter=w, **how)
        passes: dict[str, Run] = {
            "grad_input": lambda: raw.Conv2DBackpropInput(input_sizes=image, filter=w, **how),
            "grad_weights": lambda: raw.Conv2DBackpropFilter(input=x, filter_sizes=kernel, **how),
        }
        wanted = [run for name, run in passes.items() if c.what in (name, "backward")]
        return lambda: [run() for run in wanted]

    def pool(self, precision: str, p: Pool) -> Run:
        """oneDNN has a kernel for a gradient of maxima only where the forward pass is in the graph: once in a chain."""
        raw, x = self.module.raw_ops, self.array((p.n, p.h, p.w, p.c), precision)
        how = {"ksize": (1, p.r, p.s, 1), "strides": (1, *p.stride, 1), "padding": p.padding}
        if p.what == "forward":
            return (lambda: raw.MaxPool(input=x, **how)) if p.maxima else (lambda: raw.AvgPool(value=x, **how))
        dy = self.array((p.n, p.p, p.q, p.c), precision)
        if not p.maxima:
            return lambda: raw.AvgPoolGrad(orig_input_shape=x.shape, grad=dy, **how)
        graph = self.module.compat.v1.get_default_graph
        forward = functools.lru_cache(maxsize=1)(lambda graph: raw.MaxPool(input=x, **how))
        gradient = lambda: raw.MaxPoolGrad(orig_input=x, orig_output=forward(graph()), grad=dy, **how)  # noqa: E731
        return _Chained([gradient], LENGTHS[1:])  # the forward pass, run once, is among their time

    def cast(self, precision: str, shape: Sequence[int]) -> Run:
        return functools.partial(self.module.cast, self.array(shape, "fp32"), DTYPE[precision])

    def call(self, kernel: str, arrays: Sequence[Any]) -> Run:
        if kernel == "add" and math.prod(arrays[0].shape) > 1:
            return self.sum_in_place(*arrays)
        op, composed = self.ops()[kernel], ("gelu", "layer_norm", *FORMULAS)
        if kernel not in composed:
            return functools.partial(op, *arrays)
        compiled = functools.partial(self.module.function(op, jit_compile=True), *arrays)
        return _Chained([compiled], LENGTHS[:-1])  # XLA compiles long chains slowly

    def sum_in_place(self, x: Any, y: Any) -> Run:
        """As most sums of a step are, whose operand nobody reads any more; to write elsewhere takes nearly twice as
        long, as a processor first reads what it writes over.
        """
        return functools.partial(self.module.Variable(x).assign_add, y, read_value=False)

    def ops(self) -> dict[str, Callable[..., Any]]:
        tf = self.module
        return {
            "add": tf.add, "relu": tf.nn.relu, "gelu": tf.nn.gelu, "sum": tf.reduce_sum, "softmax": tf.nn.softmax,
            "copy": lambda x: tf.raw_ops.DeepCopy(x=x), "sigmoid": tf.sigmoid, "tanh": tf.tanh,
            "bias_add": tf.add, "channel_sum": lambda x: tf.reduce_sum(x, 0),
            "bias_grad": lambda x: tf.raw_ops.BiasAddGrad(out_backprop=x),
            "sigmoid_grad": lambda y, dy: tf.raw_ops.SigmoidGrad(y=y, dy=dy),
            "tanh_grad": lambda y, dy: tf.raw_ops.TanhGrad(y=y, dy=dy),
            "layer_norm": lambda x: (x - tf.reduce_mean(x, -1, True)) / tf.math.reduce_std(x, -1, True), **FORMULAS,
        }  # fmt: skip


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
        found = self.module.devices()[0]
        return {"name": found.device_kind, **smi(), "units": getattr(found, "core_count", None)}

    def array(self, shape: Sequence[int], precision: str) -> Any:
        return self.module.numpy.asarray(self.host(shape, precision), dtype=DTYPE[precision])

    def select(self, precision: str) -> None:
        named = {"fp32": "float32", "tf32": "tensorfloat32"}.get(precision)
        self.module.config.update("jax_default_matmul_precision", named)

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

    def convolution(self, precision: str, c: Conv) -> Run:
        def forward(x: Any, w: Any) -> Any:
            convolve, pads = self.module.lax.conv_general_dilated, [(pad, pad) for pad in c.pad]
            return convolve(x, w, c.stride, pads, rhs_dilation=c.dilation, feature_group_count=c.groups)

        def backward(x: Any, w: Any, dy: Any) -> Any:
            transpose = self.module.linear_transpose
            by_x = transpose(lambda x: forward(x, w), x)(dy) if c.what != "grad_weights" else ()
            return by_x, transpose(lambda w: forward(x, w), w)(dy) if c.what != "grad_input" else ()

        x, w = self.array((c.n, c.c, c.h, c.w), precision), self.array((c.k, c.c // c.groups, c.r, c.s), precision)
        return self.compiled(*((forward, x, w) if c.what == "forward" else (backward, x, w, forward(x, w))))

    def cast(self, precision: str, shape: Sequence[int]) -> Run:
        return self.compiled(lambda x: x.astype(DTYPE[precision]), self.array(shape, "fp32"))

    def call(self, kernel: str, arrays: Sequence[Any]) -> Run:
        return self.compiled(self.ops()[kernel], *arrays)

    def ops(self) -> dict[str, Callable[..., Any]]:
        nn, np = self.module.nn, self.module.numpy
        return {
            "add": np.add, "copy": np.copy, "relu": nn.relu, "gelu": nn.gelu, "sum": np.sum, "softmax": nn.softmax,
            "layer_norm": nn.standardize, "sigmoid": nn.sigmoid, "tanh": np.tanh,
            "bias_add": np.add, **dict.fromkeys(SUMS, lambda x: np.sum(x, 0)),
            "sigmoid_grad": lambda y, dy: dy * y * (1.0 - y), "tanh_grad": lambda y, dy: dy * (1.0 - y * y), **FORMULAS,
        }  # fmt: skip


def _momentum(p: Any, g: Any, v: Any) -> Any:
    v = 0.9 * v + g
    return p - 1e-3 * v, v


def _adam(p: Any, g: Any, m: Any, v: Any) -> Any:
    m, v = 0.9 * m + 0.1 * g, 0.99 * v + 0.01 * g * g
    return p - 1e-3 * m / (abs(v) ** 0.5 + 1e-4), m, v


FORMULAS = {"triad": lambda x, y: x + 3.0 * y, "sgd_momentum": _momentum, "adam": _adam}  # for XLA to compile
LIBRARIES = {library.name: library for library in (Numpy, Torch, TensorFlow, Jax)}


def choose(backend: str) -> str:
    """The back end asked for; for auto, PyTorch where it is installed, else numpy. Raises FaultError."""
    if backend == "auto":
        return "torch" if importlib.util.find_spec("torch") else "numpy"
    if backend not in LIBRARIES:
        raise FaultError(f"the back end '{backend}' is not known; choose one of auto, {', '.join(LIBRARIES)}")
    if importlib.util.find_spec(backend) is None:
        raise FaultError(f"{backend} is not installed; install it with: pip install {backend}")
    return backend


# ------------------------------------------------------------------------------------------------------------ ops
KERNELS = {  # memory-bound op: class, arrays read, arrays written, FLOP per element
    "add": ("elementwise", 2, 1, 1),
    "relu": ("elementwise", 1, 1, 1),
    "gelu": ("elementwise", 1, 1, 8),
    "sigmoid": ("elementwise", 1, 1, 4),
    "tanh": ("elementwise", 1, 1, 4),
    "sigmoid_grad": ("elementwise", 2, 1, 3),
    "tanh_grad": ("elementwise", 2, 1, 3),
    "bias_add": ("elementwise", 1, 1, 1),
    "triad": ("elementwise", 2, 1, 2),
    "sgd_momentum": ("elementwise", 3, 2, 4),
    "adam": ("elementwise", 4, 3, 12),
    "sum": ("reduction", 1, 0, 1),
    "channel_sum": ("reduction", 1, 0, 1),
    "bias_grad": ("reduction", 1, 0, 1),
    "softmax": ("normalization", 1, 1, 8),
    "layer_norm": ("normalization", 1, 1, 8),
    "copy": ("movement", 1, 1, 0),
}
POOLS = ("max_pool", "avg_pool")
SUMS = ("channel_sum", "bias_grad")  # of each column of a matrix; TensorFlow has a kernel of its own for gradients
OF_CHANNELS = ("bias_add", *SUMS)
STANDS_FOR = {"elementwise": "add", "reduction": "sum", "normalization": "layer_norm", "movement": "copy"}
ALONG = {"elementwise": "bias_add", "reduction": "channel_sum"}  # the same where channels are told
LAUNCH = "launch"  # an addition of one element
CAST = "cast"  # from fp32 to a narrower precision
WIDTH = 1024  # of the rows that normalizations run over; channels where they are not told
PASSES = ("forward", "grad_input", "grad_weights", "backward")
MOST_SIZE = 2**48  # what no machine holds


class Job(NamedTuple):
    """One shape: the columns that name it, its work [FLOP or B], memory [B], what a call reads [B], caches to time it
    under, and its call.
    """

    columns: Row
    work: float
    size: float
    reads: float
    caches: tuple[str, ...]
    build: Callable[[Library], Run]


class Shape:
    """One row of the table of shapes, and where it stands."""

    def __init__(self, cells: Row, where: str) -> None:
        self.cells, self.where = cells, where

    def text(self, name: str, default: str = "") -> str:
        """A cell, or the default where it is empty."""
        return (self.cells.get(name) or "").strip() or default

    def choice(self, name: str, known: Sequence[str], default: str = "") -> str:
        """A cell that is one of those known, or the default where it is empty. Raises FaultError."""
        found = self.text(name, default)
        if found not in (default, *known):
            raise FaultError(f"{self.where}: {name} is {found}; write one of {', '.join(known)}")
        return found

    def number(self, name: str, default: int | None = None, least: int = 1) -> int:
        """A cell as a whole number. Raises FaultError."""
        cell = self.text(name, "" if default is None else str(default))
        try:
            found = float(cell)
        except ValueError:
            found = math.nan
        if not (least <= found < MOST_SIZE and found % 1 == 0):
            wanted = f"write a whole number of at least {least}, and below {MOST_SIZE}"
            raise FaultError(f"{self.where}: {name} is {cell or 'missing'}; {wanted}")
        return int(found)


def job(shape: Shape, ranks: int = 0) -> Job:
    """What is to be timed for one row. Raises FaultError; LeftOutError where nothing here times it."""
    kind, precision = shape.text("op_class"), shape.text("precision")
    if kind == "collective" and ranks and shape.number("ranks", ranks) == ranks:
        size = shape.number("bytes")
        columns = {"op_class": kind, "kernel": "all_reduce", "precision": "fp32", "ranks": ranks, "bytes": size}
        return Job(columns, size, size, size, (), lambda library: lambda: None)
    others = {"gemm": _gemm, "convolution": _convolution, "pooling": _pooling}
    maker = {**others, **dict.fromkeys(STANDS_FOR, _stream)}.get(kind)
    if maker is None:
        raise LeftOutError(f"{kind or 'a row without op_class'} is not measured here")
    if precision not in ITEMSIZE:
        raise LeftOutError(f"the precision {precision or '(none)'} is not measured here")
    found = maker(shape, kind, precision)
    if found.size >= MOST_SIZE:
        raise FaultError(f"{shape.where}: needs {found.size:.3g} B, more than any memory holds; check the sizes")
    sums = {"accumulate": "fp32"} if maker in (_gemm, _convolution) and precision in ("tf32", "bf16", "fp16") else {}
    named = {"operator": shape.text("operator")} if shape.text("operator") else {}
    return found._replace(columns={"op_class": kind, **named, "precision": precision, **found.columns, **sums})


def _gemm(shape: Shape, kind: str, precision: str) -> Job:
    """C[m,n] = A[m,k]·B[k,n], batch times; t: stored transposed."""
    batch, m, n, k = shape.number("batch", 1), shape.number("m"), shape.number("n"), shape.number("k")
    trans_a, trans_b = (shape.choice(name, "nt", "n") for name in ("trans_a", "trans_b"))
    several = (batch,) if batch > 1 else ()
    a, b = (*several, *((k, m) if trans_a == "t" else (m, k))), (*several, *((n, k) if trans_b == "t" else (k, n)))
    columns = {"batch": batch, "m": m, "n": n, "k": k, "trans_a": trans_a, "trans_b": trans_b}
    reads, writes = (ITEMSIZE[precision] * batch * elements for elements in (m * k + k * n, m * n))
    run = functools.partial(_call, "gemm", precision, a, b, trans_a == "t", trans_b == "t")
    return Job(columns, 2.0 * batch * m * n * k, reads + writes, reads, (_cache(shape),), run)


def _cache(shape: Shape) -> str:
    """Whether the operands are to lie in the cache, where a shape says so."""
    return shape.choice("cache", ("cold", "warm"))


def _call(op: str, *arguments: Any) -> Run:
    """The op of the library that stands last among the arguments."""
    return getattr(arguments[-1], op)(*arguments[:-1])  # type: ignore[no-any-return]


def _convolution(shape: Shape, kind: str, precision: str) -> Job:
    """n images of c channels and h × w points, k kernels of r × s; p × q points come out."""
    n, c, h, w, k, r, s = (shape.number(f"conv_{name}") for name in "nchwkrs")
    if shape.number("conv_d", 1) > 1 or shape.number("conv_t", 1) > 1:
        raise LeftOutError("a 3D convolution is not measured here")
    pairs = [tuple(shape.number(f"{name}_{axis}", default, default) for axis in "hw")
             for name, default in (("stride", 1), ("pad", 0), ("dilation", 1))]  # fmt: skip
    (stride, pad, dilation), groups, what = pairs, shape.number("groups", 1), shape.choice("pass", PASSES, "forward")
    if c % groups or k % groups:
        raise FaultError(f"{shape.where}: {groups} groups do not divide {c} channels and {k} kernels; check groups")
    columns: Row = {"conv_n": n, "conv_c": c, "conv_h": h, "conv_w": w, "conv_k": k, "conv_r": r, "conv_s": s}
    for name, pair in (("stride", stride), ("pad", pad), ("dilation", dilation)):
        columns.update({f"{name}_h": pair[0], f"{name}_w": pair[1]})
    reach = [dilation[0] * (r - 1) + 1, dilation[1] * (s - 1) + 1]
    natural = [(size + 2 * pad[i] - reach[i]) // stride[i] + 1 for i, size in enumerate((h, w))]
    p, q = (shape.number(f"conv_{name}", natural[i], -MOST_SIZE) for i, name in enumerate("pq"))
    if min(p, q) < 1:
        raise FaultError(f"{shape.where}: the kernel {r}x{s} does not fit the image {h}x{w}; check the sizes")
    if [p, q] != natural:  # padding that differs by side: timed on an image that holds it
        h, w, pad = (p - 1) * stride[0] + reach[0], (q - 1) * stride[1] + reach[1], (0, 0)
        columns.update(conv_p=p, conv_q=q, padding=f"image {h}x{w}, no padding")
    conv = Conv(n, c, h, w, k, r, s, stride, pad, dilation, groups, what)
    flop = (2 if what == "backward" else 1) * 2.0 * n * k * p * q * c / groups * r * s
    image, kernels, output = n * c * h * w, k * c / groups * r * s, n * k * p * q
    read = {"forward": image + kernels, "grad_input": kernels + output, "grad_weights": image + output}
    reads = ITEMSIZE[precision] * read.get(what, image + kernels + output)
    size = 2 * ITEMSIZE[precision] * (image + kernels + output)
    columns.update({"groups": groups, "pass": what})
    run = functools.partial(_call, "convolution", precision, conv)
    return Job(columns, flop, size, reads, (_cache(shape),), run)


def _pooling(shape: Shape, kind: str, precision: str) -> Job:
    """The largest or the mean of each window of r × s, over n images of c channels; p × q come out."""
    kernel, what = shape.text("kernel", POOLS[0]), shape.choice("pass", PASSES[:2], "forward")
    if kernel not in POOLS or not all(shape.text(f"conv_{name}") for name in "nchwrspq"):
        raise LeftOutError("a pool of another kind or of unknown sizes is not measured here")
    stated = {f"conv_{name}": shape.number(f"conv_{name}") for name in "nchwrspq"}
    strides = {f"stride_{axis}": shape.number(f"stride_{axis}", 1) for axis in "hw"}
    n, c, h, w, r, s, p, q = stated.values()
    down, right = strides.values()
    outputs = {"VALID": ((h - r) // down + 1, (w - s) // right + 1), "SAME": (-(-h // down), -(-w // right))}
    padding = next((name for name, output in outputs.items() if output == (p, q)), None)
    if padding is None:
        raise LeftOutError(f"a pool of {h}x{w} to {p}x{q} is not measured here")
    moved = ITEMSIZE[precision] * (n * c * h * w + n * c * p * q)
    bytes_ = moved if kernel == "avg_pool" or what == "forward" else 2 * moved
    columns = {"kernel": kernel, **stated, **strides, "pass": what, "bytes": bytes_, "flop": n * c * h * w}
    pool = Pool(kernel == POOLS[0], n, c, h, w, r, s, p, q, (down, right), padding, what)
    return Job(columns, bytes_, 2 * moved, moved, ("",), functools.partial(_call, "pool", precision, pool))


def _stream(shape: Shape, kind: str, precision: str) -> Job:
    """A memory-bound op of so many bytes: the one named, else the one that stands for its class."""
    known = [name for name, of in KERNELS.items() if of[0] == kind] + [LAUNCH, CAST] * (kind == "elementwise")
    along = kind in ALONG and shape.text("conv_c") and not shape.text("conv_n")
    kernel = shape.choice("kernel", known, ALONG[kind] if along else STANDS_FOR[kind])
    if kernel == CAST:
        return _cast(shape, precision)
    op = "add" if kernel == LAUNCH else kernel
    _, reads, writes, flop = KERNELS[op]
    per_element = (reads + writes) * ITEMSIZE[precision]
    size = 1 if kernel == LAUNCH else max(1, shape.number("bytes", least=0) // per_element)
    channels = shape.number("conv_c", WIDTH) if kernel in OF_CHANNELS else 0
    length = shape.number("row_length", WIDTH) if kind == "normalization" else WIDTH
    width = channels or min(size, length)  # whole rows, as near as may be to what is asked; of one, no op goes along
    rows = (max(2 if channels else 1, round(size / width)), width)
    sizes = rows if kind == "normalization" or channels else (size,)
    size, asked = math.prod(sizes), _cache(shape)
    caches = ("warm",) if kernel == LAUNCH else (asked,) if asked else ("cold", "warm")
    columns = {"kernel": kernel, "bytes": size * per_element, "flop": size * flop}
    columns |= {"conv_c": channels} if channels else {}
    columns |= {"row_length": width} if kind == "normalization" and shape.text("row_length") else {}
    run = functools.partial(_call, "stream", op, precision, sizes)
    return Job(columns, size * per_element, size * per_element, size * reads * ITEMSIZE[precision], caches, run)


def _cast(shape: Shape, precision: str) -> Job:
    """A cast from fp32, of so many bytes read and written."""
    read, written = ITEMSIZE["fp32"], ITEMSIZE[precision]
    if written >= read:
        raise LeftOutError(f"a cast from fp32 to {precision} is not measured here")
    size, asked = max(1, shape.number("bytes", least=0) // (read + written)), _cache(shape)
    moved = size * (read + written)
    run = functools.partial(_call, "cast", precision, (size,))
    columns = {"kernel": CAST, "bytes": moved, "flop": size}
    return Job(columns, moved, moved, size * read, (asked,) if asked else ("cold", "warm"), run)


# --------------------------------------------------------------------------------------------------------- timing
LEAST, MOST = 7, 400  # repeats
LONG_S = 8e-3  # of a call, to which what an emptied cache holds of its code, and sleeping threads, add little
MOST_OF_BUDGET = 0.1  # of what is left, for the least repeats of one shape
MOST_OF_MEMORY = 0.8  # of what is free, for the arrays of one shape
CHAINS_S = 10e-3  # that chains side by side last at least, which begin and end one by one
RESOURCE: Any = importlib.util.find_spec("resource") and importlib.import_module("resource")  # Windows has none
LENGTHS = (1, 4, 16, 64)  # calls in a chain of TensorFlow: of long ones to very short ones
MOST_IN_TURN = 2048  # the same where each call has arrays of its own: a cache is emptied for so many small ones
FROM_CACHE, SMALL_CACHE = 1.5, 2**24  # times as fast as from memory; bytes from which on a cache is a last-level one
QUIET_S = 0.04  # of one thread, in which the system's own work interrupts it about once


def switches() -> int:
    """How often this process's threads were put off a processor for others; 0 where the system does not count."""
    return int(RESOURCE.getrusage(RESOURCE.RUSAGE_SELF).ru_nivcsw) if RESOURCE else 0


def stopwatch() -> Callable[[], Timed]:
    """What gives the seconds since, and whether something else took the processors meanwhile."""
    threads, before, start = len(usable()), switches(), time.perf_counter()

    def stop() -> Timed:
        spent = time.perf_counter() - start
        return spent, switches() - before > threads * spent // QUIET_S

    return stop


def quantile(samples: Sequence[float], share: float) -> float:
    """The value that ``share`` of the samples lie below, interpolated."""
    ordered, place = sorted(samples), share * (len(samples) - 1)
    low, high = ordered[math.floor(place)], ordered[math.ceil(place)]
    return low + (place - math.floor(place)) * (high - low)


def relative_error(samples: Sequence[float]) -> float:
    """Half width of the median's 95 % confidence interval (by order statistics) over the median."""
    ordered, middle, reach = sorted(samples), len(samples) / 2, 0.98 * math.sqrt(len(samples))
    low, high = ordered[max(0, math.floor(middle - reach))], ordered[min(len(samples), math.ceil(middle + reach)) - 1]
    return (high - low) / 2 / quantile(ordered, 0.5)


def repeat(
    timed: Timer, wanted: float, share: float, most: float, batch: float = 0.0, clock: Run = time.perf_counter
) -> tuple[list[float], float]:
    """Seconds of one call, timed again until the median's relative error is as wanted or its share [s] is spent.

    The fewest repeats may take ``most`` seconds, else LeftOutError, each of one call, though a library may run some
    more at once.
    ``timed(count)`` gives the time of so many calls, of which short ones last ``batch`` [s] together. The first call
    compiles; calls warm up until two in a row are alike (memory touched, clock awake); none of these is among the
    samples.
    Disturbed samples count where there are no others, the quickest of them where there are few; their share stands
    beside.
    """
    timed(1)
    start, warm = clock(), [timed(1)[0], timed(1)[0]]
    while max(warm[-2:]) > 1.3 * min(warm[-2:]) and len(warm) < 9 and clock() < start + share / 2:
        warm.append(timed(1)[0])
    if LEAST * min(warm) > most:
        raise LeftOutError(f"{LEAST} calls last longer than its share of the budget")
    count, samples, disturbed = 1, list[float](), list[float]()
    while batch and count < 1 << 20 and (spent := min(timed(count), timed(count))[0]) < batch:
        count = max(2 * count, min(10 * count, math.ceil(1.2 * batch * count / max(spent, 1e-9))))
    while len(samples) < MOST:
        spent, other = timed(count)
        (disturbed if other else samples).append(spent / count)
        known = len(samples) >= LEAST and relative_error(samples) <= wanted
        if known or (len(samples) + len(disturbed) >= LEAST and clock() > start + share):
            break
    quickest = sorted(disturbed)[: max(0, LEAST - len(samples))]
    return samples + (quickest if samples else disturbed), len(disturbed) / (len(samples) + len(disturbed))


# -------------------------------------------------------------------------------------------------------- machine
CPUS, CGROUP = "/sys/devices/system/cpu", "/sys/fs/cgroup"
WIRE, PATIENCE_S = {True: "nccl", False: "gloo"}, 120.0  # of an all-reduce; for each of its sizes


def keep_memory() -> None:
    """Let the C library keep freed memory, as frameworks' allocators do: page faults would be timed otherwise."""
    if sys.platform == "linux" and hasattr(ctypes.CDLL(None), "mallopt"):
        for option, value in ((-4, 0), (-1, 2**31 - 1), (-8, 1)):  # M_MMAP_MAX, M_TRIM_THRESHOLD, M_ARENA_MAX
            ctypes.CDLL(None).mallopt(option, value)


def usable() -> list[int]:
    """The logical processors that this process may use."""
    return sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else list(range(os.cpu_count() or 1))


def cores(folder: str = CPUS) -> list[int]:
    """One usable logical processor of each physical core; all of them where the machine does not tell."""
    found: dict[str, int] = {}
    for cpu in usable():
        found.setdefault("".join(told(f"{folder}/cpu{cpu}/topology/thread_siblings_list")) or str(cpu), cpu)
    return list(found.values())


def allowed(name: str) -> float:
    """A container's limit (cgroup v2): processors of cpu.max, bytes of memory.max; infinite where there is none."""
    words = " ".join(told(f"{CGROUP}/{name}")).split()
    return float(words[0]) / float((words[1:] or ["1"])[0]) if words and words[0] != "max" else math.inf


def within_quota(processors: Sequence[int]) -> int:
    """How many of the processors a container's quota lets work at a time, one at least."""
    return max(1, int(min(len(processors), allowed("cpu.max"))))


def limit_threads(asked: int | None) -> int:
    """Hold this process to so many threads, else to one for each core; libraries must not be loaded yet."""
    most, own = within_quota(usable()), cores()
    if asked is not None and not 0 < asked <= most:
        raise FaultError(f"--threads is {asked}, and this process may use {most} processors; ask for 1 to {most}")
    threads = asked or min(len(own), most)
    libraries = [f"{name}_THREADS" for name in ("OMP_NUM", "OPENBLAS_NUM", "MKL_NUM", "BLIS_NUM", "VECLIB_MAXIMUM")]
    os.environ.update(dict.fromkeys([*libraries, "NPROC"], str(threads)))  # the last is XLA's
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, [*own, *(cpu for cpu in usable() if cpu not in own)][:threads])
    return threads


def told(path: str, key: str = "") -> list[str]:
    """What the lines of a system file say of a key (or all lines); nothing where there is no such file."""
    try:
        lines = Path(path).read_text("utf-8", "replace").splitlines()
    except OSError:
        return []
    return [line.partition(":")[2].strip() for line in lines if line.startswith(key)] if key else lines


def processor() -> str:
    """The processor's name."""
    return next(filter(None, told("/proc/cpuinfo", "model name")), platform.processor() or platform.machine())


def memory(key: str) -> float | None:
    """MemTotal or MemAvailable [B], at most what a container may have, or has left; None where the machine does not
    tell.
    """
    found, limit = told("/proc/meminfo", key), allowed("memory.max")
    if key == "MemAvailable":
        limit -= sum(float(line.split()[1]) for line in told(f"{CGROUP}/memory.stat") if line.startswith("anon "))
    return max(0.0, min(float(found[0].split()[0]) * 1024, limit)) if found else None


def last_level_caches(folder: str = CPUS) -> list[float]:
    """Bytes of each last-level cache of the usable processors; none where the machine does not tell."""
    found: dict[tuple[str, str], float] = {}
    for index in (path for cpu in usable() for path in Path(f"{folder}/cpu{cpu}/cache").glob("index*")):
        level, size, shared = ("".join(told(str(index / name))) for name in ("level", "size", "shared_cpu_list"))
        found[level, shared] = float(size.rstrip("K") or 0) * 1024
    last = max((level for level, _ in found), default="")
    return [size for (level, _), size in found.items() if level == last and size]


def held(cache: float, rate: Callable[[float], float]) -> float:
    """At most how much of a cache of so many bytes holds arrays: a virtual machine names the whole cache of its host,
    of which it has a part. That is twice the largest array, halved again and again, that is read again at a higher
    ``rate`` [B/s] than from memory; all of it where no rate tells.
    """
    beyond = rate(2 * cache)
    smaller = (cache / 2**i for i in range(1, 10) if cache / 2**i >= SMALL_CACHE)
    return next((2 * size for size in smaller if rate(size) > FROM_CACHE * beyond), cache)


def reached_cache(library: Library) -> float | None:
    """Bytes of the last-level caches that arrays may fill; None where the machine does not tell."""
    if library.gpu:
        return library.accelerator().get("cache")
    caches, room = last_level_caches(), memory("MemAvailable")
    largest = max(caches, default=0.0)
    if not largest or (room and 2 * largest > MOST_OF_MEMORY * room):
        return sum(caches) or None
    return sum(caches) * held(largest, functools.partial(rate_of_reading, library.np)) / largest


def rate_of_reading(np: Any, size: float) -> float:
    """B/s at which one thread reads an array of so many bytes again."""
    array, times = np.ones(int(size / 4), "float32"), []
    for _ in range(4):
        start = time.perf_counter()
        array.max()
        times.append(time.perf_counter() - start)
    return 4.0 * len(array) / min(times)


def query(*names: str) -> list[Any]:
    """What nvidia-smi tells of the first GPU that programs see, None for [N/A]; nothing where there is none."""
    first = os.environ.get("CUDA_VISIBLE_DEVICES", "0").partition(",")[0].strip()
    if first in ("", "-1") or not shutil.which("nvidia-smi"):
        return []
    command = ["nvidia-smi", f"--query-gpu={','.join(names)}", "--format=csv,noheader,nounits", "-i", first]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    cells = [cell.strip() for cell in done.stdout.partition("\n")[0].split(",")]
    return [None if cell[:1] == "[" else cell for cell in cells] if not done.returncode and cells[1:] else []


@functools.lru_cache(maxsize=1)
def smi() -> Row:
    """Name, driver, memory [B] and highest clock [Hz] of the first NVIDIA GPU; nothing where there is none."""
    found = query("name", "driver_version", "memory.total", "clocks.max.sm")
    if not found:
        return {}
    name, driver, mib, mhz = found
    sizes = {"memory": mib and float(mib) * 2**20, "max_clock": mhz and float(mhz) * 1e6}
    return {"name": name, "driver": f"driver {driver}", **sizes}


def clock(gpu: bool) -> str:
    """The clock at this moment; nothing where the machine does not tell."""
    if gpu:
        return ", memory ".join(f"{mhz} MHz" for mhz in query("clocks.sm", "clocks.mem") if mhz)
    mhz = [float(khz) / 1e3 for i in usable() for khz in told(f"{CPUS}/cpu{i}/cpufreq/scaling_cur_freq")]
    mhz = mhz or [float(cell) for cell in told("/proc/cpuinfo", "cpu MHz")]
    return f"{quantile(mhz, 0.5):.0f} MHz" if mhz else ""


def clock_under_load(library: Library, seconds: float = 0.6) -> str:
    """The clock while matrix products run."""
    run = library.gemm("fp32", (1024, 1024), (1024, 1024), False, False)
    with ThreadPoolExecutor(1) as pool:
        found = pool.submit(lambda: time.sleep(seconds) or clock(library.gpu))  # type: ignore[func-returns-value]
        while not found.done():
            library.timed(run, 1, None)
    return found.result()


def describe(library: Library) -> Row:
    """The device measured: name, memory and cache [B], compute units, highest clock [Hz]; None is unknown."""
    highest, units = told(f"{CPUS}/cpu0/cpufreq/cpuinfo_max_freq"), min(len(cores()), library.threads)
    known = {"name": processor(), "memory": memory("MemTotal"), "cache": sum(last_level_caches()) or None}
    known["units"] = units
    known["max_clock"] = float(highest[0]) * 1e3 if highest else None
    if not library.gpu:
        return known
    found = library.accelerator()
    return {name: found.get(name) for name in known}


def all_reduce(sizes: Sequence[int], ranks: int, gpu: bool) -> Iterator[tuple[int, list[float]]]:
    """Which size it is, and the seconds of each repeat over so many processes on this machine (torch.distributed)."""
    context = multiprocessing.get_context("spawn")
    results = context.Queue()
    with tempfile.TemporaryDirectory() as folder:
        shared = (ranks, sizes, Path(folder, "meeting").as_uri(), gpu, results)
        workers = [context.Process(target=_rank, args=(rank, *shared), daemon=True) for rank in range(ranks)]
        try:
            for worker in workers:
                worker.start()
            for _ in sizes:
                end = time.perf_counter() + PATIENCE_S
                while results.empty():
                    if any(worker.exitcode for worker in workers) or time.perf_counter() > end:
                        raise LeftOutError("a process of the all-reduce failed or did not answer; see what it wrote")
                    time.sleep(0.02)
                yield results.get()
        finally:
            for worker in workers:
                worker.kill()
                worker.join()


def _rank(rank: int, ranks: int, sizes: Sequence[int], meeting: str, gpu: bool, results: Any) -> None:
    torch, group = importlib.import_module("torch"), importlib.import_module("torch.distributed")
    own = {"rank": rank, "world_size": ranks, "timeout": timedelta(seconds=PATIENCE_S)}
    group.init_process_group(WIRE[gpu], init_method=meeting, **own)
    for place, size in enumerate(sizes):
        data, samples = torch.rand(max(1, size // 4), device=f"cuda:{rank}" if gpu else "cpu"), []
        for _ in range(3 + 25):  # three warm up
            group.barrier()
            start = time.perf_counter()
            group.all_reduce(data, group.ReduceOp.MAX)
            data[0].item()  # waits for the device
            samples.append(time.perf_counter() - start)
        if rank == 0:
            results.put((place, samples[3:]))
    group.barrier()
    group.destroy_process_group()


# ----------------------------------------------------------------------------------------------------------- rows
COLUMNS = re.findall(
    r"\w+",
    "op_class operator kernel precision batch m n k trans_a trans_b conv_n conv_c conv_h conv_w conv_k conv_r conv_s "
    "stride_h stride_w pad_h pad_w groups pass conv_p conv_q dilation_h dilation_w row_length ranks bytes flop "
    "time_s time_low_s time_high_s repeats library clock threads accumulate padding cache source",
)


def resume(partial: Path, conditions: Row, first: Callable[[], Row]) -> tuple[Row, list[Row]]:
    """What a run is done under and the records it holds: those of the run that was stopped, or a new one's.

    ``first()`` gives what is told once, at the beginning. Raises FaultError where the stopped run had other conditions.
    """
    lines = partial.read_text("utf-8").splitlines(keepends=True) if partial.exists() else []
    whole = [line for line in lines if line.endswith("\n")]  # the last one may be cut short
    about, *records = map(json.loads, whole) if whole else [{**conditions, **first()}]
    for name, value in conditions.items():
        if about.get(name) != value:
            begun = f"{partial}: was begun with {name} {about.get(name)}, and this run has {value}"
            raise FaultError(f"{begun}; unlike conditions do not mix, so repeat that run's command, or delete the file")
    partial.write_text("".join(whole) or f"{json.dumps(about)}\n", "utf-8")
    return about, records


class Sweep:
    """The shapes on one library: what is measured, and what is left out."""

    def __init__(self, library: Library, jobs: Sequence[Job | str], options: Any) -> None:
        started, self.library, self.jobs, self.options = time.perf_counter(), library, jobs, options
        self.largest: dict[tuple[str, str], tuple[float, float]] = {}  # work and time by op class and precision
        self.partial = Path(f"{options.output}.partial")
        conditions = {
            "version": VERSION, "shapes": digest(options.shapes), "library": library.versions(),
            "threads": library.threads, "device": describe(library), "relative_error": options.relative_error,
        }  # fmt: skip
        self.about, records = resume(self.partial, conditions, self._first)
        self.rows: dict[int, list[Row]] = {record["shape"]: record["rows"] for record in records}
        self.left_out: dict[int, str] = {record["shape"]: record["reason"] for record in records if record["reason"]}
        self.end = started + options.budget - max((record["elapsed_s"] for record in records), default=0.0)

    def _first(self) -> Row:
        load, date = os.getloadavg()[0] if hasattr(os, "getloadavg") else None, time.strftime("%Y-%m-%d")
        found, source = clock_under_load(self.library), f"measure.py {VERSION}, {date}"
        return {"load": load, "clock": found, "date": date, "source": source, "cache": reached_cache(self.library)}

    def _keep(self, place: int, rows: list[Row], reason: str = "") -> None:
        """Append what is settled about a shape to the partial file."""
        self.rows[place] = rows
        spent = self.options.budget - (self.end - time.perf_counter())
        with self.partial.open("a", encoding="utf-8") as file:
            record = {"shape": place, "rows": rows, "reason": reason, "elapsed_s": spent}
            file.write(f"{json.dumps(record)}\n")
        self._tell(place, reason or ", ".join(f"{row['time_s']:.4g} s {row['cache']}".strip() for row in rows), reason)

    def _tell(self, place: int, outcome: str, reason: str) -> None:
        if reason:
            self.left_out[place] = reason
        say(f"{len(self.rows.keys() | self.left_out.keys())}/{len(self.jobs)} row {place + 1}: {outcome}")

    def run(self) -> None:
        """Measure every shape that is not settled yet; what is left out here may be open to the next run."""
        self._all_reduce([place for place in self._open() if getattr(self.jobs[place], "caches", None) == ()])
        for place in self._open():
            try:
                self._keep(place, self._measure(self.jobs[place], len(self.jobs) - place))
            except (LeftOutError, MemoryError) as reason:
                self._tell(place, said := str(reason) or "there is not memory enough", said)
            except Exception as error:  # each library refuses a shape in its own way
                self._keep(place, [], f"{self.library.name} refuses it: {' '.join(str(error).split())[:160]}")

    def _open(self) -> list[int]:
        return [place for place in range(len(self.jobs)) if place not in self.rows]

    def _measure(self, found: Job | str, left: int) -> list[Row]:
        if isinstance(found, str):
            raise LeftOutError(found)
        kind, precision = found.columns["op_class"], found.columns["precision"]
        if precision not in self.library.precisions:
            raise LeftOutError(f"{self.library.name} has no {precision} here")
        room = self.about["device"]["memory"] if self.library.gpu else memory("MemAvailable")
        if room and found.size > MOST_OF_MEMORY * room:
            raise LeftOutError(f"needs {found.size / 1e9:.3g} GB of memory; there is {room / 1e9:.3g} GB")
        remaining = (self.end - time.perf_counter()) / len(found.caches)
        share, most = 1.5 * remaining / left, max(1.5 / left, MOST_OF_BUDGET) * remaining
        work, took = self.largest.get((kind, precision), (math.inf, 0.0))
        if remaining <= 0 or LEAST * took * found.work / work > 2 * most:
            raise LeftOutError(f"the budget of {self.options.budget:g} s does not last for it")
        self.library.select(precision)
        copies = int(MOST_OF_MEMORY * room / max(found.size, 1)) if room else 1
        rows = []
        for cache in found.caches:
            samples = self._samples(found, cache == "cold", copies, share, most)
            rows.append(self._row(found, cache, *samples))
        if rows[0]["time_s"] >= Library.batch_s and (found.work > work or not took):  # shorter ones tell of launches
            self.largest[kind, precision] = found.work, rows[0]["time_s"]
        return rows

    def _samples(self, found: Job, cold: bool, copies: int, share: float, most: float) -> tuple[list[float], float]:
        """As :func:`repeat` has them, of calls that find their arrays where the last one left them, or (cold) that no
        cache holds them for: they go through twice as many as it holds, or it is emptied before each.
        """
        run = cold and self.library.prepared_cold(found.build, copies, math.ceil(2 * self.cache_size / found.reads))
        emptied = cold and not run
        timed = functools.partial(
            self.library.timed,
            run or self.library.prepared(found.build, copies),
            flush=self.flush if emptied else None,
        )
        return repeat(timed, self.options.relative_error, share, most, 0.0 if emptied else self.library.batch_s)

    @property
    def cache_size(self) -> int:
        """What arrays may fill of the last-level cache [B]; 64 MiB where it is not known."""
        return int(self.about["cache"] or 2**26)

    @functools.cached_property
    def flush(self) -> Run:
        """Copy arrays of four times the last-level cache, or as large ones as memory holds."""
        room = None if self.library.gpu else memory("MemAvailable")
        size = min(2 * self.cache_size, MOST_OF_MEMORY / 4 * room if room else math.inf)  # read, written, made of two
        return self.library.stream("copy", "fp32", (math.ceil(size / 4),))

    def _row(self, found: Job, cache: str, samples: list[float], disturbed: float = 0.0) -> Row:
        low, mid, high = (quantile(samples, share) for share in (0.05, 0.5, 0.95))
        known = {name: self.about[name] for name in ("library", "clock", "source", "threads")}
        times = {"time_s": mid, "time_low_s": low, "time_high_s": high, "repeats": len(samples)}
        return {**known, **found.columns, **times, "cache": cache, "disturbed": disturbed}

    def _all_reduce(self, places: list[int]) -> None:
        jobs = [self.jobs[place] for place in places]
        sizes, wire = [int(found.size) for found in jobs if isinstance(found, Job)], WIRE[self.library.gpu]
        try:
            for i, samples in all_reduce(sizes, self.options.all_reduce, self.library.gpu) if sizes else ():
                row = self._row(jobs[i], "", samples)  # type: ignore[arg-type]
                self._keep(places[i], [{**row, "library": f"{row['library']}; {wire}"}])
        except LeftOutError as reason:
            for place in set(places) - self.rows.keys():
                self._keep(place, [], str(reason))

    def disturbed(self) -> tuple[list[str], float]:
        """The rows of which every sample was disturbed, by name, and the mean share that was."""
        rows = [row for rows in self.rows.values() for row in rows]
        names = [*COLUMNS[: COLUMNS.index("flop")], "cache"]
        told = [" ".join(str(row[name]) for name in names if row.get(name)) for row in rows if row["disturbed"] == 1]
        return told, sum(row["disturbed"] for row in rows) / max(len(rows), 1)


# ----------------------------------------------------------------------------------------------------------- main
def digest(path: str | Path) -> str:
    """SHA-256 of a file's bytes."""
    return hashlib.sha256(Path(path).read_bytes()).hexdigest()


def read_jobs(path: Path, ranks: int) -> list[Job | str]:
    """What is to be timed for each row of the shapes, or why nothing is. Raises FaultError."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            shapes: list[Row] = list(csv.DictReader(file, strict=True))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise FaultError(f"{path}: cannot be read ({error}); expected the table of shapes") from None
    if not shapes:
        raise FaultError(f"{path}: there are no shapes; expected a line of column names and a row for each shape")
    found: list[Job | str] = []
    for place, shape in enumerate(shapes):
        if None in shape:
            raise FaultError(f"{path}: row {place + 1} has more cells than there are columns; mend it")
        try:
            found.append(job(Shape(shape, f"{path}: row {place + 1}"), ranks))
        except LeftOutError as reason:
            found.append(str(reason))
    return found


def say(sentence: str) -> None:
    """Print a line; where nobody reads any more (`| head`), go on in silence."""
    try:
        sys.stdout.write(f"{sentence}\n")
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def whole(path: Path, text: str) -> None:
    """Write a file whole or not at all."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    temporary.write_text(text, "utf-8")
    temporary.replace(path)


def write(sweep: Sweep, options: argparse.Namespace) -> None:
    """Write the table, then what it was made with, then drop the partial file."""
    table = io.StringIO(newline="")
    writer = csv.DictWriter(table, COLUMNS, extrasaction="ignore", lineterminator="\n")
    writer.writeheader()
    writer.writerows(row for place in sorted(sweep.rows) for row in sweep.rows[place])
    whole(options.output, table.getvalue())
    hashes = {path.name: digest(path) for path in (Path(__file__), options.shapes, options.output)}
    disturbed, share = sweep.disturbed()
    provenance = {
        **sweep.about, "disturbed": disturbed,
        "disturbed_share": share if sweep.library.tells_disturbance else None,
        "backend": sweep.library.name, "gpu": sweep.library.gpu, "command": sys.argv,
        "processor": processor(), "system": platform.platform(), "python": platform.python_version(),
        "numpy": sweep.library.np.__version__, "driver": smi().get("driver"), "sha256": hashes,
        "left_out": {place + 1: reason for place, reason in sorted(sweep.left_out.items())},
    }  # fmt: skip
    whole(options.output.with_name("provenance.json"), json.dumps(provenance, indent=1) + "\n")
    sweep.partial.unlink()


def above_zero(text: str, below: float = math.inf) -> float:
    """A number of an option."""
    found = float(text)
    if not 0 < found < below:
        raise argparse.ArgumentTypeError(f"{text} is not a number above 0 and below {below:g}")
    return found


def arguments(words: Sequence[str] | None) -> argparse.Namespace:
    """The options."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    here, share = Path(__file__).resolve().parent, functools.partial(above_zero, below=1.0)
    parser.add_argument("--backend", default="auto", help="numpy, torch, tensorflow or jax; auto: torch, else numpy")
    parser.add_argument("--device", default="auto", choices=("auto", "cpu", "cuda"), help="auto: a GPU if there is one")
    parser.add_argument("--threads", type=int, help="threads of the processor; one for each core by default")
    parser.add_argument("--shapes", type=Path, default=here / "shapes.csv", help="table of shapes")
    parser.add_argument("--relative-error", type=share, default=0.02, help="of the median, to repeat until; 0.02")
    parser.add_argument("--budget", type=above_zero, default=1800.0, help="seconds for all shapes; 1800")
    parser.add_argument("--all-reduce", type=int, default=0, metavar="N", help="all-reduce over N processes (torch)")
    parser.add_argument("-o", "--output", type=Path, default=here / "measurements.csv", help="the table written")
    return parser.parse_args(words)


def main(words: Sequence[str] | None = None) -> int:
    """Run the command."""
    options = arguments(words)
    try:
        name = choose(options.backend)
        if options.all_reduce and name != "torch":
            raise FaultError(f"--all-reduce needs PyTorch, and the back end is {name}; add --backend torch")
        jobs, threads = read_jobs(options.shapes, options.all_reduce), limit_threads(options.threads)
        os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
        keep_memory()
        library = LIBRARIES[name](options.device, threads)
        say(f"{library.versions()} on {describe(library)['name']}, {threads} threads")
        sweep = Sweep(library, jobs, options)
        sweep.run()
        write(sweep, options)
    except (FaultError, OSError) as error:
        sys.stderr.write(f"{error}\n")
        return 1
    except KeyboardInterrupt:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # a second Ctrl-C changes nothing
        sys.stderr.write("stopped; what is measured is kept, and the same command goes on from here\n")
        return 130
    say(f"wrote {options.output} and provenance.json beside it: {len(sweep.left_out)} shapes left out")
    if rows := sweep.disturbed()[0]:
        say(f"{len(rows)} rows hold samples alone that other processes disturbed: {'; '.join(rows)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
