"""What is measured: the shapes that tell peak, bandwidth and launch latency, a sweep in DeepBench's manner, its own.

Sizes rise within each part, so that a slow machine leaves out the largest ones alone; what was asked for comes first.
Sources of the shapes: DeepBench's training problems (baidu-research/DeepBench), ResNet-50, BERT base, P1B3.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from estimator.core.schema import SHAPES
from estimator.devices import load_device
from estimator.devices.measure.bench import KERNELS, LAUNCH, STANDS_FOR
from estimator.devices.measurements import load_measurements

if TYPE_CHECKING:
    import pandas as pd

Row = dict[str, Any]
SQUARES, QUICK_SQUARES = (256, 512, 1024, 2048, 4096, 8192, 16384), (256, 512, 1024, 2048)
BALANCE = 20.0  # FLOP of a product that last about as long as a byte of a stream
STREAMS = ("copy", "triad", "add")  # the ops that tell the bandwidth
LARGE, QUICK_LARGE = (192e6, 768e6, 3e9), (192e6,)  # bytes, several times most last-level caches
SMALL, QUICK_SMALL = (64e3, 1e6, 16e6, 128e6), (1e6, 64e6)
THIN = (  # m, n, k: recurrent layers, speech, translation, transformers, P1B3
    (1760, 16, 1760), (1760, 128, 1760), (2560, 64, 2560), (2048, 32, 2048), (5124, 700, 2048), (35, 700, 2048),
    (5124, 1500, 2560), (3072, 128, 1024), (512, 24, 2816), (1000, 100, 29532), (29532, 1000, 100), (768, 512, 768),
    (3072, 512, 768), (768, 512, 3072), (4096, 128, 4096), (1, 1000, 4096),
)  # fmt: skip
ODD = ((1023, 1023, 1023), (1000, 999, 1001), (1025, 513, 257), (333, 777, 555))
BATCHED = ((12, 512, 512, 64), (12, 512, 64, 512), (64, 128, 128, 128), (256, 32, 32, 32))
TRANSPOSED = (512, 256, 1024)
GRID = tuple(itertools.product((64, 256, 1024), (64, 256, 1024), (64, 512, 4096)))  # m, n, k
CONVOLUTIONS = (  # images, channels, height, width, kernels, kernel size, stride, padding
    (8, 64, 56, 56, 64, 3, 1, 1), (8, 64, 56, 56, 256, 1, 1, 0), (8, 128, 28, 28, 128, 3, 1, 1),
    (8, 256, 14, 14, 256, 3, 1, 1), (8, 512, 7, 7, 512, 3, 1, 1), (8, 3, 224, 224, 64, 7, 2, 3),
    (8, 256, 56, 56, 512, 1, 2, 0), (4, 1, 161, 700, 32, 5, 2, 0), (16, 64, 224, 224, 64, 3, 1, 1),
)  # fmt: skip
PASSES = ("forward", "grad_input", "grad_weights")
MESSAGES = (4e3, 64e3, 1e6, 16e6, 64e6)  # bytes of an all-reduce
OF_A_SHAPE = [c.name for c in SHAPES.columns if c.name not in (
    "device", "time_s", "time_low_s", "time_high_s", "repeats", "library", "clock", "threads", "accumulate", "padding",
    "flag", "source",
)]  # fmt: skip


def anchors(precisions: Sequence[str], *, quick: bool = False) -> pd.DataFrame:
    """The shapes that tell launch latency, the peak of each precision, and the bandwidth."""
    squares = QUICK_SQUARES if quick else SQUARES
    largest = {"fp64": 1024} if quick else {}
    rows = [_gemm(p, size, size, size) for p in precisions for size in squares if size <= largest.get(p, size)]
    rows += [_stream(kernel, size, "cold") for size in (QUICK_LARGE if quick else LARGE) for kernel in STREAMS]
    launch = {"op_class": "elementwise", "precision": "fp32", "kernel": LAUNCH}
    return _table([launch, *sorted(rows, key=lambda row: row.get("bytes", 2 * row.get("m", 0) ** 3 / BALANCE))])


def default(precisions: Sequence[str], *, quick: bool = False, convolutions: bool = True) -> pd.DataFrame:
    """The sweep, its anchors first: nobody asked for one of its shapes, and they tell most."""
    import pandas as pd

    rest = _table(_quick(precisions, convolutions) if quick else _full(precisions, convolutions))
    return pd.concat([anchors(precisions, quick=quick), rest], ignore_index=True)


def with_anchors(
    asked: pd.DataFrame, precisions: Sequence[str] | None = None, ranks: int | None = None, *, quick: bool = False
) -> pd.DataFrame:
    """The shapes asked for, all-reduce over ``ranks``, and the anchors of the precisions asked for (and known)."""
    import pandas as pd

    wanted = dict.fromkeys(["fp32", *asked["precision"]])
    last = anchors([p for p in wanted if p in (precisions or wanted)], quick=quick)
    between = [collectives(ranks)] if ranks else []
    return pd.concat([asked, *between, last], ignore_index=True).drop_duplicates(ignore_index=True)


def _quick(precisions: Sequence[str], convolutions: bool) -> Iterator[Row]:
    yield from (_gemm(p, *ODD[3]) for p in precisions)
    yield from (_gemm("fp32", *shape) for shape in (*THIN[:2], THIN[5], THIN[9], THIN[10], *ODD[:2]))
    yield from (_gemm("fp32", m, n, k, batch) for batch, m, n, k in BATCHED[:1])
    yield from _transposed("fp32")
    yield from (_convolution("fp32", what, *CONVOLUTIONS[3]) for what in PASSES if convolutions)
    yield from (_stream(kernel, size) for size in QUICK_SMALL for kernel in KERNELS)


def _full(precisions: Sequence[str], convolutions: bool) -> Iterator[Row]:
    wide = [p for p in precisions if p != "fp64"]
    yield from (_gemm(p, *shape) for p in wide for shape in (*THIN, *ODD))
    yield from (_gemm(p, m, n, k, batch) for p in wide for batch, m, n, k in BATCHED)
    yield from itertools.chain.from_iterable(_transposed(p) for p in wide)
    yield from (_stream(kernel, size) for size in SMALL for kernel in KERNELS)
    shapes = CONVOLUTIONS if convolutions else ()
    yield from (_convolution(p, what, *shape) for p in wide for shape in shapes for what in PASSES)
    yield from (_gemm(p, *shape) for p in precisions for shape in GRID)


def collectives(ranks: int) -> pd.DataFrame:
    """All-reduce of messages of rising size over so many processes."""
    columns = {"op_class": "collective", "precision": "fp32", "ranks": ranks}
    return _table([{**columns, "bytes": int(size)} for size in MESSAGES])


def deepbench(device: str) -> pd.DataFrame:
    """The shapes of the DeepBench table that is shipped for a device, those of them that are measured here."""
    shapes = load_measurements(load_device(device))[OF_A_SHAPE]
    shapes = shapes[shapes["op_class"].isin(["gemm", "convolution", *STANDS_FOR])]
    return shapes.drop_duplicates(ignore_index=True)


def _gemm(precision: str, m: int, n: int, k: int, batch: int = 1, transposes: str = "nn") -> Row:
    sizes = {"batch": batch, "m": m, "n": n, "k": k}
    return {"op_class": "gemm", "precision": precision, **sizes, "trans_a": transposes[0], "trans_b": transposes[1]}


def _transposed(precision: str) -> Iterator[Row]:
    """All four transposes of one shape."""
    return (_gemm(precision, *TRANSPOSED, 1, a + b) for a in "nt" for b in "nt")


def _convolution(precision: str, what: str, *sizes: int) -> Row:
    n, c, h, w, k, r, stride, pad = sizes
    found = {"conv_n": n, "conv_c": c, "conv_h": h, "conv_w": w, "conv_k": k, "conv_r": r, "conv_s": r}
    found |= {"stride_h": stride, "stride_w": stride, "pad_h": pad, "pad_w": pad}
    return {"op_class": "convolution", "precision": precision, **found, "pass": what}


def _stream(kernel: str, size: float, cache: str = "") -> Row:
    """A memory-bound op of about so many bytes; where no cache is said, cold and warm are timed."""
    return {"op_class": KERNELS[kernel][0], "precision": "fp32", "kernel": kernel, "bytes": int(size), "cache": cache}


def _table(rows: Iterable[Row]) -> pd.DataFrame:
    import pandas as pd

    return SHAPES.conform(pd.DataFrame(list(rows)), "the sweep")[OF_A_SHAPE]
