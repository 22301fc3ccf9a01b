"""Tensors of a step from the flow between its ops: each lives from the op that writes it to the last that reads it.

The rows are taken in their order, which is that of execution. An element-wise op writes into an operand of its result's
size that nothing reads afterwards, as TensorFlow forwards buffers and PyTorch's in-place ops do. A gradient is kept in
the format of the update that reads it, where that is wider than its product's.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import pandas as pd

from estimator.core.schema import LATER_RESULTS
from estimator.core.types import Flags, Floats, StepTensors, Workload
from estimator.work import shapes
from estimator.work.edges import RENAMES, listed, producers
from estimator.work.operators import is_update, is_variable
from estimator.work.tensors import in_phase, result_elements, written_itemsizes
from estimator.work.weights import form

Rows = npt.NDArray[np.intp]


@dataclass
class _Flow:
    """The tensor that each row writes: which row's buffer it is, its size [B], and the row of its last use."""

    buffer: Rows
    size: Floats = field(repr=False)
    last: Rows = field(repr=False)


def flowing_tensors(work: pd.DataFrame, workload: Workload) -> StepTensors:
    """The tensors that live while each row runs; activations are what the forward pass leaves for the
    backward one, and in inference all of it.
    """
    work, runs = _by_result(work)
    parsed = shapes.parse_ops(work, workload.batch_size)
    itemsize, earlier = written_itemsizes(work, workload), producers(work)
    flow = _follow(work, earlier, _written_bytes(work, parsed, itemsize))
    ends = _in_place(work, earlier, flow)
    forward, updates = in_phase(work, "forward", "input").to_numpy(), in_phase(work, "optimizer").to_numpy()
    trains = bool(in_phase(work, "backward").any())
    outlives = forward & (~forward[flow.last] | (not trains))
    gradient = ~forward & ~updates & updates[flow.last]
    wider = np.maximum(itemsize[flow.last] / itemsize, 1.0)
    flow.size = np.where(gradient, flow.size * wider, flow.size)
    activations = _living(flow, ends, outlives) + _input_bytes(work, parsed, itemsize)
    return StepTensors(
        activations=activations[runs],
        gradients=_living(flow, ends, gradient)[runs],
        workspace=_living(flow, ends, ~outlives & ~gradient)[runs],
        evidence="flow",
        kept=_before_result(activations, forward & work["block"].notna().to_numpy(dtype=bool)) if trains else 0.0,
    )


def _written_bytes(work: pd.DataFrame, parsed: shapes.ParsedOps, itemsize: Floats) -> Floats:
    """The size of the tensor that each row writes [B]; 0 for variables and for what input writes."""
    size = result_elements(parsed) * itemsize * work["calls"].fillna(1.0).to_numpy(dtype=float)
    outside = is_variable(work) | in_phase(work, "input")
    return np.where(outside.to_numpy(dtype=bool), 0.0, size)


def _by_result(work: pd.DataFrame) -> tuple[pd.DataFrame, Flags]:
    """WORK with a further row ahead of each op whose later results others take, ``op:1``, and which rows run."""
    named = {name for text in work["inputs"].dropna().unique() if LATER_RESULTS in text for name in listed(text)}
    if not named:
        return work, np.ones(len(work), dtype=bool)
    rows = np.flatnonzero(
        (work["op"] + LATER_RESULTS).isin(named) & work["output_shapes"].str.contains(";").fillna(False)
    )
    places = np.argsort(np.concatenate([np.arange(len(work)), rows - 0.5]))
    second, row = places >= len(work), np.concatenate([np.arange(len(work)), rows])[places]
    out, parts = work.iloc[row].copy(), np.isin(row, rows)
    results = out["output_shapes"].str.split(";", n=1)
    out["output_shapes"] = out["output_shapes"].mask(parts, results.str[0]).mask(second, results.str[1])
    out["op"] = out["op"].mask(second, out["op"] + LATER_RESULTS)
    out["inputs"] = out["inputs"].mask(second)
    return out, ~second


def _follow(work: pd.DataFrame, earlier: list[list[int]], size: Floats) -> _Flow:
    """The buffers and their last uses; a row that renames takes over the buffer of its first input."""
    renames = (work["op_class"] == RENAMES).to_numpy(dtype=bool)
    buffer, last = np.arange(len(work)), np.arange(len(work))
    for row, inputs in enumerate(earlier):
        if renames[row] and inputs and size[inputs[0]] == size[row]:
            buffer[row] = buffer[inputs[0]]
        for each in inputs:
            last[buffer[each]] = row
    own = buffer == np.arange(len(work))
    return _Flow(buffer, np.where(own, size, 0.0), last)


def _in_place(work: pd.DataFrame, earlier: list[list[int]], flow: _Flow) -> Rows:
    """The row at whose end each buffer is free; the one before its last use where that writes into it."""
    ends = flow.last.copy()
    for row in np.flatnonzero((work["op_class"] == "elementwise").to_numpy(dtype=bool) & (flow.size > 0)):
        reused = next(_reusable(int(row), earlier[row], flow), None)
        if reused is not None:
            ends[reused] = row - 1
    return ends


def _reusable(row: int, inputs: list[int], flow: _Flow) -> Iterator[int]:
    """Yield the buffers among the inputs that the row may write into."""
    for buffer in (int(flow.buffer[each]) for each in inputs):
        if flow.last[buffer] == row and flow.size[buffer] == flow.size[row]:
            yield buffer


def _before_result(activations: Floats, of_blocks: Flags) -> float:
    """The activations before the last op of the blocks' forward pass writes its result; 0 where no op is a block's."""
    rows = np.flatnonzero(of_blocks)
    return float(activations[max(rows[-1] - 1, 0)]) if len(rows) else 0.0


def _living(flow: _Flow, ends: Rows, chosen: Flags) -> Floats:
    """Bytes of the chosen tensors that live while each row runs."""
    rows = np.flatnonzero(chosen & (flow.size > 0))
    change = np.zeros(len(ends) + 1)
    np.add.at(change, rows, flow.size[rows])
    np.subtract.at(change, ends[rows] + 1, flow.size[rows])
    return np.asarray(np.cumsum(change)[:-1])


def _input_bytes(work: pd.DataFrame, parsed: shapes.ParsedOps, itemsize: Floats) -> float:
    """Bytes of the batch of data: what forward ops read that only input wrote, and that no update changes."""
    holders = is_variable(work) | is_update(work) | in_phase(work, "optimizer")
    inside = {*work["op"][~in_phase(work, "input")], *_names(work[holders])}
    sizes: dict[tuple[str, shapes.Shape], float] = {}
    inputs = work["inputs"].tolist()
    for row in np.flatnonzero((in_phase(work, "forward") & ~holders).to_numpy(dtype=bool)):
        operands = parsed.of_row(row).operands
        for name, shape in zip(listed(inputs[row]), operands, strict=False):
            if name and shape and name not in inside:
                sizes[name, form(shape)] = math.prod(shape) * float(itemsize[row])
    return sum(sizes.values())


def _names(rows: pd.DataFrame) -> set[str]:
    return {name for text in rows["inputs"].dropna() for name in listed(text)}
