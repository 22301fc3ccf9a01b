"""Chains of element-wise ops that a compiler runs as one kernel: WORK → WORK.

As in XLA's loop fusion and TorchInductor: where each op of a chain reads the result of the op before it element by
element, that result is neither written nor read, and the chain is launched once. Only ops that ran one after the other
are fused. A reduction or normalization is not fused into a chain: its operand mostly feeds a product as well and is
written anyway, and XLA's own dumps show reductions beside the element-wise fusions.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import pandas as pd

from estimator.core.notes import Note
from estimator.core.operators import ALONG_CHANNELS, SLOW_ACTIVATIONS, benchmark_kernels
from estimator.core.types import Flags, Floats, Fusing, Fusion, Workload
from estimator.work import shapes
from estimator.work.casts import moved_sizes
from estimator.work.operators import ends_in_variable, is_fusion
from estimator.work.tensors import in_phase
from estimator.work.traffic import Traffic, read_traffic
from estimator.work.transformed import Transformed

LANE = ["placement", "stream", "rank"]
SKIPPED = ("host", "input")  # classes of ops that do not interrupt a chain
MOVES = "assign"  # copies element by element; other copies rearrange, or are parts of other ops
BY_CHANCE = 8  # fewer ops may be in the order of their times by chance
Rows = npt.NDArray[np.intp]


@dataclass(frozen=True)
class Pointwise:
    """An op whose result at each place depends on its operands at the same place alone."""

    result: shapes.Shape
    operands: frozenset[shapes.Shape | None]
    traffic: Traffic


@dataclass(frozen=True)
class Fused(Transformed):
    """WORK with its chains fused, and the savings."""

    saved: Fusion = field(default_factory=Fusion)


def fuse(work: pd.DataFrame, workload: Workload, kind: Fusing) -> Fused:
    """WORK in which the first op of each chain has all its traffic, FLOP and launches, and the other ops none.

    The ops' times stay the source's. A chain has no channels: a compiler generates a loop, not a library's kernel for
    biases.
    """
    if kind == "none":
        return Fused(work, changed=False)
    unordered, order_notes = _unordered(work)
    rows = _rows_in_order(work)
    linked, saved = _links(work, rows, unordered, workload)
    first = rows[np.maximum.accumulate(np.where(linked, 0, np.arange(len(rows))))]
    out, inner = _merge_chains(work, rows, linked, saved, first)
    launches = float(work["calls"].fillna(1.0)[inner].sum())
    chains = len(np.unique(first[linked]))
    fusion = Fusion(kind, chains, chains + int(linked.sum()), float(saved.sum()), launches)
    notes = (*order_notes, Note("fusion", fusion.describe()))
    return Fused(out, changed=fusion.ops > 0, notes=notes, saved=fusion)


def _merge_chains(
    work: pd.DataFrame, rows: Rows, linked: Flags, saved: Floats, first: Rows
) -> tuple[pd.DataFrame, pd.Series]:
    """WORK with the amounts of each chain in its ``first`` row, and the rows that run in another's kernel."""
    amounts = (("bytes", saved), ("flop", np.zeros_like(saved)))
    fused = {name: _sum_chains(work[name], rows, first, less) for name, less in amounts}
    inner = pd.Series(False, index=work.index)
    inner.iloc[rows[linked]] = True
    begins = np.isin(np.arange(len(work)), first[linked])
    channels = work["conv_c"].mask(begins & np.isin(benchmark_kernels(work), ALONG_CHANNELS))
    operator = _operators(work, rows[linked], first[linked])
    out = work.assign(**fused, calls=work["calls"].mask(inner, 0.0), operator=operator, conv_c=channels)
    out["intensity"] = (out["flop"] / out["bytes"]).where(out["bytes"] > 0)
    return out, inner


def _unordered(work: pd.DataFrame) -> tuple[Flags, tuple[Note, ...]]:
    """The element-wise rows whose order of execution is unknown, and a note on them."""
    named_by_type = work["op"].eq(work["op_type"]) | work["op"].eq(work["op_type"] + " " + work["shapes"])
    sums = work["placement"].isna() & named_by_type.fillna(False).astype(bool)
    times = work.loc[~work["op_class"].isin(SKIPPED), "time_s"]
    by_time = len(times) >= BY_CHANCE and bool((times > 0).any()) and times.is_monotonic_decreasing
    unordered = (work["op_class"].eq("elementwise") & (sums | by_time) & ~is_fusion(work)).to_numpy(dtype=bool)
    if not unordered.any():
        return unordered, ()
    why = "the dump lists its ops by their times" if by_time else "each row sums up like ops"
    text = f"{int(unordered.sum())} element-wise rows are not fused, as their order is not known: {why}"
    return unordered, (Note("chain-order-unknown", text),)


