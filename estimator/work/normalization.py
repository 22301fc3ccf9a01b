"""Batch normalizations that ran op by op on a processor, as an accelerator's library runs them: WORK → WORK.

Keras makes the layer of some twenty ops, of which eight read or write the whole image. A library needs one pass for the
statistics and one for the result: forward it reads the image twice and writes it once; backward it reads image and
gradient twice and writes the gradient once (NVIDIA, cuDNN API: cudnnBatchNormalizationForwardTraining and
cudnnBatchNormalizationBackward; Ioffe and Szegedy, ICML 2015, section 3, for what each pass computes). The ops of these
passes stay, the others take no time.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from estimator.core import units
from estimator.core.notes import Note
from estimator.core.schema import HOST_CLASSES
from estimator.core.types import Workload
from estimator.work import shapes
from estimator.work.operators import is_gradient_sum, is_rewritten_sum, name_in_library, normalization_layers
from estimator.work.transformed import Transformed

PASSES = ["layer", "phase", "placement", "rank"]
STATISTICS = {"forward": 1, "backward": 2}  # sums over the image: of itself; of its gradient, alone and times the image
PATHS = 3  # by which an image reaches its normalization: as it is, by its mean, and by its variance
Shape = shapes.Shape


@dataclass(frozen=True)
class _ImageOp:
    """An op's largest tensor, its first result's elements, and its operands."""

    image: Shape
    result: int
    operands: tuple[Shape | None, ...]

    @property
    def per_channel(self) -> bool:
        """Whether the op leaves one number for each channel of the image."""
        return self.result in self.channels and self.result < math.prod(self.image)

    @property
    def channels(self) -> tuple[int, int]:
        """The channels of the image, first and last."""
        return self.image[1], self.image[-1]


def merge_normalizations(
    work: pd.DataFrame, workload: Workload, profiled: pd.DataFrame | None = None, *, by_library: bool = True
) -> Transformed:
    """WORK whose batch normalizations of several ops have the calls and the traffic of a library's passes.

    WORK itself unless they run ``by_library``. The ops' times stay the source's.

    Args:
        profiled: The same rows at the profile's batch, whose shapes tell the layers' ops: at a batch of 1, an image has
            the size of its channels. WORK itself where it is at that batch.
    """
    rows = work if profiled is None else profiled
    layer = normalization_layers(rows)
    if not by_library or layer.isna().all():
        return Transformed(work, changed=False)
    merged, left = _shares(rows, workload, layer)
    return _merge(work, merged, left) if merged.any() else Transformed(work, changed=False)


def _shares(work: pd.DataFrame, workload: Workload, layer: pd.Series) -> tuple[pd.Series, pd.Series]:
    """The rows of layers that a library merges, and the share of its traffic that is left of each row."""
    step_pass = work.assign(layer=layer).groupby(PASSES, dropna=False).ngroup().where(layer.notna())
    ops = _image_ops(work, layer.notna() | is_gradient_sum(work) | is_rewritten_sum(work), workload.batch_size)
    passes = _library_passes(work, ops, step_pass)
    if not passes:
        return pd.Series(False, index=work.index), pd.Series(1.0, index=work.index)
    applied = [rows[-1] for rows in passes]
    merged = step_pass.isin(step_pass.iloc[applied])
    left = np.where(merged, 0.0, 1.0)
    left[[row for rows in passes for row in rows]] = 1.0
    for row, share in _gradient_sums(work, ops, applied).items():
        left[row] = share
    left[_moved_shifts(work, ops)] = 0.0
    left[work["op_class"].isin(HOST_CLASSES)] = 1.0
    return merged, pd.Series(left, index=work.index)


def _merge(work: pd.DataFrame, merged: pd.Series, left: pd.Series) -> Transformed:
    """WORK with the share of each row's traffic that is ``left``; of the ``merged`` layers' rows with other names."""
    ran = work["bytes"] > 0
    scaled = {name: work[name] * left for name in ("bytes", "flop")}
    out = work.assign(**scaled, calls=work["calls"].mask(left == 0, 0.0))
    out["op"] = work["op"].mask(merged, name_in_library(work["op"]))
    dropped, kept = int((ran & (left == 0)).sum()), int((ran & merged & (left > 0)).sum())
    saved = units.show(float((work["bytes"] - out["bytes"]).sum()), "B", 4)
    text = (
        f"{dropped} ops of batch normalizations become {kept} kernels of the target's library: "
        f"{saved} less traffic a step"
    )
    return Transformed(out, changed=True, notes=(Note("normalization-merged", text),))


def _image_ops(work: pd.DataFrame, rows: pd.Series, batch: int | None) -> dict[int, _ImageOp]:
    """Of these rows, those on an image or a smaller tensor, in the order of the table."""
    rows = rows & (work["work_source"] == "shapes") & (work["bytes"] > 0)
    parsed = shapes.parse_ops(work, batch)
    ops = parsed.read_each(rows, _image_op, "normalization")
    chosen, codes = np.flatnonzero(rows.to_numpy(dtype=bool)), np.asarray(parsed.codes)
    return {row: ops[code] for row, code in zip(chosen.tolist(), codes[chosen].tolist(), strict=True) if code in ops}


def _image_op(op: shapes.Op) -> _ImageOp | None:
    """None where no tensor has an axis of channels beside another."""
    image = max((shape for shape in (*op.operands, *op.outputs) if shape), key=math.prod, default=())
    result = math.prod(op.outputs[0]) if op.outputs and op.outputs[0] else 0
    return _ImageOp(image, result, op.operands) if len(image) > 1 else None


def _library_passes(work: pd.DataFrame, ops: Mapping[int, _ImageOp], step_pass: pd.Series) -> list[list[int]]:
    """The rows that stand for a library's kernels, of each pass of each layer: sums, and the op that moves most."""
    numbers = step_pass.to_numpy(dtype=float, na_value=np.nan)
    rows_of_pass: dict[float, list[int]] = {}
    for row in ops:
        if not np.isnan(numbers[row]):
            rows_of_pass.setdefault(numbers[row], []).append(row)
    columns = [work[name].tolist() for name in ("phase", "op_class", "bytes")]  # of many passes, each of few rows
    return [kept for rows in rows_of_pass.values() if (kept := _kernels(rows, ops, *columns))]


