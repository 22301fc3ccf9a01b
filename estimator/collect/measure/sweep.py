"""The shapes to measure: anchors for peak, bandwidth and launch latency, a sweep like DeepBench's, and DeepBench's own.

Sizes rise within each part, so that a slow machine leaves out only the largest; requested shapes come first.
Sources of the shapes: DeepBench's training problems (baidu-research/DeepBench), of which the calibration kit takes the
medoids of 30 clusters (k-means in octaves of m, n and k); ResNet-50, P1B3.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from estimator.core.library import names
from estimator.core.operators import CAST, LAUNCH, NARROW, class_of, operators, timed_streams, with_operators
from estimator.core.schema import SHAPES, UNPOOLED
from estimator.devices import load_device
from estimator.devices.measurements import load_measurements
from estimator.devices.specs.catalogue import MEASURED_FILES

if TYPE_CHECKING:
    import pandas as pd

Row = dict[str, Any]
SQUARES, QUICK_SQUARES = (256, 512, 1024, 2048, 4096, 8192, 16384), (256, 512, 1024, 2048)
FLOP_PER_BYTE = 20.0  # FLOP of a product that take about as long as a byte of a stream
STREAMS = ("copy", "triad", "add")  # the ops that measure bandwidth
LAUNCH_BYTES = 12  # two fp32 numbers read, one written
LARGE, QUICK_LARGE = (192e6, 768e6, 3e9), (192e6,)  # bytes, several times most last-level caches
SMALL, QUICK_SMALL = (64e3, 1e6, 16e6, 128e6), (1e6, 64e6)
PLAIN = (  # m, n, k: the calibration kit
    (7680, 32, 2560), (2048, 7133, 2048), (512, 8, 500000), (512, 48000, 2816), (2048, 128, 2048), (7680, 48000, 2560),
    (35, 8457, 2560), (5124, 9124, 2048), (1024, 16, 512), (2048, 32, 2048), (1024, 24000, 2048), (1024, 700, 512),
    (4608, 24000, 1536), (3072, 16, 1024), (4096, 64, 4096), (512, 24000, 2048), (7680, 16, 2560), (4096, 7133, 4096),
    (1024, 48000, 2048), (2048, 64, 2048), (2048, 16, 2048), (7680, 24000, 2560), (1024, 8, 500000), (512, 16, 512),
    (4608, 48000, 1536), (512, 32, 512), (3072, 64, 1024), (7680, 64, 2560), (512, 48000, 1530), (4096, 16, 4096),
)  # fmt: skip
QUICK_PLAIN = ((1760, 16, 1760), (1760, 128, 1760), (35, 700, 2048), (1000, 100, 29532), (29532, 1000, 100))
VECTOR_PRODUCT = (1, 1000, 4096)
UNALIGNED = ((1023, 1023, 1023), (1000, 999, 1001), (1025, 513, 257), (333, 777, 555))
BATCHED = (  # batch, m, n, k: the kit's batched products, of attention and of general sizes
    (64, 512, 512, 64), (64, 512, 64, 512), (320, 1024, 1024, 64), (48, 1024, 64, 1024), (500, 150, 150, 150),
    (200, 300, 300, 300), (100, 600, 600, 300), (800, 100, 100, 400), (128, 128, 256, 128), (32, 800, 400, 900),
)  # fmt: skip
QUICK_BATCHED = ((12, 512, 512, 64),)
TRANSPOSED_SHAPE = (512, 256, 1024)
GRID = tuple(itertools.product((64, 256, 1024), (64, 256, 1024), (64, 512, 4096)))  # m, n, k
CONVOLUTIONS = (  # images, channels, height, width, kernels, kernel size, stride, padding
    (8, 64, 56, 56, 64, 3, 1, 1), (8, 64, 56, 56, 256, 1, 1, 0), (8, 128, 28, 28, 128, 3, 1, 1),
    (8, 256, 14, 14, 256, 3, 1, 1), (8, 512, 7, 7, 512, 3, 1, 1), (8, 3, 224, 224, 64, 7, 2, 3),
    (8, 256, 56, 56, 512, 1, 2, 0), (4, 1, 161, 700, 32, 5, 2, 0), (16, 64, 224, 224, 64, 3, 1, 1),
)  # fmt: skip
PASSES = ("forward", "grad_input", "grad_weights")
MESSAGES = (4e3, 64e3, 1e6, 16e6, 64e6)  # bytes of an all-reduce
SHAPE_COLUMNS = [c.name for c in SHAPES.columns if c.name not in (
    "device", "time_s", "time_low_s", "time_high_s", "repeats", "library", "clock", "threads", "accumulate", "padding",
    "flag", "source",
)]  # fmt: skip


def anchors(precisions: Sequence[str], *, quick: bool = False) -> pd.DataFrame:
    """The shapes that measure launch latency, the peak of each precision, and bandwidth."""
    squares = QUICK_SQUARES if quick else SQUARES
    largest_size = {"fp64": 1024} if quick else {}
    rows = [
        _gemm(precision, size, size, size)
        for precision in precisions
        for size in squares
        if size <= largest_size.get(precision, size)
    ]
    rows += [_stream(kernel, size, "cold") for size in (QUICK_LARGE if quick else LARGE) for kernel in STREAMS]
    launch = {"op_class": "elementwise", "precision": "fp32", "kernel": LAUNCH, "bytes": LAUNCH_BYTES}
    return _table([launch, *sorted(rows, key=lambda row: row.get("bytes", 2 * row.get("m", 0) ** 3 / FLOP_PER_BYTE))])


def default(precisions: Sequence[str], *, quick: bool = False, convolutions: bool = True) -> pd.DataFrame:
    """The default sweep, anchors first, as they tell most."""
    import pandas as pd

    other_shapes = _table(_quick(precisions, convolutions) if quick else _full(precisions, convolutions))
    return pd.concat([anchors(precisions, quick=quick), other_shapes], ignore_index=True)


def with_anchors(
    shapes: pd.DataFrame, precisions: Sequence[str] | None = None, ranks: int | None = None, *, quick: bool = False
) -> pd.DataFrame:
    """The given shapes, then all-reduce over ``ranks``, then anchors of their precisions, as far as known."""
    import pandas as pd

    wanted_precisions = dict.fromkeys(["fp32", *shapes["precision"]])
    anchor_rows = anchors(
        [precision for precision in wanted_precisions if precision in (precisions or wanted_precisions)], quick=quick
    )
    all_reduce = [collectives(ranks)] if ranks else []
    return pd.concat([shapes, *all_reduce, anchor_rows], ignore_index=True).drop_duplicates(ignore_index=True)


def _quick(precisions: Sequence[str], convolutions: bool) -> Iterator[Row]:
    yield from (_gemm(precision, *UNALIGNED[3]) for precision in precisions)
    yield from (_gemm("fp32", *shape) for shape in (*QUICK_PLAIN, *UNALIGNED[:2]))
    yield from (_gemm("fp32", m, n, k, batch) for batch, m, n, k in QUICK_BATCHED)
    yield from _transposed("fp32")
    yield from (_convolution("fp32", direction, *CONVOLUTIONS[3]) for direction in PASSES if convolutions)
    yield from (
        _stream(kernel, size) for size in QUICK_SMALL for kernel in timed_streams() if _in_quick_sweep(kernel, size)
    )


def _in_quick_sweep(kernel: str, size: float) -> bool:
    """Whether a quick sweep times a kernel at a size; kernels along channels only at the smallest, to save time."""
    return operators()[kernel].along != "channels" or size == QUICK_SMALL[0]


def _full(precisions: Sequence[str], convolutions: bool) -> Iterator[Row]:
    without_fp64 = [precision for precision in precisions if precision != "fp64"]
    yield from (_gemm(precision, *shape) for precision in without_fp64 for shape in (VECTOR_PRODUCT, *UNALIGNED))
    yield from itertools.chain.from_iterable(_transposed(precision) for precision in without_fp64)
    yield from _kit(without_fp64)
    yield from (_stream(kernel, size) for size in SMALL for kernel in timed_streams())
    yield from (_cast(precision, size) for precision in precisions if precision in NARROW for size in SMALL)
    shapes = CONVOLUTIONS if convolutions else ()
    yield from (
        _convolution(precision, direction, *shape)
        for precision in without_fp64
        for shape in shapes
        for direction in PASSES
    )
    yield from (_gemm(precision, *shape) for precision in precisions for shape in GRID)


def _kit(precisions: Sequence[str]) -> Iterator[Row]:
    for precision in precisions:
        yield from (_gemm(precision, m, n, k, batch) for batch, m, n, k in sorted(BATCHED, key=math.prod))
        yield from (_gemm(precision, *shape) for shape in sorted(PLAIN, key=math.prod))


def calibration(precisions: Sequence[str]) -> pd.DataFrame:
    """The products that calibrate predictions from specifications: 30 plain and 10 batched in each precision.

    With the anchors they are the calibration kit.
    """
    return _table(_kit(precisions))


def collectives(ranks: int) -> pd.DataFrame:
    """All-reduce of messages of rising size over so many processes."""
    columns = {"op_class": "collective", "precision": "fp32", "ranks": ranks}
    return _table([{**columns, "bytes": int(size)} for size in MESSAGES])


def deepbench(device: str) -> pd.DataFrame:
    """The measurable shapes of the DeepBench table shipped for a device."""
    spec = load_device(device)
    shapes = load_measurements(spec, names("devices", MEASURED_FILES)[spec.name])[SHAPE_COLUMNS]  # not a framework's
    shapes = shapes[shapes["op_class"].isin(["gemm", "convolution", *UNPOOLED])]
    return shapes.drop_duplicates(ignore_index=True)


def _gemm(precision: str, m: int, n: int, k: int, batch: int = 1, transposes: str = "nn") -> Row:
    sizes = {"batch": batch, "m": m, "n": n, "k": k}
    return {"op_class": "gemm", "precision": precision, **sizes, "trans_a": transposes[0], "trans_b": transposes[1]}


def _transposed(precision: str) -> Iterator[Row]:
    """All four transposes of one shape."""
    return (_gemm(precision, *TRANSPOSED_SHAPE, 1, a + b) for a in "nt" for b in "nt")


def _convolution(precision: str, direction: str, *sizes: int) -> Row:
    n, c, h, w, k, r, stride, pad = sizes
    columns = {"conv_n": n, "conv_c": c, "conv_h": h, "conv_w": w, "conv_k": k, "conv_r": r, "conv_s": r}
    columns |= {"stride_h": stride, "stride_w": stride, "pad_h": pad, "pad_w": pad}
    return {"op_class": "convolution", "precision": precision, **columns, "pass": direction}


def _stream(kernel: str, size: float, cache: str = "") -> Row:
    """A memory-bound op of about ``size`` bytes; without a cache state, cold and warm are timed."""
    return {"op_class": class_of(kernel), "precision": "fp32", "kernel": kernel, "bytes": int(size), "cache": cache}


def _cast(precision: str, size: float) -> Row:
    return {"op_class": "elementwise", "precision": precision, "kernel": CAST, "bytes": int(size)}


def _table(rows: Iterable[Row]) -> pd.DataFrame:
    import pandas as pd

    return with_operators(SHAPES.conform(pd.DataFrame(list(rows)), "the sweep"))[SHAPE_COLUMNS]
