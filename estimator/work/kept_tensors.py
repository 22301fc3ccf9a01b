"""Tensors that the forward pass keeps for the backward pass, by what each operator's gradient reads.

For profiles that tell no flow of tensors. A kept operand is taken to be the last result of its size, so that a tensor
that one op keeps as its result and the next as its operand counts once. An operand that no op wrote is the batch of
data.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

import numpy as np
import pandas as pd

from estimator.core.types import ITEMSIZE, Floats, StepTensors, Workload
from estimator.work import shapes
from estimator.work.operators import is_variable
from estimator.work.tensors import FLAG_BYTES, in_phase, result_elements, written_itemsizes
from estimator.work.weights import takes_weights, updates

OPERAND, OPERANDS, RESULT, MASK = "operand", "operands", "result", "mask"
NOT_TENSORS = ("host", "collective")  # classes of ops that keep nothing
IMAGE = ("conv_n", "conv_k", "conv_z", "conv_p", "conv_q")


@dataclass(frozen=True)
class _Read:
    """What one forward op reads and writes [elements], and what of it is kept."""

    keeps: str
    operands: tuple[int, ...]  # without weights
    result: int
    itemsize: float

    @property
    def kept_operands(self) -> tuple[int, ...]:
        """The operands that are kept: all, the first, or none."""
        words = self.keeps.split()
        return self.operands if OPERANDS in words else self.operands[:1] if OPERAND in words else ()


@cache
def kept_by_operator() -> dict[str, str]:
    """What each operator keeps, as kept_tensors.csv lists it with its source."""
    text = (files("estimator.work") / "kept_tensors.csv").read_text(encoding="utf-8")
    return {row["operator"]: row["keeps"] for row in csv.DictReader(text.splitlines())}


def has_forward_shapes(work: pd.DataFrame) -> bool:
    """Whether forward ops have the shapes that tell what they keep."""
    return bool((in_phase(work, "forward") & work["shapes"].notna() & work["operator"].isin(kept_by_operator())).any())


def kept_tensors(work: pd.DataFrame, workload: Workload) -> StepTensors:
    """The tensors at the turn from the forward to the backward pass; in inference, those of the largest op."""
    reads = _reads(work, workload)
    if in_phase(work, "backward").any() or workload.mode == "training":
        kept = sum(_kept_sizes(reads))
    else:
        kept = max(((sum(op.operands) + op.result) * op.itemsize for op in reads), default=0.0)
    return StepTensors(np.array([kept]), np.zeros(1), np.zeros(1), "rules")


def layer_tensors(workload: Workload) -> StepTensors:
    """The outputs of the layers that a workload file lists, each kept once."""
    elements = (workload.batch_size or 0) * sum(workload.layer_outputs)
    return StepTensors(np.array([elements * ITEMSIZE[workload.precision]]), np.zeros(1), np.zeros(1), "layers")


def _reads(work: pd.DataFrame, workload: Workload) -> list[_Read]:
    """The forward ops in their order."""
    rows = in_phase(work, "forward") & ~updates(work) & ~is_variable(work) & ~work["op_class"].isin(NOT_TENSORS)
    parsed = shapes.parse_ops(work, workload.batch_size)
    results, itemsizes = result_elements(parsed), written_itemsizes(work, workload)
    results, operands = _of_products(work, results), _operands(work, parsed)
    keeps = work["operator"].map(kept_by_operator()).fillna("")
    return [
        _Read(keeps.iloc[row], operands[row], int(results[row]), float(itemsizes[row]))
        for row in np.flatnonzero(rows.to_numpy(dtype=bool))
    ]


def _of_products(work: pd.DataFrame, results: Floats) -> Floats:
    """Elements of each result, those of products and convolutions by their dimensions."""
    number = {name: work[name].to_numpy(dtype=float, na_value=np.nan) for name in ("batch", "m", "n", *IMAGE)}
    product = np.nan_to_num(number["batch"], nan=1.0) * number["m"] * number["n"]
    image = number["conv_n"] * number["conv_k"] * np.nan_to_num(number["conv_z"], nan=1.0)
    image = image * number["conv_p"] * number["conv_q"]
    return np.where(np.isnan(product), np.where(np.isnan(image), results, image), product)


def _operands(work: pd.DataFrame, parsed: shapes.ParsedOps) -> list[tuple[int, ...]]:
    """Elements of the operands of each row that are tensors of activations: without weights, scalars and channels."""
    weighted = (takes_weights(work) & (work["op_class"] == "gemm")).to_numpy(dtype=bool)
    sizes = {name: work[name].to_numpy(dtype=float, na_value=np.nan) for name in ("batch", "m", "n", "k")}
    out: list[tuple[int, ...]] = []
    for row, code in enumerate(parsed.codes):
        batch, m, n, k = (sizes[name][row] for name in ("batch", "m", "n", "k"))
        if not math.isnan(m * n * k) and work["op_class"].iloc[row] == "gemm":
            first, second = int(m * k), int(k * n)
            times = 1 if math.isnan(batch) else int(batch)
            out.append((first,) if weighted[row] else (times * first, times * second))
        else:
            out.append(_tensors(parsed.ops[code]))
    return out


def _tensors(op: shapes.Op) -> tuple[int, ...]:
    """Elements of the operands as large as the largest; of a convolution, its image."""
    image = op.operand("image")
    if image:
        return (math.prod(image),)
    known = [math.prod(shape) for shape in op.operands if shape]
    return tuple(size for size in known if size == max(known))


def _kept_sizes(reads: list[_Read]) -> Iterator[float]:
    """Yield the bytes of each tensor that is kept."""
    last: dict[int, int] = {}  # elements → the tensor last written with as many; those of the data are negative
    kept: set[int] = set()
    for tensor, op in enumerate(reads):
        for size in op.kept_operands:
            source = last.setdefault(size, -1 - size)
            if source not in kept:
                kept.add(source)
                yield size * op.itemsize
        if RESULT in op.keeps:
            kept.add(tensor)
            yield op.result * op.itemsize
        if op.keeps == MASK:
            yield op.result * FLAG_BYTES
        if op.result:
            last[op.result] = tensor
