"""What is to be timed for each row of shapes.csv."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any, NamedTuple

from estimator.collect.bench.library import Library
from estimator.collect.bench.operators import DIRECTIONS, KERNELS, STAND_INS
from estimator.collect.bench.shapes import MOST_SIZE, Shape
from estimator.collect.bench.types import CAST, ITEMSIZE, LAUNCH, Conv, FaultError, Kernel, LeftOutError, Pool, Row, Run

PASSES = ("forward", "grad_input", "grad_weights", "backward")
POOLS = [name for name, kernel in KERNELS.items() if kernel.op_class == "pooling"]
CHANNEL_STAND_INS = {kernel.op_class: name for name, kernel in reversed(KERNELS.items()) if kernel.along == "channels"}
WIDTH = 1024  # elements of a row, and channels, where a shape states none


class Job(NamedTuple):
    """What is to be timed for a row."""

    columns: Row  # what names it in the table written
    work: float  # FLOP of a matrix product or convolution, else bytes moved
    size: float  # bytes of all its arrays
    reads: float  # bytes that one call reads
    caches: tuple[str, ...]  # each state of the cache to time it in; "" where it is not stated
    build: Callable[[Library], Run]


Maker = Callable[[Shape, str, str], Job]


def make_job(shape: Shape, ranks: int = 0, available: Collection[str] = KERNELS) -> Job:
    """What is to be timed for one row by a library that has the kernels ``available``.

    Raises FaultError; LeftOutError where nothing here times it.
    """
    kind, precision = shape.text("op_class"), shape.text("precision")
    named = {"operator": shape.text("operator")} if shape.text("operator") else {}
    if kind == "collective" and ranks and shape.number("ranks", ranks) == ranks:
        size = shape.number("bytes")
        columns: Row = {"op_class": kind, **named, "kernel": "all_reduce", "precision": "fp32"}
        columns |= {"ranks": ranks, "bytes": size}
        return Job(columns, size, size, size, (), lambda library: lambda: None)
    stream = functools.partial(_stream, available=available)
    makers: dict[str, Maker] = {
        **dict.fromkeys(STAND_INS, stream), "gemm": _gemm, "convolution": _convolution, "pooling": _pooling,
    }  # fmt: skip
    maker = makers.get(kind)
    if maker is None:
        raise LeftOutError(f"{kind or 'a row without op_class'} is not measured here")
    if precision not in ITEMSIZE:
        raise LeftOutError(f"the precision {precision or '(none)'} is not measured here")
    job = maker(shape, kind, precision)
    if job.size >= MOST_SIZE:
        raise FaultError(f"{shape.where}: needs {job.size:.3g} B, more than any memory holds; check the sizes")
    sums = {"accumulate": "fp32"} if maker in (_gemm, _convolution) and precision in ("tf32", "bf16", "fp16") else {}
    return job._replace(columns={"op_class": kind, **named, "precision": precision, **job.columns, **sums})


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
    """The state of the cache that a row states: cold, warm or nothing. Raises FaultError."""
    return shape.choice("cache", ("cold", "warm"))


def _call(op: str, *arguments: Any) -> Run:
    """The op of a library, which is the last argument."""
    return getattr(arguments[-1], op)(*arguments[:-1])  # type: ignore[no-any-return]


def _convolution(shape: Shape, kind: str, precision: str) -> Job:
    """n images of c channels and h × w points, k kernels of r × s; p × q points come out."""
    n, c, h, w, k, r, s = (shape.number(f"conv_{name}") for name in "nchwkrs")
    if shape.number("conv_d", 1) > 1 or shape.number("conv_t", 1) > 1:
        raise LeftOutError("a 3D convolution is not measured here")
    pairs = [tuple(shape.number(f"{name}_{axis}", default, default) for axis in "hw")
             for name, default in (("stride", 1), ("pad", 0), ("dilation", 1))]  # fmt: skip
    (stride, pad, dilation), groups, direction = pairs, shape.number("groups", 1), _pass(shape, PASSES)
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
    conv = Conv(n, c, h, w, k, r, s, stride, pad, dilation, groups, direction)
    flop = (2 if direction == "backward" else 1) * 2.0 * n * k * p * q * c / groups * r * s
    image, kernels, output = n * c * h * w, k * c / groups * r * s, n * k * p * q
    read = {"forward": image + kernels, "grad_input": kernels + output, "grad_weights": image + output}
    reads = ITEMSIZE[precision] * read.get(direction, image + kernels + output)
    size = 2 * ITEMSIZE[precision] * (image + kernels + output)
    columns.update({"groups": groups, "pass": direction})
    run = functools.partial(_call, "convolution", precision, conv)
    return Job(columns, flop, size, reads, (_cache(shape),), run)


def _pooling(shape: Shape, kind: str, precision: str) -> Job:
    """The largest or the mean of each window of r × s, over n images of c channels; p × q points come out."""
    operator = shape.text("operator")
    own = operator if operator in POOLS else STAND_INS.get(operator, STAND_INS[kind])
    kernel, direction = shape.text("kernel", own), _pass(shape, PASSES[:2])
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
    bytes_ = moved if kernel == "avg_pool" or direction == "forward" else 2 * moved
    columns = {"kernel": kernel, **stated, **strides, "pass": direction, "bytes": bytes_}
    columns["flop"] = n * c * h * w * KERNELS[kernel].flop_per_element
    pool = Pool(kernel == POOLS[0], n, c, h, w, r, s, p, q, (down, right), padding, direction)
    return Job(columns, bytes_, 2 * moved, moved, ("",), functools.partial(_call, "pool", precision, pool))


def _pass(shape: Shape, passes: Sequence[str]) -> str:
    """The pass that a row states, else its operator's, else forward. Raises FaultError."""
    own = DIRECTIONS.get(shape.text("operator"), "")
    return shape.choice("pass", passes, own if own in passes else passes[0])


