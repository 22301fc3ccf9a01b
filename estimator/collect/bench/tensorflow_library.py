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

LONG_S = 8e-3  # of a call, to which what an emptied cache holds of its code, and sleeping threads, add little
CHAINS_S = 10e-3  # that chains side by side last at least, which begin and end one by one
LENGTHS = (1, 4, 16, 64)  # calls in a chain of TensorFlow: of long ones to very short ones
MOST_IN_TURN = 2048  # the same where each call has arrays of its own: a cache is emptied for so many small ones


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
    sees_disturbance = False  # those that call, those for ops and those for their parts put each other off

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

    def prepare(self, build: Callable[[Library], Run], copies: int) -> Run:
        runs = [build(self) for _ in range(max(1, min(self.chains, copies)))]
        return _Chained(runs, getattr(runs[0], "lengths", LENGTHS))

    def prepare_cold(self, build: Callable[[Library], Run], copies: int, apart: int) -> Run | None:
        length = math.ceil(apart / self.chains)
        if self.gpu or length * self.chains > copies:
            return None
        first = build(self)
        lengths = getattr(first, "lengths", LENGTHS)
        if length > (MOST_IN_TURN if lengths == LENGTHS else lengths[-1]):
            return None
        if min(self.time_calls(first, 1, None)[0] for _ in range(2)) > LONG_S:
            return None
        return _Chained([first, *(build(self) for _ in range(length * self.chains - 1))], (length,))

    def time_calls(self, run: Run, count: int, flush: Run | None) -> Sample:
        """In a graph, as training runs ops: to call one by itself takes longer than many an op."""
        lengths = getattr(run, "lengths", LENGTHS)
        enough = (length for length in lengths if length * self.chains >= count)
        length = next(enough, lengths[-1])  # each is traced anew, which takes long
        calls = length * self.chains
        graphs = math.ceil(count / calls)
        spent, other = super().time_calls(self.graph(run, length), graphs, flush)
        return spent * count / (graphs * calls), other and self.sees_disturbance

    def graph_of(self, run: Run, length: int) -> Run:
        """Chains of so many calls, one after the other, as one function. On a processor as many chains as threads stand
        side by side, as ops in a step do: a thread that sleeps takes longer to wake than many an op.
        """
        tf, runs = self.module, getattr(run, "runs", [run])

        def chain(number: int) -> Any:
            output: Any = tf.constant(number)  # equal chains would be run once
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
        if c.direction == "forward":
            return lambda: raw.Conv2D(input=x, filter=w, **how)
        how["out_backprop"] = raw.Conv2D(input=x, filter=w, **how)
        passes: dict[str, Run] = {
            "grad_input": lambda: raw.Conv2DBackpropInput(input_sizes=image, filter=w, **how),
            "grad_weights": lambda: raw.Conv2DBackpropFilter(input=x, filter_sizes=kernel, **how),
        }
        wanted = [run for name, run in passes.items() if c.direction in (name, "backward")]
        return lambda: [run() for run in wanted]

    def pool(self, precision: str, p: Pool) -> Run:
        """oneDNN has a kernel for a gradient of maxima only where the forward pass is in the graph: once in a chain."""
        raw, x = self.module.raw_ops, self.array((p.n, p.h, p.w, p.c), precision)
        how = {"ksize": (1, p.r, p.s, 1), "strides": (1, *p.stride, 1), "padding": p.padding}
        if p.direction == "forward":
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
