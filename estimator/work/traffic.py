"""Elements that memory-bound ops read and write: every operand and every result once, unless a rule states otherwise.

Without results in the dump, the result has the size of the broadcast operands, and reductions write nothing. Where the
shapes lack what a rule needs, the traffic stays unknown.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from estimator.core.operators import operators
from estimator.work.shapes import Op, Shape, elements

SORT_PASSES = 4  # of a radix sort of 32 bits, 8 bits each (Merrill and Grimshaw, Parallel Processing Letters 21, 2011)
SORTED = 3  # numbers of a key's size that a pass moves for each key: the key and its place, of 64 bits
READ_ONLY = ("reduction", "pooling")  # classes whose forward ops write little compared with their operands


@dataclass(frozen=True)
class Traffic:
    """Elements that one call reads and writes, and its arithmetic [FLOP]."""

    read: float
    written: float
    flop: float


def read_traffic(op: Op) -> Traffic | None:
    """The traffic of one call; None where its shapes do not determine it."""
    return RULES.get(op.type_rule.operator, _streams)(op)


def _streams(op: Op) -> Traffic | None:
    """Reads every operand, or the one that the rule names alone, and writes every result."""
    operands = _moved_operands(op)
    read, results = elements(operands), elements(op.outputs)
    if not read:
        return None
    largest = max(map(math.prod, _tensors(operands)))
    properties = op.type_rule.properties
    gradient = properties.direction in ("backward", "grad_input") and properties.along != "channels"
    result_size = 0 if op.op_class in READ_ONLY and not gradient else largest
    broadcast = _broadcast(operands) if op.op_class == "elementwise" else 0
    written = results if results is not None else max(result_size, broadcast)
    return Traffic(read, written, op.operator.flop_per_element * max(largest, written))


def _fused(op: Op) -> Traffic | None:
    """Reads every operand and writes every result; a fusion without operands, as one that counts, writes alone."""
    return _streams(op) if op.operands else _fill(op)


def _tensors(shapes: Sequence[Shape | None]) -> list[Shape]:
    """The known shapes, without scalars unless all are scalars."""
    known = [shape for shape in shapes if shape is not None]
    return [shape for shape in known if math.prod(shape) != 1] or known


def _broadcast(shapes: Sequence[Shape | None]) -> int:
    """Elements of the operands broadcast against each other; 0 where they cannot be broadcast."""
    try:
        return math.prod(np.broadcast_shapes(*_tensors(shapes)))
    except ValueError:
        return 0


def _moved(size: int | None, flop_per_element: float = 0.0) -> Traffic | None:
    """The traffic of an op that reads ``size`` elements and writes as many."""
    return Traffic(size, size, flop_per_element * size) if size else None


def _subject(op: Op) -> tuple[Shape | None, ...]:
    """The operand whose size is moved: the one that the rule names, else the first."""
    place = op.type_rule.subject or 0
    return op.operands[place:][:1]


def _moved_operands(op: Op) -> tuple[Shape | None, ...]:
    """The operand that the rule names alone, where it names one, else all."""
    return op.operands if op.type_rule.subject is None else _subject(op)


def _optimizer_update(op: Op) -> Traffic | None:
    """Reads variable, states and gradient; writes all but the gradient. Sparse updates move only its rows."""
    if "lists" in op.attributes:
        return _fused_update(op)
    passes = op.type_rule.properties
    operands = _moved_operands(op)
    size = max(map(math.prod, _tensors(operands)), default=0)
    if math.isnan(passes.reads) or size == 0 or (size == 1 and None in operands):
        return None
    return Traffic(passes.reads * size, passes.writes * size, passes.flop_per_element * size)


def _accumulation(op: Op) -> Traffic | None:
    """Reads variable and value, writes the variable, which may be a handle without a shape."""
    size = elements(_subject(op))
    return Traffic(2 * size, size, size) if size else None


def _copy(op: Op) -> Traffic | None:
    """Reads one tensor and writes one, whatever its other operands."""
    return _moved(elements(_subject(op)) or elements(op.outputs[:1]), op.operator.flop_per_element)


def _sort(op: Op) -> Traffic | None:
    """Reads and writes all keys, and the places that they come from, in several passes."""
    size = elements(_subject(op))
    return _moved(SORT_PASSES * SORTED * size) if size else None


def _rearrange(op: Op) -> Traffic | None:
    """Reads all operands and writes as many elements in another order."""
    return _moved(elements(tuple(_tensors(op.operands))) if None not in op.operands else None)


def _fill(op: Op) -> Traffic | None:
    """Writes the result only; its size is the first output's, else that of the operand that the rule names."""
    size = elements(op.outputs[:1]) or (elements(_subject(op)) if op.type_rule.subject is not None else None)
    return Traffic(0, size, 0) if size else None