def _kernels(
    rows: Sequence[int],
    ops: Mapping[int, _ImageOp],
    phases: Sequence[object],
    op_classes: Sequence[object],
    bytes_: Sequence[float],
) -> list[int]:
    """The rows of one pass that stay, the op that moves most last; none where the layer sums otherwise."""
    largest = max(math.prod(ops[row].image) for row in rows)
    of_image = [row for row in rows if math.prod(ops[row].image) == largest]
    sums, computed = ([row for row in of_image if op_classes[row] == name] for name in ("reduction", "elementwise"))
    statistics = STATISTICS.get(str(phases[of_image[0]]))
    if statistics is None or not computed or not all(ops[row].per_channel for row in sums):
        return []
    moves_most = max(computed, key=lambda row: (bytes_[row], row))
    return [*sums[:statistics], moves_most]


def _gradient_sums(work: pd.DataFrame, ops: Mapping[int, _ImageOp], applied: Sequence[int]) -> dict[int, float]:
    """The share that is left of each sum of gradients that follows a normalization: its three are one in the library.

    No profiler tells which op reads which: the next sum of the image's shape is taken to be the layer's.
    """
    backward = [row for row in applied if work["phase"].iloc[row] == "backward"]
    waiting: Counter[Shape] = Counter()
    left = {}
    for row in sorted({*backward, *np.flatnonzero(is_gradient_sum(work))} & ops.keys()):
        op = ops[row]
        terms = len(op.operands)
        layers = min(waiting[op.image], terms // PATHS)
        if row in backward:
            waiting[op.image] += 1
        elif layers and set(op.operands) == {op.image}:
            waiting[op.image] -= layers
            remaining = terms - layers * (PATHS - 1)
            left[row] = (remaining + 1) / (terms + 1) if remaining > 1 else 0.0
    return left


def _moved_shifts(work: pd.DataFrame, ops: Mapping[int, _ImageOp]) -> list[int]:
    """The shifts of normalizations that a graph optimizer moved behind the sum of a residual block."""
    rows = np.flatnonzero(is_rewritten_sum(work)).tolist()
    return [row for row in rows if row in ops and _adds_to_channels(ops[row])]


def _adds_to_channels(op: _ImageOp) -> bool:
    """Whether the op adds one number for each channel."""
    smallest = min(math.prod(shape) if shape else 0 for shape in op.operands)
    return smallest in op.channels and smallest < math.prod(op.image)
