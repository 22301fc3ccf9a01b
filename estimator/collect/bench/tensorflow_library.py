"""TensorFlow, on processors and on GPUs."""
# ruff: noqa: D102 (what a back end overrides is described in Library)

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

from estimator.collect.bench.library import Library
from estimator.collect.bench.types import DTYPE, Conv, Pool, Row, Run, Sample
from estimator.collect.bench.xla_formulas import FORMULAS

LONG_CALL_S = 8e-3  # of a call; its cold code and sleeping threads add little
MIN_CHAINS_S = 10e-3  # least time of chains side by side, as they start and end one by one
CHAIN_LENGTHS = (1, 4, 16, 64)  # calls in a chain, for long to very short calls
MAX_LENGTH_IN_TURN = 2048  # calls in a chain where each has its own arrays


def _padding(conv: Conv) -> str:
    """TensorFlow's name of a convolution's padding; oneDNN has no gradient of the image for EXPLICIT."""
    if not any(conv.pad):
        return "VALID"
    sizes = [(conv.h, conv.r), (conv.w, conv.s)]
    same = [max((-(-h // conv.stride[i]) - 1) * conv.stride[i] + conv.dilation[i] * (r - 1) + 1 - h, 0)
            for i, (h, r) in enumerate(sizes)]  # fmt: skip
    return "SAME" if same == [2 * pad for pad in conv.pad] else "EXPLICIT"


class _ChainedCall:
    """A call that is timed in chains, shorter ones for longer calls.

    ``runs`` are the same call on separate arrays, for chains side by side, which must not share the cache, and for
    calls in turn.
    """

    def __init__(self, runs: Sequence[Run], lengths: tuple[int, ...]) -> None:
        self.runs, self.lengths = runs, lengths

    def __call__(self) -> Any:
        return self.runs[0]()


class TensorFlow(Library):
    """TensorFlow's own kernels, in graphs of several calls; ops of several kernels are compiled by XLA."""

    name = "tensorflow"
    sees_disturbance = False  # its own threads preempt each other

    def sees_gpu(self) -> bool:
        return bool(self.module.config.list_physical_devices("GPU"))

    def start(self) -> None:
        config = self.module.config
        for gpu in config.list_physical_devices("GPU"):
            config.experimental.set_memory_growth(gpu, True)
        if not self.gpu:
            config.set_visible_devices([], "GPU")
        config.threading.set_intra_op_parallelism_threads(self.threads)
        config.optimizer.set_experimental_options({"disable_meta_optimizer": True})  # it removes unused results
        self.graph = functools.lru_cache(maxsize=4)(self.graph_of)
        self.chains = 1 if self.gpu else self.threads
        self.batch_s = self.batch_s if self.gpu else MIN_CHAINS_S

    def prepare(self, build: Callable[[Library], Run], copies: int) -> Run:
        runs = [build(self) for _ in range(max(1, min(self.chains, copies)))]
        return _ChainedCall(runs, getattr(runs[0], "lengths", CHAIN_LENGTHS))

    def prepare_cold(self, build: Callable[[Library], Run], copies: int, least_copies: int) -> Run | None:
        length = math.ceil(least_copies / self.chains)
        if self.gpu or length * self.chains > copies:
            return None
        first = build(self)
        lengths = getattr(first, "lengths", CHAIN_LENGTHS)
        if length > (MAX_LENGTH_IN_TURN if lengths == CHAIN_LENGTHS else lengths[-1]):
            return None
        if min(self.time_calls(first, 1, None)[0] for _ in range(2)) > LONG_CALL_S:
            return None
        return _ChainedCall([first, *(build(self) for _ in range(length * self.chains - 1))], (length,))

    def time_calls(self, run: Run, count: int, flush: Run | None) -> Sample:
        """Time calls in a graph, as in training: a separate call takes longer than many ops."""
        lengths = getattr(run, "lengths", CHAIN_LENGTHS)
        long_enough = (length for length in lengths if length * self.chains >= count)
        length = next(long_enough, lengths[-1])  # each length is traced, which takes long
        calls = length * self.chains
        graphs = math.ceil(count / calls)
        time_s, is_disturbed = super().time_calls(self.graph(run, length), graphs, flush)
        return time_s * count / (graphs * calls), is_disturbed and self.sees_disturbance

    def graph_of(self, run: Run, length: int) -> Run:
        """Chains of ``length`` calls as one function; on a processor as many chains side by side as threads.

        Side by side they keep all threads awake, as the ops of a step do: to wake a thread takes longer than many ops.
        """
        tf, runs = self.module, getattr(run, "runs", [run])

        def chain(number: int) -> Any:
            output: Any = tf.constant(number)  # else equal chains would be merged
            for turn in range(length):
                with tf.control_dependencies(tf.nest.flatten(output)):
                    output = runs[(turn * self.chains + number) % len(runs)]()
            with tf.control_dependencies(tf.nest.flatten(output)):
                return tf.constant(number)  # a variable written in place is no output

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

    def convolution(self, precision: str, conv: Conv) -> Run:
        raw, image = self.module.raw_ops, (conv.n, conv.h, conv.w, conv.c)
        kernel = (conv.r, conv.s, conv.c // conv.groups, conv.k)
        x, w = self.array(image, precision), self.array(kernel, precision)
        options: Row = {"strides": (1, *conv.stride, 1), "dilations": (1, *conv.dilation, 1), "padding": _padding(conv)}
        if options["padding"] == "EXPLICIT":
            options["explicit_paddings"] = (0, 0, conv.pad[0], conv.pad[0], conv.pad[1], conv.pad[1], 0, 0)
        if conv.direction == "forward":
            return lambda: raw.Conv2D(input=x, filter=w, **options)
        options["out_backprop"] = raw.Conv2D(input=x, filter=w, **options)
        passes: dict[str, Run] = {
            "grad_input": lambda: raw.Conv2DBackpropInput(input_sizes=image, filter=w, **options),
            "grad_weights": lambda: raw.Conv2DBackpropFilter(input=x, filter_sizes=kernel, **options),
        }
        wanted = [run for name, run in passes.items() if conv.direction in (name, "backward")]
        return lambda: [run() for run in wanted]

    def pool(self, precision: str, pool: Pool) -> Run:
        """One pass of a pool; oneDNN's gradient of maxima needs the forward pass in the graph, once per chain."""
        raw, x = self.module.raw_ops, self.array((pool.n, pool.h, pool.w, pool.c), precision)
        options = {"ksize": (1, pool.r, pool.s, 1), "strides": (1, *pool.stride, 1), "padding": pool.padding}
        if pool.direction == "forward":
            return (
                (lambda: raw.MaxPool(input=x, **options)) if pool.maxima else (lambda: raw.AvgPool(value=x, **options))
            )
        dy = self.array((pool.n, pool.p, pool.q, pool.c), precision)
        if not pool.maxima:
            return lambda: raw.AvgPoolGrad(orig_input_shape=x.shape, grad=dy, **options)
        graph = self.module.compat.v1.get_default_graph
        forward = functools.lru_cache(maxsize=1)(lambda graph: raw.MaxPool(input=x, **options))
        gradient = lambda: raw.MaxPoolGrad(orig_input=x, orig_output=forward(graph()), grad=dy, **options)  # noqa: E731
        return _ChainedCall([gradient], CHAIN_LENGTHS[1:])  # their time includes one forward pass

    def cast(self, precision: str, shape: Sequence[int]) -> Run:
        return functools.partial(self.module.cast, self.array(shape, "fp32"), DTYPE[precision])

    def call(self, kernel: str, arrays: Sequence[Any]) -> Run:
        if kernel == "add" and math.prod(arrays[0].shape) > 1:
            return self.sum_in_place(*arrays)
        op, composed = self.ops()[kernel], ("gelu", "layer_norm", *FORMULAS)
        if kernel not in composed:
            return functools.partial(op, *arrays)
        compiled = functools.partial(self.module.function(op, jit_compile=True), *arrays)
        return _ChainedCall([compiled], CHAIN_LENGTHS[:-1])  # XLA compiles long chains slowly

    def sum_in_place(self, x: Any, y: Any) -> Run:
        """A sum in place, as most sums of a step; out of place it takes nearly twice as long on a processor.

        A processor reads memory before it overwrites it.
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
