"""Which op of a Kineto trace launched each device event, and which part of the op's work the event does."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np

from estimator.core.types import Flags, Integers
from estimator.profiles.columns import slices
from estimator.profiles.kineto import collectives, torch_ops
from estimator.profiles.kineto.collectives import named
from estimator.profiles.kineto.nesting import Nesting, is_matrix, product_above
from estimator.profiles.kineto.trace import ABSENT, KERNEL, Trace

HELPER = re.compile(  # beside the kernel that does a product's work
    r"(?i)split_?k_?reduce|reduce_?split_?k|post_?gsu|betaonly|compute\w*offsets|scal(epackedtensor)?_kernel"
    r"|(nchw|nhwc)to|batched_transpose|transpose_kernel|im2d?2?col|subtensorop|elementwise_kernel"
)
PRODUCT = re.compile(  # kernels whose name says that they do a product's work
    r"(?i)gemm|gemv|conv|[wd]grad|fprop|winograd|cijk_|nvjet|cutlass|xmma|matmul|_mm_|dot_kernel|fft|flash|fmha|attn|"
    r"attention"
)
GRADIENTS = {  # a pass of a convolution → kernels whose name says that they compute it alone
    "grad_weights": re.compile(r"(?i)wgrad|_wrw|bwd_?weight"),
    "grad_input": re.compile(r"(?i)dgrad|bwd_?data"),
}
EVERY, NO = -1, -2  # all pieces of an op's work, or none of them


@dataclass(frozen=True)
class Launches:
    """For each device event: the row of the op that launched it (-1: none), when (ABSENT: unknown) [ps], on which lane
    of the host (-1: unknown), and whether by a graph, whose ops ran when it was captured.
    """

    op: Integers
    time: Integers
    lane: Integers
    graph: Flags

    def take(self, rows: Flags) -> Launches:
        """The launches of these device events alone."""
        return Launches(self.op[rows], self.time[rows], self.lane[rows], self.graph[rows])


@dataclass(frozen=True)
class Share:
    """For each device event: the row of its op (-1: none), the piece of the op's work that it does, and its calls."""

    op: Integers
    piece: Integers
    calls: Integers


def find_launches(trace: Trace, nest: Nesting) -> Launches:
    """Where and when the host launched each device event: the op around its launch, by correlation.

    An event without a recorded launch, or with one on a thread of which no op is recorded, belongs to the one op that
    has its id, if there is one.
    """
    launches = trace.launches
    launch = _launch_of(trace.device["correlation"], trace.device["start"], launches["correlation"], launches["start"])
    by_id = _look_up(trace.device["id"], _unique(trace.ops["id"]))
    op = np.where(launch >= 0, -1, by_id)
    time = np.where(op >= 0, trace.ops["start"][op], ABSENT) if len(trace.ops) else np.full_like(op, ABSENT)
    known = np.flatnonzero(launch >= 0)
    time[known] = launches["start"][launch[known]]
    lane = np.full_like(op, -1)
    lane[known] = launches["lane"][launch[known]]
    for rows in slices(trace.ops["lane"]):
        in_lane = known[lane[known] == trace.ops["lane"][rows.start]]
        op[in_lane] = _innermost(trace, nest, rows, time[in_lane])
    without_ops = known[~np.isin(lane[known], trace.ops["lane"])]
    op[without_ops] = by_id[without_ops]
    _adopt_products(trace, nest, op)
    graph = np.zeros(len(op), dtype=bool)
    graph[known] = launches["graph"][launch[known]] > 0
    return Launches(op, time, lane, graph)


def assign_work(trace: Trace, nest: Nesting, launches: Launches) -> Share:
    """Assign the work of ops to device events.

    The longest kernel of a product gets its operands, of those whose name says that they do such work where there are
    any. A backward convolution's longest kernels get one gradient each, in order of time; a single kernel gets that of
    its name. For any other op, all kernels named like its longest one and on the same stream get the operands and count
    as one call.
    """
    op = launches.op
    share = Share(op, np.full_like(op, NO), np.ones_like(op))
    rows = np.flatnonzero(_does_work(trace, nest, op) & ~launches.graph)
    if len(rows):
        start, duration = trace.device["start"][rows], trace.device["duration"][rows]
        unlikely = np.where(named(trace, HELPER), 2, np.where(named(trace, PRODUCT), 0, 1))[rows]
        unlikely *= is_matrix(trace)[trace.ops["kind"][op[rows]]]
        _assign_pieces(trace, share, rows[np.lexsort((start, -duration, unlikely, op[rows]))])
    return share


def _does_work(trace: Trace, nest: Nesting, op: Integers) -> Flags:
    """Whether each device event is a kernel of a known op that does its own work."""
    does_work: Flags = (op >= 0) & (trace.device["sort"] == KERNEL) & ~named(trace, collectives.KERNEL)
    is_dispatch = nest.dispatch & is_matrix(trace)[trace.ops["kind"]]
    does_work[does_work] &= ~is_dispatch[op[does_work]]
    return does_work


