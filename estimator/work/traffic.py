"""What memory-bound ops read and write, in elements: every operand and every result once, unless a rule knows better.

Where a dump does not tell results, one of the size of the operands together (broadcast) is written, and none by
reductions. Where the shapes do not tell what a rule needs, the traffic stays unknown.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from estimator.work.shapes import Op, Shape, elements

FLOP_PER_ELEMENT = {
    "elementwise": 1.0, "reduction": 1.0, "pooling": 1.0, "normalization": 8.0, "movement": 0.0, "embedding": 0.0,
}  # fmt: skip
STATES = {  # tensors that an optimizer keeps beside each variable
    "GradientDescent": 0, "ProximalGradientDescent": 0, "Momentum": 1, "KerasMomentum": 1, "Adagrad": 1, "AdagradV2": 1,
    "ProximalAdagrad": 1, "AddSign": 1, "PowerSign": 1, "Adam": 2, "AdaMax": 2, "RMSProp": 2, "Adadelta": 2, "Ftrl": 2,
    "FtrlV2": 2, "AdagradDA": 2, "CenteredRMSProp": 3, "AdamWithAmsgrad": 3,
}  # fmt: skip
GRADIENT = dict.fromkeys(  # its place in sparse updates with operands behind the indices; else before the last
    ("Momentum", "KerasMomentum", "Ftrl", "FtrlV2", "AdagradDA"), 3
)
PARTIAL = ("slice", "dynamic-slice", "dynamic-update-slice", "gather")  # roots of fusions that touch part of a tensor
UPDATE_FLOP = 5  # about, per element and state, beside the two of the update itself


@dataclass(frozen=True)
class Traffic:
    """Elements that one call reads and writes, and its arithmetic [FLOP]."""

    read: float
    written: float
    flop: float


def read_traffic(op: Op) -> Traffic | None:
    """The traffic of one call; None where its shapes do not tell."""
    name = op.kernel if op.op_type == "fusion" and op.kernel in PARTIAL else op.op_type or op.kernel
    rule = _rule(name)
    return rule(op) if rule else _streams(op)


@lru_cache(maxsize=2**12)
def _rule(name: str) -> Rule | None:
    return next((rule for pattern, rule in RULES if pattern.fullmatch(name)), None)


def _streams(op: Op) -> Traffic | None:
    read, told = elements(op.operands), elements(op.outputs)
    if not read:
        return None
    largest = max(map(math.prod, _tensors(op.operands)))
    gradient = re.search("Grad|backward", op.op_type) and op.op_type != "BiasAddGrad"
    alike = 0 if op.op_class in ("reduction", "pooling") and not gradient else largest
    written = told if told is not None else max(alike, _broadcast(op.operands) if op.op_class == "elementwise" else 0)
    return Traffic(read, written, FLOP_PER_ELEMENT[op.op_class] * max(largest, written))


def _tensors(shapes: Sequence[Shape | None]) -> list[Shape]:
    """Those that are known, without scalars where there is more."""
    known = [shape for shape in shapes if shape is not None]
    return [shape for shape in known if math.prod(shape) != 1] or known


def _broadcast(shapes: Sequence[Shape | None]) -> int:
    """Elements of the operands broadcast against each other; 0 where they are not alike."""
    try:
        return math.prod(np.broadcast_shapes(*_tensors(shapes)))
    except ValueError:
        return 0


def _moved(size: int | None, flop: float = 0.0) -> Traffic | None:
    """So many elements read and as many written."""
    return Traffic(size, size, flop) if size else None


def _optimizer_update(op: Op) -> Traffic | None:
    """Variable, states and gradient read, all but the gradient written; sparse ones touch the gradient's rows only."""
    found = re.search(r"(Sparse)?Apply(\w+)", op.op_type)
    states = STATES.get(found[2]) if found else None
    operands = op.operands[GRADIENT.get(found[2], -2) :][:1] if found and found[1] else op.operands
    size = max(map(math.prod, _tensors(operands)), default=0)
    if states is None or size == 0 or (size == 1 and None in operands):
        return None
    return Traffic((states + 2) * size, (states + 1) * size, (2 + UPDATE_FLOP * states) * size)


def _accumulation(op: Op) -> Traffic | None:
    """``AssignAdd``: variable and value read, variable written; the variable may be a handle without a shape."""
    size = elements(op.operands[1:2])
    return Traffic(2 * size, size, size) if size else None


def _copy(op: Op) -> Traffic | None:
    """One tensor read, one written, whatever else stands among the operands; of ``Assign`` the value counts."""
    place = 1 if op.op_type.startswith("Assign") else 0
    return _moved(elements(op.operands[place : place + 1]) or elements(op.outputs[:1]))


def _all(op: Op) -> Traffic | None:
    """What is read is written, in another arrangement."""
    return _moved(elements(tuple(_tensors(op.operands))) if None not in op.operands else None)


