"""Chains of element-wise ops that a compiler runs as one kernel: WORK → WORK.

As XLA's loop fusion and TorchInductor do it: where each op of a chain reads what the one before it wrote, point for
point, what lies between them is neither written nor read again, and the chain is launched once. Only neighbours in the
order in which the ops ran are seen. A reduction or normalization ends no chain: what it reads mostly feeds a product as
well, so it is written anyway, and in XLA's own dumps reductions stand beside the element-wise fusions.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import pandas as pd

from estimator.core.notes import Note
from estimator.core.operators import benchmark_kernels
from estimator.core.types import Flags, Floats, Fusing, Fusion, Workload
from estimator.work import shapes
from estimator.work.casts import moved_sizes
from estimator.work.operators import ends_in_variable, is_fusion
from estimator.work.traffic import Traffic, read_traffic
from estimator.work.transformed import Transformed

LANE = ["placement", "stream", "rank"]
ASIDE = ("host", "input")  # classes of ops that stand between others without keeping them apart
MOVES = "assign"  # point for point; other copies arrange anew, or are parts of other ops
ALONG_CHANNELS = ("bias_add", "channel_sum", "bias_grad")
ACTIVATIONS = ("sigmoid", "sigmoid_grad", "tanh", "tanh_grad")  # take longer than to move their elements
BY_CHANCE = 8  # fewer ops may stand in the order of their times by chance
Rows = npt.NDArray[np.intp]


@dataclass(frozen=True)
class Pointwise:
    """An op that makes each element of its result from those of its operands in the same place."""

    result: shapes.Shape
    operands: frozenset[shapes.Shape | None]
    traffic: Traffic


@dataclass(frozen=True)
class Fused(Transformed):
    """WORK with its chains fused, and what that saves."""

    saved: Fusion = field(default_factory=Fusion)


def fuse(work: pd.DataFrame, workload: Workload, kind: Fusing) -> Fused:
    """WORK in which the first op of each chain bears all its traffic, arithmetic and launches, and the others none, and
    what that saves. The ops' times stay the source's. A chain goes along no channels: what a compiler writes is a loop,
    and not a library's kernel for biases.
    """
    if kind == "none":
        return Fused(work, changed=False)
    loose, unordered = _unordered(work)
    rows = _neighbours(work)
    linked, saved = _links(work, rows, loose, workload)
    first = rows[np.maximum.accumulate(np.where(linked, 0, np.arange(len(rows))))]
    out, inner = _merged(work, rows, linked, saved, first)
    launches = float(work["calls"].fillna(1.0)[inner].sum())
    chains = len(np.unique(first[linked]))
    fusion = Fusion(kind, chains, chains + int(linked.sum()), float(saved.sum()), launches)
    notes = (*unordered, Note("fusion", fusion.describe()))
    return Fused(out, changed=fusion.ops > 0, notes=notes, saved=fusion)


def _merged(
    work: pd.DataFrame, rows: Rows, linked: Flags, saved: Floats, first: Rows
) -> tuple[pd.DataFrame, pd.Series]:
    """WORK with the amounts of each chain in its ``first`` row, and the rows that run in another's kernel."""
    amounts = (("bytes", saved), ("flop", np.zeros_like(saved)))
    fused = {name: _gathered(work[name], rows, first, less) for name, less in amounts}
    inner = pd.Series(False, index=work.index)
    inner.iloc[rows[linked]] = True
    begins = np.isin(np.arange(len(work)), first[linked])
    channels = work["conv_c"].mask(begins & np.isin(benchmark_kernels(work), ALONG_CHANNELS))
    operator = _operators(work, rows[linked], first[linked])
    out = work.assign(**fused, calls=work["calls"].mask(inner, 0.0), operator=operator, conv_c=channels)
    out["intensity"] = (out["flop"] / out["bytes"]).where(out["bytes"] > 0)
    return out, inner


def _unordered(work: pd.DataFrame) -> tuple[Flags, tuple[Note, ...]]:
    """The element-wise rows of which nobody knows what ran before them, and a note on them."""
    of_type = work["op"].eq(work["op_type"]) | work["op"].eq(work["op_type"] + " " + work["shapes"])
    sums = work["placement"].isna() & of_type.fillna(False).astype(bool)
    times = work.loc[~work["op_class"].isin(ASIDE), "time_s"]
    by_time = len(times) >= BY_CHANCE and times.is_monotonic_decreasing
    loose = (work["op_class"].eq("elementwise") & (sums | by_time) & ~is_fusion(work)).to_numpy(dtype=bool)
    if not loose.any():
        return loose, ()
    why = "the dump lists its ops by their times" if by_time else "they are sums over alike ops"
    text = f"{int(loose.sum())} element-wise rows are not fused, as nothing tells what ran before: {why}"
    return loose, (Note("chain-order-unknown", text),)


