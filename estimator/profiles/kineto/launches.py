"""Which op of a Kineto trace launched each device event, and which part of the op's work the event does."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np

from estimator.core.types import Flags, Integers
from estimator.profiles.columns import slices
from estimator.profiles.kineto import torch_ops
from estimator.profiles.kineto.nesting import Nesting, is_matrix
from estimator.profiles.kineto.trace import ABSENT, KERNEL, Trace

COLLECTIVE = re.compile(r"(?i)^(nccl|rccl)")  # kernels whose name says more than the op that launched them
EVERY, NO = -1, -2  # all pieces of an op's work, or none of them


@dataclass(frozen=True)
class Share:
    """For each device event: the row of its op (-1: none), the piece of the op's work that it does, and its calls."""

    op: Integers
    piece: Integers
    calls: Integers


def assign_work(trace: Trace, nest: Nesting) -> Share:
    """Assign the work of ops to device events.

    The longest kernel of a product gets its operands; a backward convolution's longest kernels get one gradient each,
    in order of time. For any other op, all kernels named like its longest one get the operands and count as one call.
    """
    op = _launching_ops(trace, nest)
    share = Share(op, np.full_like(op, NO), np.ones_like(op))
    rows = np.flatnonzero(_does_work(trace, nest, op))
    if len(rows):
        start, duration = trace.device["start"][rows], trace.device["duration"][rows]
        _assign_pieces(trace, share, rows[np.lexsort((start, -duration, op[rows]))])
    return share


def _does_work(trace: Trace, nest: Nesting, op: Integers) -> Flags:
    """Whether each device event is a kernel of a known op that does its own work."""
    collective = np.array([bool(COLLECTIVE.search(name)) for name in trace.names], dtype=bool)
    does_work: Flags = (op >= 0) & (trace.device["sort"] == KERNEL) & ~collective[trace.device["name"]]
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
    same_name = device["name"][rows] == device["name"][rows[first[call]]]
    works = np.where(matrix, rank < pieces, same_name)
    share.piece[rows[works]] = EVERY
    share.calls[rows[works & ~matrix & (rank > 0)]] = 0

    one_each = matrix & works & (pieces > 1) & (np.bincount(call)[call] >= pieces)
    call_of_kernel, kernels = call[one_each], rows[one_each]
    in_time = kernels[np.lexsort((device["start"][kernels], call_of_kernel))]
    share.piece[in_time] = np.arange(len(kernels)) - np.searchsorted(call_of_kernel, call_of_kernel)


def _launching_ops(trace: Trace, nest: Nesting) -> Integers:
    """The row of the op that launched each device event: the op that it names, else the op around its launch."""
    launches = trace.launches
    op = _look_up(trace.device["id"], trace.ops["id"])
    launch = _look_up(trace.device["correlation"], launches["correlation"])
    unresolved = np.flatnonzero((op < 0) & (launch >= 0))
    lane, start = launches["lane"][launch[unresolved]], launches["start"][launch[unresolved]]
    for rows in slices(trace.ops["lane"]):
        in_lane = np.flatnonzero(lane == trace.ops["lane"][rows.start])
        op[unresolved[in_lane]] = _innermost(trace, nest, rows, start[in_lane])
    return op


def _innermost(trace: Trace, nest: Nesting, lane: slice, times: Integers) -> Integers:
    """The row of the innermost op of a lane at each time; -1: none."""
    start, end = trace.ops["start"], trace.ops["start"] + trace.ops["duration"]
    row: Integers = np.searchsorted(start[lane], times, side="right") - 1 + lane.start
    row[row < lane.start] = -1
    while (ended := (row >= 0) & (end[row] <= times)).any():
        row[ended] = nest.parent[row[ended]]
    return row


def _look_up(wanted: Integers, known: Integers) -> Integers:
    """The row of each wanted id among the known ids; -1: not there."""
    if not len(known):
        return np.full_like(wanted, -1)
    order = np.argsort(known, kind="stable")
    row = order[np.minimum(np.searchsorted(known[order], wanted), len(known) - 1)]
    return np.where((known[row] == wanted) & (wanted != ABSENT), row, -1)