def _kernel_of(shape: Shape, kind: str, precision: str, available: Collection[str]) -> str:
    """The kernel that a row names, else its operator's own or what stands in for that where the library has one, else
    what stands in for its class.

    Where the channels are known, and no image, what stands in for the class goes along them; elsewhere no kernel does,
    unless the row names it. Raises FaultError.
    """
    channels = bool(shape.text("conv_c")) and not shape.text("conv_n")
    known = [name for name, kernel in KERNELS.items() if kernel.op_class == kind]
    stand_in = CHANNEL_STAND_INS.get(kind, STAND_INS[kind]) if channels else STAND_INS[kind]
    possible = [name for name in known if channels or KERNELS[name].along != "channels"]
    if ITEMSIZE[precision] >= ITEMSIZE["fp32"]:
        possible = [name for name in possible if name != CAST]
    operator = shape.text("operator")
    own = (name for name in (operator, STAND_INS.get(operator, "")) if name in possible and name in available)
    default = next((name for name in own if name != STAND_INS[kind]), stand_in)
    return shape.choice("kernel", known or [stand_in], default)


def _stream(shape: Shape, kind: str, precision: str, available: Collection[str]) -> Job:
    """A memory-bound op of so many bytes."""
    name = _kernel_of(shape, kind, precision, available)
    if name == CAST:
        return _cast(shape, precision)
    kernel = KERNELS[name]
    per_element = (kernel.reads + kernel.writes) * ITEMSIZE[precision]
    sizes = (1,) if name == LAUNCH else _sizes(shape, kernel, max(1, shape.number("bytes", least=0) // per_element))
    elements, asked = math.prod(sizes), _cache(shape)
    caches = ("warm",) if name == LAUNCH else (asked,) if asked else ("cold", "warm")
    columns: Row = {"kernel": name, "bytes": elements * per_element, "flop": elements * kernel.flop_per_element}
    columns |= {"conv_c": sizes[-1]} if kernel.along == "channels" else {}
    columns |= {"row_length": sizes[-1]} if kernel.along == "rows" else {}
    run = functools.partial(_call, "stream", "add" if name == LAUNCH else name, precision, sizes)
    moved, read = elements * per_element, elements * kernel.reads * ITEMSIZE[precision]
    return Job(columns, moved, moved, read, caches, run)


def _sizes(shape: Shape, kernel: Kernel, elements: int) -> tuple[int, ...]:
    """Sizes of arrays of about so many elements: whole rows where the kernel goes along rows or channels, of these two
    at least, as in one row no number serves twice.
    """
    if kernel.along == "channels":
        channels = shape.number("conv_c", WIDTH)
        return max(2, round(elements / channels)), channels
    if kernel.along == "rows":
        length = min(elements, shape.number("row_length", WIDTH))
        return max(1, round(elements / length)), length
    return (elements,)


def _cast(shape: Shape, precision: str) -> Job:
    """A cast from fp32, of so many bytes read and written."""
    kernel = KERNELS[CAST]
    read, written = kernel.reads * ITEMSIZE["fp32"], kernel.writes * ITEMSIZE[precision]
    if ITEMSIZE[precision] >= ITEMSIZE["fp32"]:
        raise LeftOutError(f"a cast from fp32 to {precision} is not measured here")
    size, asked = max(1, shape.number("bytes", least=0) // (read + written)), _cache(shape)
    moved = size * (read + written)
    run = functools.partial(_call, "cast", precision, (size,))
    columns = {"kernel": CAST, "bytes": moved, "flop": size * kernel.flop_per_element}
    return Job(columns, moved, moved, size * read, (asked,) if asked else ("cold", "warm"), run)


def make_jobs(shapes: Iterable[Shape], ranks: int = 0, available: Collection[str] = KERNELS) -> list[Job | str]:
    """What is to be timed for each row, or why nothing is. Raises FaultError."""
    jobs: list[Job | str] = []
    for shape in shapes:
        try:
            jobs.append(make_job(shape, ranks, available))
        except LeftOutError as reason:
            jobs.append(str(reason))
    return jobs