def _assign_pieces(trace: Trace, share: Share, rows: Integers) -> None:
    """Fill ``share`` for the kernels ``rows``, which are sorted by call, the longest first."""
    device, kind = trace.device, trace.ops["kind"][share.op[rows]]
    is_first = np.diff(share.op[rows], prepend=-1) != 0
    call, first = np.cumsum(is_first) - 1, np.flatnonzero(is_first)
    rank = np.arange(len(rows)) - first[call]
    matrix = is_matrix(trace)[kind]
    pieces = np.array([len(torch_ops.describe(described)) for described in trace.calls], dtype=np.int64)[kind]
    longest = rows[first[call]]
    same_name = (device["name"][rows] == device["name"][longest]) & (device["lane"][rows] == device["lane"][longest])
    works = np.where(matrix, rank < pieces, same_name)
    share.piece[rows[works]] = EVERY
    share.calls[rows[works & ~matrix & (rank > 0)]] = 0

    one_each = matrix & works & (pieces > 1) & (np.bincount(call)[call] >= pieces)
    call_of_kernel, kernels = call[one_each], rows[one_each]
    in_time = kernels[np.lexsort((device["start"][kernels], call_of_kernel))]
    share.piece[in_time] = np.arange(len(kernels)) - np.searchsorted(call_of_kernel, call_of_kernel)

    is_helper = named(trace, HELPER)[rows]
    alone = matrix & (pieces > 1) & (np.bincount(call, weights=~is_helper)[call] == 1)
    share.piece[rows[alone & is_helper]] = NO
    _assign_lone_gradients(trace, share, rows[alone & ~is_helper])


def _assign_lone_gradients(trace: Trace, share: Share, rows: Integers) -> None:
    """Fill ``share`` where one kernel alone ran of a backward convolution of both gradients: the one that it names.

    The first layer of a network needs no gradient of its image, and a trace without values does not say so.
    """
    kind = trace.ops["kind"][share.op[rows]]
    calls = [*trace.calls] if len(rows) else []
    for number in np.unique(kind).tolist():
        for piece, work in enumerate(torch_ops.describe(calls[number])):
            names = GRADIENTS.get(str(work.attributes).rpartition("pass=")[2])
            if names is not None:
                share.piece[rows[(kind == number) & named(trace, names)[rows]]] = piece


def _innermost(trace: Trace, nest: Nesting, lane: slice, times: Integers) -> Integers:
    """The row of the innermost op of a lane at each time; -1: none. Ops of no duration, as rounded, hold nothing."""
    start, end = trace.ops["start"], trace.ops.end
    lasting = np.flatnonzero(trace.ops["duration"][lane] > 0) + lane.start
    row: Integers = np.append(lasting, -1)[np.searchsorted(start[lasting], times, side="right") - 1]
    while (ended := (row >= 0) & (end[row] <= times)).any():
        row[ended] = nest.parent[row[ended]]
    return row


def _adopt_products(trace: Trace, nest: Nesting, op: Integers) -> None:
    """Put the product around a library's own op in its place: its operands are known, and the library does its work."""
    foreign = np.array(["::" in call.name and not call.name.startswith("aten::") for call in trace.calls], dtype=bool)
    matrix = is_matrix(trace)
    rows = np.flatnonzero(op >= 0)
    kind = trace.ops["kind"][op[rows]]
    rows = rows[foreign[kind] & ~matrix[kind]]
    above = product_above(trace, nest, op[rows])
    op[rows[above >= 0]] = above[above >= 0]


def _launch_of(wanted: Integers, wanted_start: Integers, known: Integers, start: Integers) -> Integers:
    """The row of each event's launch: of several with one id, as of several processes, the last before the event.

    The id 0 of several launches names none. −1: there is none.
    """
    order = np.lexsort((start, known))
    first, end = (np.searchsorted(known[order], wanted, side=side) for side in ("left", "right"))
    row = np.where((end > first) & (wanted != ABSENT), first, -1)
    shared = np.flatnonzero((end - first > 1) & (row >= 0))
    for event in shared.tolist():
        earlier = np.searchsorted(start[order[first[event] : end[event]]], wanted_start[event], side="right")
        row[event] = first[event] + max(int(earlier) - 1, 0) if wanted[event] else -1
    return np.where(row >= 0, order[row], -1) if len(order) else np.full_like(row, -1)


def _unique(ids: Integers) -> Integers:
    """Ids that name one op; ABSENT in place of those that several ops share."""
    known, place, count = np.unique(ids, return_inverse=True, return_counts=True)
    return np.where(count[place] == 1, known[place], ABSENT)


def _look_up(wanted: Integers, known: Integers) -> Integers:
    """The row of each wanted id among the known ids; -1: not there."""
    if not len(known):
        return np.full_like(wanted, -1)
    order = np.argsort(known, kind="stable")
    row = order[np.minimum(np.searchsorted(known[order], wanted), len(known) - 1)]
    return np.where((known[row] == wanted) & (wanted != ABSENT), row, -1)
