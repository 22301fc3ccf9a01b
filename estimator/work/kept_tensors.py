"""Tensors that the forward pass keeps for the backward pass, by what each operator's gradient reads.

For profiles that tell no flow of tensors. :mod:`estimator.work.saved_tensors` tells which kept tensors are one.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from importlib.resources import files
from itertools import pairwise, zip_longest
from typing import NamedTuple

import numpy as np
import pandas as pd

from estimator.core.attributes import OFTEN_A_TURN, ONCE_A_TURN, has_attribute
from estimator.core.places import NO_BLOCK, parse_places
from estimator.core.types import ITEMSIZE, Flags, Floats, Integers, StepTensors, Workload, stored_format
from estimator.work import shapes
from estimator.work.casts import moved_sizes
from estimator.work.operators import is_variable, torch
from estimator.work.operators.rule import ATTENDED
from estimator.work.result_sizes import written_elements
from estimator.work.saved_tensors import FACTORS, ForwardOp, backward_moments, forward_moments, saved_tensors
from estimator.work.tensors import in_phase, written_itemsizes
from estimator.work.weights import takes_weights, updates, weights_taken

SINGLE = "single"  # attribute: what an operand of a single element is, number or weight
NOT_TENSORS = ("host", "collective")  # classes of ops that keep nothing
GENERATED = "fused_elementwise"
PRODUCTS = ("gemm", "convolution")


class _Calls(NamedTuple):
    """The row of each call in the order of a step, once; without places each row once, with the number of its calls.

    ``blocks``: those that a checkpoint runs again; ``frozen``: whether it is a product whose weights are not trained.
    """

    rows: Integers
    counts: Floats
    blocks: Integers
    frozen: Flags


@cache
def kept_by_operator() -> dict[str, str]:
    """What each operator keeps, as kept_tensors.csv lists it with its source."""
    text = (files("estimator.work") / "kept_tensors.csv").read_text(encoding="utf-8")
    return {row["operator"]: row["keeps"] for row in csv.DictReader(text.splitlines())}


def has_forward_shapes(work: pd.DataFrame) -> bool:
    """Whether forward ops have the shapes that tell what they keep."""
    return bool((in_phase(work, "forward") & work["shapes"].notna() & work["operator"].isin(kept_by_operator())).any())


def kept_tensors(work: pd.DataFrame, workload: Workload) -> StepTensors:
    """The tensors of a step: what the forward pass keeps, and what lives while each gradient is computed, where the
    profile has the places of its calls; in inference, those of the forward pass alone.
    """
    ops = _forward_ops(work, workload, _forward_calls(work))
    trains = bool(in_phase(work, "backward").any()) or workload.mode == "training"
    if not ops:
        return StepTensors(np.zeros(1), np.zeros(1), np.zeros(1), "rules")
    if not trains:
        return StepTensors(*forward_moments(ops), "rules")
    if work["places"].isna().all():  # the rows may be in any order
        return _of_any_order(ops)
    blocks = len({op.block for op in ops} - {NO_BLOCK})
    return StepTensors(*backward_moments(ops, saved_tensors(ops)), "rules", run_again=blocks)


def kept_of_steps(work: pd.DataFrame, workload: Workload, steps: Integers) -> list[StepTensors]:
    """What the forward pass of each of many steps of training keeps; ``steps``: the step of each row, from 0 on.

    The rows of a step stand together, and have no places.
    """
    calls = _forward_calls(work)
    ops = _forward_ops(work, workload, calls)
    ends = np.searchsorted(steps[calls.rows], np.arange(steps.max(initial=-1) + 2))
    return [_of_any_order(ops[first:end]) for first, end in pairwise(ends.tolist())]


def _of_any_order(ops: Sequence[ForwardOp]) -> StepTensors:
    """What these ops keep, all at one moment."""
    return StepTensors(np.array([sum(each.size for each in saved_tensors(ops))]), np.zeros(1), np.zeros(1), "rules")


def layer_tensors(workload: Workload) -> StepTensors:
    """The outputs of the layers that a workload file lists, each kept once."""
    elements = (workload.batch_size or 0) * sum(workload.layer_outputs)
    bytes_ = elements * ITEMSIZE[stored_format(workload.precision)]
    return StepTensors(np.array([bytes_]), np.zeros(1), np.zeros(1), "layers")


def _forward_calls(work: pd.DataFrame) -> _Calls:
    """The calls of the forward pass."""
    chosen = in_phase(work, "forward") & ~updates(work) & ~is_variable(work) & ~work["op_class"].isin(NOT_TENSORS)
    return _order(work, np.flatnonzero(chosen.to_numpy(dtype=bool)))


def _forward_ops(work: pd.DataFrame, workload: Workload, calls: _Calls) -> list[ForwardOp]:
    """The ops of these calls of the forward pass."""
    of_row = _described(work, workload, np.unique(calls.rows))
    each = zip(*(column.tolist() for column in calls), strict=True)
    ops = [replace(of_row[row], count=count, block=block) for row, count, block, _ in each]
    ops = [replace(op, keeps="") if frozen else op for op, frozen in zip(ops, calls.frozen.tolist(), strict=True)]
    return _with_generated(ops) if any(op.operator == GENERATED and not op.operands for op in ops) else ops


def _with_generated(ops: Sequence[ForwardOp]) -> list[ForwardOp]:
    """The ops with one behind each product or convolution, in place of generated code whose operands are not known.

    It reads their result, which is kept, and writes what the next one reads; attention reads results as they are.
    """
    out = []
    for op, following in zip_longest(ops, ops[1:]):
        out.append(op)
        if op.operator in PRODUCTS and (following is None or following.operator != "attention"):
            itemsizes = (op.itemsizes[1], op.itemsizes[1])
            generated = ForwardOp("operand", (op.result,), itemsizes, op.result, GENERATED)
            out.append(replace(generated, count=op.count, block=op.block))
    return out


def _described(work: pd.DataFrame, workload: Workload, rows: Integers) -> dict[int, ForwardOp]:
    """One call of each of these rows."""
    parsed = shapes.parse_ops(work, workload.batch_size)
    read, written = moved_sizes(work)[0], written_itemsizes(work, workload)
    read = np.where(np.isnan(read), ITEMSIZE[stored_format(workload.precision)], read)
    results, operands = written_elements(work, parsed), _operands(work, parsed)
    types, classes = (work[name].fillna("").tolist() for name in ("op_type", "op_class"))
    draws = work["operator"].eq("random").fillna(False).tolist()
    weights = weights_taken(work.assign(calls=1.0))
    described = {}
    for row in rows.tolist():
        call, operator = parsed.ops[parsed.codes[row]], str(work["operator"].iloc[row])
        op = ForwardOp(
            keeps=_keeps(operator, types[row], call),
            operands=operands[row],
            itemsizes=(float(read[row]), float(written[row])),
            result=int(results[row]),
            operator="copy" if torch.COPY.fullmatch(types[row]) else operator,
            factor=_factor(call),
            in_place=bool(torch.INTO_OPERAND.fullmatch(types[row])) and not draws[row],
            draws=draws[row],
            flags=_flags(call) if operator == "select" else int(results[row]),
            reduces=classes[row] == "reduction",
            is_bare=classes[row] == "gemm" and types[row].startswith(torch.OWN) and bool(weights[row]),
            weights=float(weights[row]),
        )
        described[row] = _recurrent(op, call) if torch.RECURRENT_LAYER.fullmatch(types[row]) else op
    return described


def _recurrent(op: ForwardOp, call: shapes.Op) -> ForwardOp:
    """A recurrent layer of PyTorch's, by its operands: the input, two matrices and biases of each layer, and states.

    Its reserve holds gates and cell (assumed): (g + 1) · h elements for each step, sample and layer, with g · h rows in
    a matrix.
    """
    known = [shape for shape in call.operands if shape]
    states = [shape for shape in known[1:] if len(shape) == 3]
    weights = known[1:] if states else known[1:-2]  # where states are matrices too, they are the last two
    matrices = [shape for shape in weights if len(shape) == 2]
    if not matrices or len(known[0]) != 3:
        return op
    hidden, steps, rows = (states or known[-1:])[0][-1], math.prod(known[0][:2]), matrices[0][0]
    reserve = len(matrices) // 2 * (rows // hidden + 1) * steps * hidden
    described = replace(op, keeps="operand result reserve", operands=(math.prod(known[0]),), result=steps * hidden)
    return replace(described, flags=reserve, weights=0.0, is_bare=False)


def _keeps(operator: str, op_type: str, op: shapes.Op) -> str:
    """What an op keeps, in words of kept_tensors.csv; nothing for a factor that is a number, which has no gradient."""
    if operator in FACTORS and op.attributes.get(SINGLE) == "number":
        return ""
    if rule := [keeps for name, keeps in torch.KEPT.items() if name in op_type]:
        return rule[0]
    return kept_by_operator().get(operator, "")


def _flags(op: shapes.Op) -> int:
    """Elements of the condition of a choice, its first operand."""
    return math.prod(op.operands[0]) if op.operands and op.operands[0] else 0


def _factor(op: shapes.Op) -> int:
    """Elements of the smaller operand of two, where it is a scalar or has several dimensions; a vector is a weight."""
    known = [shape for shape in op.operands if shape]
    if len(known) != 2 or op.attributes.get(SINGLE) == "weight":
        return 0
    small, large = sorted(known, key=math.prod)
    is_vector = sum(size != 1 for size in small) == 1
    return 0 if is_vector or math.prod(small) == math.prod(large) else math.prod(small)


def _order(work: pd.DataFrame, rows: Integers) -> _Calls:
    """The calls of these rows."""
    texts = work["places"].iloc[rows]
    if texts.isna().all():
        counts = work["calls"].iloc[rows].fillna(1.0).to_numpy(dtype=float) / _turns(work)[rows]
        return _Calls(rows, counts, np.full_like(rows, NO_BLOCK), np.zeros(len(rows), dtype=bool))
    calls = [
        (*place, row)
        for row, text in zip(rows.tolist(), texts, strict=True) if isinstance(text, str)
        for place in parse_places(text)
    ]  # fmt: skip
    _, frozen, blocks, ordered = np.array(sorted(calls), dtype=np.int64).reshape(-1, 4).T
    return _Calls(ordered, np.ones(len(calls)), blocks, frozen > 0)


def _turns(work: pd.DataFrame) -> Floats:
    """How many turns each op's loop around forward and backward pass has; 1 outside of such loops.

    Each turn frees what it keeps. Most ops that run once a turn run as often as the loop has turns; a step is taken to
    have one such loop.
    """
    once, often = (has_attribute(work, attribute) for attribute in (ONCE_A_TURN, OFTEN_A_TURN))
    count = work["calls"][once].mode()
    return np.where(once | often, max(float(count.iloc[0]), 1.0) if len(count) else 1.0, 1.0)


def _operands(work: pd.DataFrame, parsed: shapes.ParsedOps) -> list[tuple[int, ...]]:
    """Elements of the operands of each row that are tensors of activations: without weights, scalars and channels."""
    weighted = (takes_weights(work) & (work["op_class"] == "gemm")).to_numpy(dtype=bool)
    attends = work["operator"].eq("attention").to_numpy(dtype=bool)
    sizes = {name: work[name].to_numpy(dtype=float, na_value=np.nan) for name in ("batch", "m", "n", "k")}
    out: list[tuple[int, ...]] = []
    for row, code in enumerate(parsed.codes):
        batch, m, n, k = (sizes[name][row] for name in ("batch", "m", "n", "k"))
        if not math.isnan(m * n * k) and work["op_class"].iloc[row] == "gemm":
            first, second = int(m * k), int(k * n)
            times = 1 if math.isnan(batch) else int(batch)
            out.append((first,) if weighted[row] else (times * first, times * second))
        else:
            out.append(_attended(parsed.ops[code]) if attends[row] else _tensors(parsed.ops[code]))
    return out


def _attended(op: shapes.Op) -> tuple[int, ...]:
    """Elements of queries, keys and values, not of a mask or of biases."""
    return tuple(math.prod(shape) for shape in op.operands[: len(ATTENDED)] if shape)


def _tensors(op: shapes.Op) -> tuple[int, ...]:
    """Elements of the operands as large as the largest; of a convolution, its image."""
    image = op.operand("image")
    if image:
        return (math.prod(image),)
    known = [math.prod(shape) for shape in op.operands if shape]
    return tuple(size for size in known if size == max(known))