def _rows_in_order(work: pd.DataFrame) -> Rows:
    """The row numbers lane by lane in the order of execution, without skipped ops and ops without calls."""
    lane = work.groupby(LANE, dropna=False, sort=False).ngroup().to_numpy()
    rows = np.argsort(lane, kind="stable")
    in_chain_order = ~work["op_class"].isin(SKIPPED) & (work["calls"].fillna(1.0) > 0)
    return np.asarray(rows[in_chain_order.to_numpy(dtype=bool)[rows]])


def _links(work: pd.DataFrame, rows: Rows, unordered: Flags, workload: Workload) -> tuple[Flags, Floats]:
    """Whether each row continues the chain of the row before it, and the traffic [B] that this saves."""
    parsed_ops = shapes.parse_ops(work, workload.batch_size)
    calls = work["calls"].fillna(1.0)
    fusible = _are_fusible(work.assign(calls=calls), unordered)
    pointwise = parsed_ops.read_each(fusible, _pointwise, "fusion")
    may_continue = (fusible & ~ends_in_variable(work)).to_numpy(dtype=bool)
    repeated = parsed_ops.codes[rows[:-1]] == parsed_ops.codes[rows[1:]]
    of_next_variable = repeated & in_phase(work, "optimizer").to_numpy()[rows[1:]]
    links = may_continue[rows[:-1]] & fusible.to_numpy(dtype=bool)[rows[1:]] & ~of_next_variable
    links &= _equals_previous(work.assign(calls=calls), [*LANE, "phase", "calls"], rows)
    between = np.where(links, _elements_between(parsed_ops.codes[rows], pointwise), 0.0)
    read, written = (sizes[rows] for sizes in moved_sizes(work))
    saved = between * (written[:-1] + read[1:]) * calls.to_numpy()[rows[1:]]
    return np.append(False, between > 0)[: len(rows)], np.append(0.0, saved)[: len(rows)]


def _are_fusible(work: pd.DataFrame, unordered: Flags) -> pd.Series:
    """Whether each row is an element-wise op, or a movement, of known sizes that a compiler may fuse."""
    moves_elements = (work["op_class"] == "elementwise") | work["operator"].eq(MOVES).fillna(False)
    return moves_elements & (work["work_source"] == "shapes") & (work["calls"] > 0) & ~unordered & ~is_fusion(work)


def _pointwise(op: shapes.Op) -> Pointwise | None:
    traffic, result = read_traffic(op), _result(op)
    return Pointwise(result, frozenset(op.operands), traffic) if traffic and result else None


def _result(op: shapes.Op) -> shapes.Shape | None:
    """The largest result; without results in the dump, the broadcast of the operands."""
    known = [shape for shape in op.outputs if shape is not None]
    if known or None in op.operands:
        return max(known, key=math.prod, default=None)
    try:
        return tuple(int(size) for size in np.broadcast_shapes(*op.operands))  # type: ignore[arg-type]
    except ValueError:
        return None


def _equals_previous(work: pd.DataFrame, names: list[str], rows: Rows) -> Flags:
    """Whether each row after the first equals the row before it in these columns."""
    group = work.groupby(names, dropna=False, sort=False).ngroup().to_numpy()[rows]
    return np.asarray(group[:-1] == group[1:])


def _elements_between(codes: Rows, pointwise: Mapping[int, Pointwise]) -> Floats:
    """Elements that each op after the first reads from the op before it, element by element; else 0."""
    pairs, place = np.unique(np.stack([codes[:-1], codes[1:]]), axis=1, return_inverse=True)
    sizes = [_elements_passed(pointwise.get(a), pointwise.get(b)) for a, b in pairs.T.tolist()]
    return np.array(sizes, dtype=float)[place.ravel()] if sizes else np.zeros(0)


def _elements_passed(writer: Pointwise | None, reader: Pointwise | None) -> int:
    if writer is None or reader is None or writer.result != reader.result or writer.result not in reader.operands:
        return 0
    size = math.prod(writer.result)
    return size if min(writer.traffic.written, reader.traffic.read) >= size else 0


def _operators(work: pd.DataFrame, rows: Rows, first: Rows) -> pd.Series:
    """The operator of each row. The ``first`` row of a chain takes the first activation among the chain's other
    ``rows``, as an activation takes longer than the chain's traffic.
    """
    operator = work["operator"].copy()
    slow = operator.isin(SLOW_ACTIVATIONS).to_numpy(dtype=bool)
    following = pd.Series(operator.iloc[rows].to_numpy(dtype=object), index=first)[slow[rows] & ~slow[first]]
    activation = following.groupby(level=0).first()
    operator.iloc[activation.index] = activation
    return operator


def _sum_chains(values: pd.Series, rows: Rows, first: Rows, saved: Floats) -> Floats:
    """The column with each chain's sum minus the savings in its first row, and 0 in its other rows."""
    out = values.to_numpy(dtype=float, na_value=np.nan).copy()
    parts = out[rows] - saved
    out[rows] = 0.0
    np.add.at(out, first, parts)
    return np.asarray(out)