def _slice(op: Op) -> Traffic | None:
    """Reads and writes a slice, of the size of the result; unknown without it."""
    return _moved(elements(op.outputs))


def _pick(op: Op) -> Traffic | None:
    """Reads and writes one element per index; the indices are the second tensor, or a single one of its place."""
    return _moved(elements(tuple(_tensors(op.operands)[1:2]) or op.operands[1:2]))


def _update_in_place(op: Op) -> Traffic | None:
    """Reads all operands but the buffer, which is the largest, and writes as many elements of it."""
    read = elements(op.operands)
    return _moved(read - max(map(math.prod, _tensors(op.operands)))) if read else None


def _gather(op: Op) -> Traffic | None:
    """Reads and writes rows of a table: the result's size, or one row per index."""
    return _moved(elements(op.outputs) or _rows(op))


def _rows(op: Op) -> int | None:
    """Elements of one table row (of the first operand) per index (in the second)."""
    table, index = (*op.operands, None, None)[:2]
    return math.prod(index) * math.prod(table[1:]) if table and index and len(table) > 1 else None


def _segments(op: Op) -> Traffic | None:
    """``SparseSegmentSum``: reads one row per index, writes one row per segment."""
    rows, written = _rows(op), elements(op.outputs)
    return Traffic(rows, rows if written is None else written, rows) if rows else None


def _scatter(op: Op) -> Traffic | None:
    """Reads the updates and adds them to as many elements."""
    tensors = _tensors(op.operands) if None not in op.operands[-1:] else []
    place = op.type_rule.subject or 0
    size = elements(tuple(tensors[place:][:1]))
    return Traffic(2 * size, size, size) if size else None


def _lists(op: Op) -> Traffic | None:
    """An op on lists of tensors: reads all lists and writes the first; a copy does not read the first."""
    sizes = _list_sizes(op)
    if sizes is None:
        return None
    read, size, _ = sizes
    fills = op.type_rule.operator == "foreach_copy"
    return Traffic(read - size if fills else read, size, 0 if fills else size)


def _fused_update(op: Op) -> Traffic | None:
    """An optimizer's update of lists of tensors: reads all lists, writes all but the gradients."""
    sizes = _list_sizes(op)
    if sizes is None or sizes[2] < 2:
        return None
    read, size, count = sizes
    return Traffic(read, (count - 1) * size, op.type_rule.properties.flop_per_element * size)


def _list_sizes(op: Op) -> tuple[float, float, int] | None:
    """Elements of all lists, elements of one list, and the number of lists; None where an operand is unknown."""
    count = next(iter(op.whole_numbers("lists") or ()), 0)
    read = elements(tuple(_tensors(op.operands)))
    return (read, read / count, count) if read and count and None not in op.operands else None


Counter = Callable[[Op], Traffic | None]
UPDATES = tuple(o.operator for o in operators().values() if o.direction == "update" and o.reads != 1)
RULES: dict[str, Counter] = {  # by operator; all others stream
    **dict.fromkeys(UPDATES, _optimizer_update),
    "accumulate": _accumulation,
    "fused_elementwise": _fused,
    **dict.fromkeys(("assign", "copy", "transpose", "cast"), _copy),
    "sort": _sort,
    **dict.fromkeys(("concatenate", "split"), _rearrange),
    **dict.fromkeys(("fill", "broadcast", "random", "one_hot", "set", "loss_pick_grad"), _fill),
    **dict.fromkeys(("slice", "gather_nd", "index"), _slice),
    "update_slice": _update_in_place,
    **dict.fromkeys(("gather", "embedding", "index_select"), _gather),
    **dict.fromkeys(("pick", "loss_pick"), _pick),
    **dict.fromkeys(("segment_gather", "segment_gather_grad"), _segments),
    **dict.fromkeys(("scatter", "scatter_nd", "embedding_grad"), _scatter),
    **dict.fromkeys(("foreach", "foreach_copy"), _lists),
}
