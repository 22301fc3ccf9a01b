"""What memory-bound ops read and write, in elements: every operand and every result once, unless a rule knows better.

Where a dump does not tell results, one of the size of the operands together (broadcast) is written, and none by
reductions. Where the shapes do not tell what a rule needs, the traffic stays unknown.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from estimator.core.operators import operators
from estimator.work.shapes import Op, Shape, elements

READ_ONLY = ("reduction", "pooling")  # classes whose forward ops write little beside what they read


@dataclass(frozen=True)
class Traffic:
    """Elements that one call reads and writes, and its arithmetic [FLOP]."""

    read: float
    written: float
    flop: float


def read_traffic(op: Op) -> Traffic | None:
    """The traffic of one call; None where its shapes do not tell."""
    return RULES.get(op.counted_as.operator, _streams)(op)


def _streams(op: Op) -> Traffic | None:
    """Every operand is read and every result written."""
    read, results = elements(op.operands), elements(op.outputs)
    if not read:
        return None
    largest = max(map(math.prod, _tensors(op.operands)))
    gradient = op.asked.of.direction in ("backward", "grad_input") and op.asked.of.along != "channels"
    like_operand = 0 if op.op_class in READ_ONLY and not gradient else largest
    broadcast = _broadcast(op.operands) if op.op_class == "elementwise" else 0
    written = results if results is not None else max(like_operand, broadcast)
    return Traffic(read, written, op.operator.flop_per_element * max(largest, written))


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


def _moved(size: int | None, flop_per_element: float = 0.0) -> Traffic | None:
    """So many elements read and as many written."""
    return Traffic(size, size, flop_per_element * size) if size else None


def _subject(op: Op) -> tuple[Shape | None, ...]:
    """The operand that tells how much is moved, where the name says which; the first else."""
    place = op.asked.subject or 0
    return op.operands[place:][:1]


def _optimizer_update(op: Op) -> Traffic | None:
    """Variable, states and gradient read, all but the gradient written; sparse ones touch the gradient's rows only."""
    if "lists" in op.attributes:
        return _fused_update(op)
    passes = op.asked.of
    operands = op.operands if op.asked.subject is None else _subject(op)
    size = max(map(math.prod, _tensors(operands)), default=0)
    if math.isnan(passes.reads) or size == 0 or (size == 1 and None in operands):
        return None
    return Traffic(passes.reads * size, passes.writes * size, passes.flop_per_element * size)


def _accumulation(op: Op) -> Traffic | None:
    """Variable and value read, variable written; the variable may be a handle without a shape."""
    size = elements(_subject(op))
    return Traffic(2 * size, size, size) if size else None


def _copy(op: Op) -> Traffic | None:
    """One tensor read, one written, whatever else stands among the operands."""
    return _moved(elements(_subject(op)) or elements(op.outputs[:1]), op.operator.flop_per_element)


def _all(op: Op) -> Traffic | None:
    """What is read is written, in another arrangement."""
    return _moved(elements(tuple(_tensors(op.operands))) if None not in op.operands else None)


def _fill(op: Op) -> Traffic | None:
    """Only the result is written; it has the shape of an operand where the name says which."""
    size = elements(op.outputs[:1]) or (elements(_subject(op)) if op.asked.subject is not None else None)
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
    """Updates, one of the tensors that are known, read and added to as many elements."""
    tensors = _tensors(op.operands) if None not in op.operands[-1:] else []
    place = op.asked.subject or 0
    size = elements(tuple(tensors[place:][:1]))
    return Traffic(2 * size, size, size) if size else None


def _lists(op: Op) -> Traffic | None:
    """Lists of tensors, one behind the other: all are read, the first written; of fills nothing is read of it."""
    found = _of_lists(op)
    if found is None:
        return None
    read, size, _ = found
    fills = op.asked.operator == "foreach_copy"
    return Traffic(read - size if fills else read, size, 0 if fills else size)


def _fused_update(op: Op) -> Traffic | None:
    """An optimizer's update of lists of tensors: all are read, all but the gradients written."""
    found = _of_lists(op)
    if found is None or found[2] < 2:
        return None
    read, size, count = found
    return Traffic(read, (count - 1) * size, op.asked.of.flop_per_element * size)


def _of_lists(op: Op) -> tuple[float, float, int] | None:
    """Elements read in all, those of one list, and the number of lists; None where an operand is not known."""
    count = next(iter(op.whole_numbers("lists") or ()), 0)
    read = elements(tuple(_tensors(op.operands)))
    return (read, read / count, count) if read and count and None not in op.operands else None


Counter = Callable[[Op], Traffic | None]
UPDATES = tuple(o.operator for o in operators().values() if o.direction == "update" and o.reads != 1)
RULES: dict[str, Counter] = {  # by operator; all others stream
    **dict.fromkeys(UPDATES, _optimizer_update),
    "accumulate": _accumulation,
    **dict.fromkeys(("assign", "copy", "transpose", "cast"), _copy),
    **dict.fromkeys(("concatenate", "split"), _all),
    **dict.fromkeys(("fill", "broadcast", "random", "one_hot", "set", "loss_pick_grad"), _fill),
    **dict.fromkeys(("slice", "gather_nd", "index"), _slice),
    "update_slice": _update_in_place,
    **dict.fromkeys(("gather", "embedding", "index_select"), _gather),
    **dict.fromkeys(("pick", "loss_pick"), _picked),
    **dict.fromkeys(("segment_gather", "segment_gather_grad"), _segments),
    **dict.fromkeys(("scatter", "scatter_nd", "embedding_grad"), _scatter),
    **dict.fromkeys(("foreach", "foreach_copy"), _lists),
}