def _fill(op: Op) -> Traffic | None:
    """Only the result is written; PyTorch's in-place ops and ``ZerosLike`` have its shape as their operand's."""
    alike = op.op_type.startswith("aten::") or op.op_type.endswith("Like")
    size = elements(op.outputs[:1]) or (elements(op.operands[:1]) if alike else None)
    return Traffic(0, size, 0) if size else None


def _slice(op: Op) -> Traffic | None:
    """A slice of its operand is read and written; without the result's shape nobody knows how much."""
    return _moved(elements(op.outputs))


def _picked(op: Op) -> Traffic | None:
    """An element for each index, the second tensor among the operands."""
    return _moved(elements(tuple(_tensors(op.operands)[1:2])))


def _update_in_place(op: Op) -> Traffic | None:
    """All but the buffer is read, and as much of it written."""
    read = elements(op.operands)
    return _moved(read - max(map(math.prod, _tensors(op.operands)))) if read else None


def _gather(op: Op) -> Traffic | None:
    """Rows read and written, never the whole table: the result's size, or a row for each index."""
    return _moved(elements(op.outputs) or _rows(op))


def _rows(op: Op) -> int | None:
    """Elements of one row of the table (the first operand) for each index (the second)."""
    table, index = (*op.operands, None, None)[:2]
    return math.prod(index) * math.prod(table[1:]) if table and index and len(table) > 1 else None


def _segments(op: Op) -> Traffic | None:
    """``SparseSegmentSum``: a row for each index is read, one for each segment written."""
    rows, written = _rows(op), elements(op.outputs)
    return Traffic(rows, rows if written is None else written, rows) if rows else None


def _scatter(op: Op) -> Traffic | None:
    """Updates read and added to as many elements: the last tensor, the second of ``ScatterNd``, else the first."""
    tensors = _tensors(op.operands) if None not in op.operands[-1:] else []
    place = 0 if "embedding" in op.op_type else 1 if op.op_type == "ScatterNd" else len(tensors) - 1
    size = elements(tuple(tensors[place : place + 1]))
    return Traffic(2 * size, size, size) if size else None


def _lists(op: Op) -> Traffic | None:
    """Torch's lists of tensors, one behind the other: all are read, the first written; of updates all but gradients."""
    count = next(iter(op.whole_numbers("lists") or ()), 0)
    read = elements(tuple(_tensors(op.operands)))
    if not (read and count) or None in op.operands:
        return None
    name, fused, size = re.sub(r"aten::_(foreach|fused)_|_$", "", op.op_type), "_fused_" in op.op_type, read / count
    if fused:
        return Traffic(read, (count - 1) * size, (2 + UPDATE_FLOP * (count - 2)) * size) if count > 1 else None
    fills = name in ("zero", "copy")  # without reading what they fill
    return Traffic(read - size if fills else read, size, 0 if fills else size)


Rule = Callable[[Op], Traffic | None]
RULES: tuple[tuple[re.Pattern[str], Rule], ...] = tuple(
    (re.compile(pattern), rule)
    for pattern, rule in (
        (r"(Resource)?(Sparse)?Apply[A-Z]\w+", _optimizer_update),
        (r"Assign(Add|Sub)(VariableOp)?", _accumulation),
        (r"Assign(VariableOp)?|aten::_?(to_)?copy_?|(Conjugate)?Transpose|copy(-start|-done)?|Cast|convert", _copy),
        (r"(Parallel)?Concat(V2)?|Pack|Unpack|Split(V)?|concatenate|aten::_?(cat|stack|chunk_cat)", _all),
        (
            r"Fill|BroadcastTo|broadcast|iota|rng\S*|(Stateless)?(Random|TruncatedNormal)\w*|OneHot|(Ones|Zeros)Like",
            _fill,
        ),
        (r"aten::(fill_|zero_|zeros|ones|full|arange|bernoulli_|normal_|uniform_|random_|exponential_)", _fill),
        (r"(Strided)?Slice|GatherNd|slice|dynamic-slice|aten::index", _slice),
        (r"dynamic-update-slice", _update_in_place),
        (r"(Resource)?Gather(V2)?|gather|aten::embedding\w*(?<!backward)|aten::index_select", _gather),
        (r"aten::(gather|take|nll_loss(2d)?_forward)", _picked),
        (r"aten::nll_loss(2d)?_backward", lambda op: _fill(replace(op, operands=op.operands[1:2]))),
        (r"SparseSegment\w+", _segments),
        (
            r"(Resource|Tensor)?Scatter\w+|scatter|aten::(scatter|index_(add|put))\w*|aten::embedding\w*_backward",
            _scatter,
        ),
        (r"aten::_(foreach|fused)_(?!norm|max)\w+", _lists),
    )
)