def _neighbours(work: pd.DataFrame) -> Rows:
    """The numbers of the rows lane by lane, as they ran, without what runs aside, or no longer runs."""
    lane = work.groupby(LANE, dropna=False, sort=False).ngroup().to_numpy()
    rows = np.argsort(lane, kind="stable")
    stands = ~work["op_class"].isin(ASIDE) & (work["calls"].fillna(1.0) > 0)
    return np.asarray(rows[stands.to_numpy(dtype=bool)[rows]])


def _links(work: pd.DataFrame, rows: Rows, loose: Flags, workload: Workload) -> tuple[Flags, Floats]:
    """Whether each of these rows goes on with the chain of the one before it, and the traffic [B] which that saves."""
    parsed_ops = shapes.parse_ops(work, workload.batch_size)
    calls = work["calls"].fillna(1.0)
    fusible = (work["op_class"] == "elementwise") | work["operator"].eq(MOVES).fillna(False)
    fusible &= (work["work_source"] == "shapes") & (calls > 0) & ~loose & ~is_fusion(work)
    points = parsed_ops.each(fusible, _pointwise, "fusion")
    continues = (fusible & ~ends_in_variable(work)).to_numpy(dtype=bool)
    goes_on = continues[rows[:-1]] & fusible.to_numpy(dtype=bool)[rows[1:]]
    goes_on &= _alike(work.assign(calls=calls), [*LANE, "phase", "calls"], rows)
    repeated = parsed_ops.codes[rows[:-1]] == parsed_ops.codes[rows[1:]]  # in an update: the same of the next variable
    goes_on &= ~(repeated & work["phase"].eq("optimizer").to_numpy(dtype=bool, na_value=False)[rows[1:]])
    between = np.where(goes_on, _between(parsed_ops.codes[rows], points), 0.0)
    read, written = (sizes[rows] for sizes in moved_sizes(work))
    saved = between * (written[:-1] + read[1:]) * calls.to_numpy()[rows[1:]]
    return np.append(False, between > 0)[: len(rows)], np.append(0.0, saved)[: len(rows)]


def _pointwise(op: shapes.Op) -> Pointwise | None:
    traffic, result = read_traffic(op), _result(op)
    return Pointwise(result, frozenset(op.operands), traffic) if traffic and result else None


def _result(op: shapes.Op) -> shapes.Shape | None:
    """The largest result; where the dump tells none, the operands broadcast against each other."""
    known = [shape for shape in op.outputs if shape is not None]
    if known or None in op.operands:
        return max(known, key=math.prod, default=None)
    try:
        return tuple(int(size) for size in np.broadcast_shapes(*op.operands))  # type: ignore[arg-type]
    except ValueError:
        return None


def _alike(work: pd.DataFrame, names: list[str], rows: Rows) -> Flags:
    """Whether each of these rows but the first has the texts of the one before it."""
    group = work.groupby(names, dropna=False, sort=False).ngroup().to_numpy()[rows]
    return np.asarray(group[:-1] == group[1:])


def _between(codes: Rows, points: Mapping[int, Pointwise]) -> Floats:
    """Elements that each description's op but the first reads from the one before it, point for point; else 0."""
    pairs, place = np.unique(np.stack([codes[:-1], codes[1:]]), axis=1, return_inverse=True)
    sizes = [_passed(points.get(a), points.get(b)) for a, b in pairs.T.tolist()]
    return np.array(sizes, dtype=float)[place.ravel()] if sizes else np.zeros(0)


def _passed(maker: Pointwise | None, reader: Pointwise | None) -> int:
    if maker is None or reader is None or maker.result != reader.result or maker.result not in reader.operands:
        return 0
    size = math.prod(maker.result)
    return size if min(maker.traffic.written, reader.traffic.read) >= size else 0


def _operators(work: pd.DataFrame, rows: Rows, first: Rows) -> pd.Series:
    """The operator of each row; of a chain whose ``first`` op is no activation, the first activation among the ``rows``
    that follow it, as an activation takes longer than to move what the chain moves.
    """
    operator = work["operator"].copy()
    slow = operator.isin(ACTIVATIONS).to_numpy(dtype=bool)
    following = pd.Series(operator.iloc[rows].to_numpy(dtype=object), index=first)[slow[rows] & ~slow[first]]
    one = following.groupby(level=0).first()
    operator.iloc[one.index] = one
    return operator


def _gathered(values: pd.Series, rows: Rows, first: Rows, saved: Floats) -> Floats:
    """The column with each chain's sum, less what is saved, in its first row, and 0 in the others."""
    out = values.to_numpy(dtype=float, na_value=np.nan).copy()
    parts = out[rows] - saved
    out[rows] = 0.0
    np.add.at(out, first, parts)
    return np.asarray(out)
