"""What ran on devices in a Kineto trace, and which op launched it."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np

from estimator.core.types import Flags, Integers
from estimator.profiles.columns import slices
from estimator.profiles.kineto import torch_ops
from estimator.profiles.kineto.nesting import Nesting, is_matrix
from estimator.profiles.kineto.trace import ABSENT, KERNEL, Trace

COLLECTIVE = re.compile(r"(?i)^(nccl|rccl)")  # kernels that say more than the op that launched them
EVERY, NO = -1, -2  # all pieces of an op's work, or none of them


@dataclass(frozen=True)
class Share:
    """Of every device event: the row of its op (-1 for none), the piece of the op's work that it does, its calls."""

    op: Integers
    piece: Integers
    calls: Integers


def share_out(trace: Trace, nested: Nesting) -> Share:
    """Which work each device event does.

    Of a product's kernels only the longest has operands (of a backward convolution as many as it computes gradients,
    in their order); of another op's kernels those with the longest one's name have them, and count as one call.
    """
    op = _launchers(trace, nested)
    share = Share(op, np.full_like(op, NO), np.ones_like(op))
    rows = np.flatnonzero(_working(trace, nested, op))
    if len(rows):
        start, duration = trace.device["start"][rows], trace.device["duration"][rows]
        _of_each_call(trace, share, rows[np.lexsort((start, -duration, op[rows]))])
    return share


def _working(trace: Trace, nested: Nesting, op: Integers) -> Flags:
    """Kernels of a known op that does its own work."""
    collective = np.array([bool(COLLECTIVE.search(name)) for name in trace.names], dtype=bool)
    working: Flags = (op >= 0) & (trace.device["sort"] == KERNEL) & ~collective[trace.device["name"]]
    hands_on = nested.dispatch & is_matrix(trace)[trace.ops["kind"]]
    working[working] &= ~hands_on[op[working]]
    return working


def _of_each_call(trace: Trace, share: Share, rows: Integers) -> None:
    """Share out the work of every call among its kernels: ``rows``, by call, the longest first."""
    device, kind = trace.device, trace.ops["kind"][share.op[rows]]
    is_first = np.diff(share.op[rows], prepend=-1) != 0
    call, first = np.cumsum(is_first) - 1, np.flatnonzero(is_first)
    rank = np.arange(len(rows)) - first[call]
    matrix = is_matrix(trace)[kind]
    pieces = np.array([len(torch_ops.describe(found)) for found in trace.calls], dtype=np.int64)[kind]
    alike = device["name"][rows] == device["name"][rows[first[call]]]
    works = np.where(matrix, rank < pieces, alike)
    share.piece[rows[works]] = EVERY
    share.calls[rows[works & ~matrix & (rank > 0)]] = 0

    one_each = matrix & works & (pieces > 1) & (np.bincount(call)[call] >= pieces)
    of, kernels = call[one_each], rows[one_each]
    in_time = kernels[np.lexsort((device["start"][kernels], of))]
    share.piece[in_time] = np.arange(len(of)) - np.searchsorted(of, of)


def _launchers(trace: Trace, nested: Nesting) -> Integers:
    """The row of the op that launched each device event: the one that it names, else the one around its launch."""
    launches = trace.launches
    op = _look_up(trace.device["id"], trace.ops["id"])
    launch = _look_up(trace.device["correlation"], launches["correlation"])
    open_ = np.flatnonzero((op < 0) & (launch >= 0))
    lane, start = launches["lane"][launch[open_]], launches["start"][launch[open_]]
    for rows in slices(trace.ops["lane"]):
        here = np.flatnonzero(lane == trace.ops["lane"][rows.start])
        op[open_[here]] = _innermost(trace, nested, rows, start[here])
    return op


def _innermost(trace: Trace, nested: Nesting, lane: slice, times: Integers) -> Integers:
    """The innermost op of a lane at each time, -1 for none."""
    start, end = trace.ops["start"], trace.ops["start"] + trace.ops["duration"]
    row: Integers = np.searchsorted(start[lane], times, side="right") - 1 + lane.start
    row[row < lane.start] = -1
    while (over := (row >= 0) & (end[row] <= times)).any():
        row[over] = nested.parent[row[over]]
    return row


def _look_up(wanted: Integers, known: Integers) -> Integers:
    """The row of each wanted id among the known ones, -1 where it is not."""
    if not len(known):
        return np.full_like(wanted, -1)
    order = np.argsort(known, kind="stable")
    row = order[np.minimum(np.searchsorted(known[order], wanted), len(known) - 1)]
    return np.where((known[row] == wanted) & (wanted != ABSENT), row, -1)
