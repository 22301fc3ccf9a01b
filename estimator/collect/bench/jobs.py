"""Jobs: what to time for each row of shapes.csv."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any, NamedTuple

from estimator.collect.bench.library import Library
from estimator.collect.bench.operators import DIRECTIONS, KERNELS, STAND_INS
from estimator.collect.bench.shapes import MAX_SIZE, Shape
from estimator.collect.bench.types import CAST, ITEMSIZE, LAUNCH, Conv, FaultError, Kernel, LeftOutError, Pool, Row, Run

PASSES = ("forward", "grad_input", "grad_weights", "backward")
POOL_KERNELS = [name for name, kernel in KERNELS.items() if kernel.op_class == "pooling"]
CHANNEL_STAND_INS = {kernel.op_class: name for name, kernel in reversed(KERNELS.items()) if kernel.along == "channels"}
DEFAULT_LENGTH = 1024  # of a row, and number of channels, where a shape states none


class Job(NamedTuple):
    """What to time for a row."""

    columns: Row  # that describe it in the written table
    work: float  # FLOP of a matrix product or convolution, else bytes moved
    size: float  # bytes of all its arrays
    reads: float  # bytes that one call reads
    caches: tuple[str, ...]  # states of the cache to time it in; "": not stated
    build: Callable[[Library], Run]


Maker = Callable[[Shape, str, str], Job]


def make_job(shape: Shape, ranks: int = 0, available: Collection[str] = KERNELS) -> Job:
    """Make the job of one row, for a library with the kernels ``available``.

    Raises FaultError; LeftOutError where the row cannot be timed.
    """
    op_class, precision = shape.text("op_class"), shape.text("precision")
    operator_column = {"operator": shape.text("operator")} if shape.text("operator") else {}
    if op_class == "collective" and ranks and shape.number("ranks", ranks) == ranks:
        size = shape.number("bytes")
        columns: Row = {"op_class": op_class, **operator_column, "kernel": "all_reduce", "precision": "fp32"}
        columns |= {"ranks": ranks, "bytes": size}
        return Job(columns, size, size, size, (), lambda library: lambda: None)
    stream = functools.partial(_stream, available=available)
    makers: dict[str, Maker] = {
        **dict.fromkeys(STAND_INS, stream), "gemm": _gemm, "convolution": _convolution, "pooling": _pooling,
    }  # fmt: skip
    maker = makers.get(op_class)
    if maker is None:
        raise LeftOutError(f"{op_class or 'a row without op_class'} is not measured here")
    if precision not in ITEMSIZE:
        raise LeftOutError(f"the precision {precision or '(none)'} is not measured here")
    job = maker(shape, op_class, precision)
    if job.size >= MAX_SIZE:
        raise FaultError(f"{shape.where}: needs {job.size:.3g} B, more than any memory holds; check the sizes")
    accumulate = (
        {"accumulate": "fp32"} if maker in (_gemm, _convolution) and precision in ("tf32", "bf16", "fp16") else {}
    )
    return job._replace(
        columns={"op_class": op_class, **operator_column, "precision": precision, **job.columns, **accumulate}
    )


def _gemm(shape: Shape, op_class: str, precision: str) -> Job:
    """C[m,n] = A[m,k]·B[k,n], ``batch`` times; t: stored transposed."""
    batch, m, n, k = shape.number("batch", 1), shape.number("m"), shape.number("n"), shape.number("k")
    trans_a, trans_b = (shape.choice(name, "nt", "n") for name in ("trans_a", "trans_b"))
    batch_dimension = (batch,) if batch > 1 else ()
    a = (*batch_dimension, *((k, m) if trans_a == "t" else (m, k)))
    b = (*batch_dimension, *((n, k) if trans_b == "t" else (k, n)))
    columns = {"batch": batch, "m": m, "n": n, "k": k, "trans_a": trans_a, "trans_b": trans_b}
    reads, writes = (ITEMSIZE[precision] * batch * elements for elements in (m * k + k * n, m * n))
    run = functools.partial(_call, "gemm", precision, a, b, trans_a == "t", trans_b == "t")
    return Job(columns, 2.0 * batch * m * n * k, reads + writes, reads, (_cache(shape),), run)


def _cache(shape: Shape) -> str:
    """The cache state of a row: cold, warm or empty. Raises FaultError."""
    return shape.choice("cache", ("cold", "warm"))


def _call(op: str, *arguments: Any) -> Run:
    """Call an op of a library, which is the last argument."""
    return getattr(arguments[-1], op)(*arguments[:-1])  # type: ignore[no-any-return]


def _convolution(shape: Shape, op_class: str, precision: str) -> Job:
    """n images of c channels and h × w points, k kernels of r × s, outputs of p × q points."""
    n, c, h, w, k, r, s = (shape.number(f"conv_{name}") for name in "nchwkrs")
    if shape.number("conv_d", 1) > 1 or shape.number("conv_t", 1) > 1:
        raise LeftOutError("a 3D convolution is not measured here")
    stride, pad, dilation = (_pair(shape, *setting) for setting in (("stride", 1), ("pad", 0), ("dilation", 1)))
    groups, direction = shape.number("groups", 1), _pass(shape, PASSES)
    if c % groups or k % groups:
        raise FaultError(f"{shape.where}: {groups} groups do not divide {c} channels and {k} kernels; check groups")
    columns: Row = {"conv_n": n, "conv_c": c, "conv_h": h, "conv_w": w, "conv_k": k, "conv_r": r, "conv_s": s}
    for name, pair in (("stride", stride), ("pad", pad), ("dilation", dilation)):
        columns.update({f"{name}_h": pair[0], f"{name}_w": pair[1]})
    extent = [dilation[0] * (r - 1) + 1, dilation[1] * (s - 1) + 1]
    unpadded = [(size + 2 * pad[i] - extent[i]) // stride[i] + 1 for i, size in enumerate((h, w))]
    p, q = (shape.number(f"conv_{name}", unpadded[i], -MAX_SIZE) for i, name in enumerate("pq"))
    if min(p, q) < 1:
        raise FaultError(f"{shape.where}: the kernel {r}x{s} does not fit the image {h}x{w}; check the sizes")
    if [p, q] != unpadded:  # padding differs by side: timed on a padded image
        h, w, pad = (p - 1) * stride[0] + extent[0], (q - 1) * stride[1] + extent[1], (0, 0)
        columns.update(conv_p=p, conv_q=q, padding=f"image {h}x{w}, no padding")
    conv = Conv(n, c, h, w, k, r, s, stride, pad, dilation, groups, direction)
    flop = (2 if direction == "backward" else 1) * 2.0 * n * k * p * q * c / groups * r * s
    all_elements, elements_read = _elements(conv, p * q)
    size, reads = 2 * ITEMSIZE[precision] * all_elements, ITEMSIZE[precision] * elements_read
    columns.update({"groups": groups, "pass": direction})
    run = functools.partial(_call, "convolution", precision, conv)
    return Job(columns, flop, size, reads, (_cache(shape),), run)


def _pair(shape: Shape, name: str, default: int) -> tuple[int, int]:
    """A setting of a convolution down and across the image."""
    return shape.number(f"{name}_h", default, default), shape.number(f"{name}_w", default, default)


def _elements(conv: Conv, points: int) -> tuple[float, float]:
    """Elements of all arrays of a convolution with so many points of output, and of those that its pass reads."""
    image, output = conv.n * conv.c * conv.h * conv.w, conv.n * conv.k * points
    kernels = conv.k * conv.c / conv.groups * conv.r * conv.s
    read = {"forward": image + kernels, "grad_input": kernels + output, "grad_weights": image + output}
    return image + kernels + output, read.get(conv.direction, image + kernels + output)


def _pooling(shape: Shape, op_class: str, precision: str) -> Job:
    """Maximum or mean over windows of r × s, of n images of c channels; outputs of p × q points."""
    operator = shape.text("operator")
    default = operator if operator in POOL_KERNELS else STAND_INS.get(operator, STAND_INS[op_class])
    kernel, direction = shape.text("kernel", default), _pass(shape, PASSES[:2])
    if kernel not in POOL_KERNELS or not all(shape.text(f"conv_{name}") for name in "nchwrspq"):
        raise LeftOutError("a pool of another kind or of unknown sizes is not measured here")
    stated = {f"conv_{name}": shape.number(f"conv_{name}") for name in "nchwrspq"}
    strides = {f"stride_{axis}": shape.number(f"stride_{axis}", 1) for axis in "hw"}
    n, c, h, w, r, s, p, q = stated.values()
    down, right = strides.values()
    outputs = {"VALID": ((h - r) // down + 1, (w - s) // right + 1), "SAME": (-(-h // down), -(-w // right))}
    padding = next((name for name, output in outputs.items() if output == (p, q)), None)
    if padding is None:
        raise LeftOutError(f"a pool of {h}x{w} to {p}x{q} is not measured here")
    bytes_moved = ITEMSIZE[precision] * (n * c * h * w + n * c * p * q)
    bytes_ = bytes_moved if kernel == "avg_pool" or direction == "forward" else 2 * bytes_moved
    columns = {"kernel": kernel, **stated, **strides, "pass": direction, "bytes": bytes_}
    columns["flop"] = n * c * h * w * KERNELS[kernel].flop_per_element
    pool = Pool(kernel == POOL_KERNELS[0], n, c, h, w, r, s, p, q, (down, right), padding, direction)
    return Job(columns, bytes_, 2 * bytes_moved, bytes_moved, ("",), functools.partial(_call, "pool", precision, pool))


def _pass(shape: Shape, passes: Sequence[str]) -> str:
    """The pass of a row, else that of its operator, else forward. Raises FaultError."""
    default = DIRECTIONS.get(shape.text("operator"), "")
    return shape.choice("pass", passes, default if default in passes else passes[0])


def _choose_kernel(shape: Shape, op_class: str, precision: str, available: Collection[str]) -> str:
    """Choose the kernel of a row: the named one, else that of its operator or its stand-in, else that of its class.

    The operator's kernel counts only where the library has it. With known channels and no image, the class's kernel
    is the one along channels; else a kernel along channels is used only where it is named. Raises FaultError.
    """
    has_channels = bool(shape.text("conv_c")) and not shape.text("conv_n")
    kernels_of_class = [name for name, kernel in KERNELS.items() if kernel.op_class == op_class]
    stand_in = CHANNEL_STAND_INS.get(op_class, STAND_INS[op_class]) if has_channels else STAND_INS[op_class]
    candidates = [name for name in kernels_of_class if has_channels or KERNELS[name].along != "channels"]
    if ITEMSIZE[precision] >= ITEMSIZE["fp32"]:
        candidates = [name for name in candidates if name != CAST]
    operator = shape.text("operator")
    own_kernels = (name for name in (operator, STAND_INS.get(operator, "")) if name in candidates and name in available)
    default = next((name for name in own_kernels if name != STAND_INS[op_class]), stand_in)
    return shape.choice("kernel", kernels_of_class or [stand_in], default)


def _stream(shape: Shape, op_class: str, precision: str, available: Collection[str]) -> Job:
    """A memory-bound op of the row's bytes."""
    name = _choose_kernel(shape, op_class, precision, available)
    if name == CAST:
        return _cast(shape, precision)
    kernel = KERNELS[name]
    per_element = (kernel.reads + kernel.writes) * ITEMSIZE[precision]
    sizes = (1,) if name == LAUNCH else _sizes(shape, kernel, max(1, shape.number("bytes", least=0) // per_element))
    elements, cache = math.prod(sizes), _cache(shape)
    caches = ("warm",) if name == LAUNCH else (cache,) if cache else ("cold", "warm")
    columns: Row = {"kernel": name, "bytes": elements * per_element, "flop": elements * kernel.flop_per_element}
    columns |= {"conv_c": sizes[-1]} if kernel.along == "channels" else {}
    columns |= {"row_length": sizes[-1]} if kernel.along == "rows" else {}
    run = functools.partial(_call, "stream", "add" if name == LAUNCH else name, precision, sizes)
    bytes_moved, bytes_read = elements * per_element, elements * kernel.reads * ITEMSIZE[precision]
    return Job(columns, bytes_moved, bytes_moved, bytes_read, caches, run)


def _sizes(shape: Shape, kernel: Kernel, elements: int) -> tuple[int, ...]:
    """Array sizes of about so many elements: whole rows for kernels along rows or channels.

    Along channels there are at least two rows, so that values per channel are reused.
    """
    if kernel.along == "channels":
        channels = shape.number("conv_c", DEFAULT_LENGTH)
        return max(2, round(elements / channels)), channels
    if kernel.along == "rows":
        length = min(elements, shape.number("row_length", DEFAULT_LENGTH))
        return max(1, round(elements / length)), length
    return (elements,)


def _cast(shape: Shape, precision: str) -> Job:
    """A cast from fp32, of the row's bytes."""
    kernel = KERNELS[CAST]
    read, written = kernel.reads * ITEMSIZE["fp32"], kernel.writes * ITEMSIZE[precision]
    if ITEMSIZE[precision] >= ITEMSIZE["fp32"]:
        raise LeftOutError(f"a cast from fp32 to {precision} is not measured here")
    size, cache = max(1, shape.number("bytes", least=0) // (read + written)), _cache(shape)
    bytes_moved = size * (read + written)
    run = functools.partial(_call, "cast", precision, (size,))
    columns = {"kernel": CAST, "bytes": bytes_moved, "flop": size * kernel.flop_per_element}
    return Job(columns, bytes_moved, bytes_moved, size * read, (cache,) if cache else ("cold", "warm"), run)


def make_jobs(shapes: Iterable[Shape], ranks: int = 0, available: Collection[str] = KERNELS) -> list[Job | str]:
    """Make the job of each row, or the reason why it has none. Raises FaultError."""
    jobs: list[Job | str] = []
    for shape in shapes:
        try:
            jobs.append(make_job(shape, ranks, available))
        except LeftOutError as reason:
            jobs.append(str(reason))
    return jobs
