"""Which op of a Kineto trace launched each device event, and which part of the op's work the event does."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from estimator.core.types import Flags, Integers
from estimator.profiles.columns import slices
from estimator.profiles.kineto import collectives, torch_ops
from estimator.profiles.kineto.collectives import named
from estimator.profiles.kineto.nesting import Nesting, are_calls, are_products, product_above
from estimator.profiles.kineto.trace import ABSENT, KERNEL, Trace

HELPER = re.compile(  # beside the kernel that does a product's work
    r"(?i)split_?k_?reduce|reduce_?split_?k|post_?gsu|cijk_(?!a)|compute\w*offsets|scal(epackedtensor)?_kernel"
    r"|(nchw|nhwc)to|batched_transpose|transpose_kernel|im2d?2?col|subtensorop|elementwise_kernel"
)
PRODUCT = re.compile(  # kernels whose name says that they do a product's work
    r"(?i)gemm|gemv|conv(?!er)|[wd]grad|fprop|winograd|cijk_|nvjet|cutlass|xmma|matmul|_mm_|dot_kernel|fft|flash|fmha|attn|"
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
    launches, device = trace.launches, trace.device
    launch = _launch_of(device["correlation"], device["start"], launches["correlation"], launches["start"])
    by_id = _look_up(device["id"], _unique(trace.ops["id"]))
    lane = _at(launches["lane"], launch, missing=-1)
    time = np.where(launch >= 0, _at(launches["start"], launch, ABSENT), _at(trace.ops["start"], by_id, ABSENT))
    op = by_id.copy()
    for thread in slices(trace.ops["lane"]):
        launched = np.flatnonzero(lane == trace.ops["lane"][thread.start])
        op[launched] = _innermost(trace, nest, thread, time[launched])
    _adopt_products(trace, nest, op)
    return Launches(op, time, lane, _at(launches["graph"], launch, missing=0) > 0)


def _at(column: Integers, rows: Integers, missing: int) -> Integers:
    """The values of a column at these rows; ``missing`` for the row -1."""
    return np.asarray(np.append(column, missing)[rows])


def assign_work(trace: Trace, nest: Nesting, launches: Launches) -> Share:
    """Assign the work of ops to device events."""
    share = Share(launches.op, np.full_like(launches.op, NO), np.ones_like(launches.op))
    events = np.flatnonzero(_does_work(trace, nest, launches.op) & ~launches.graph)
    is_product = are_products(trace)[launches.op[events]]
    _assign_products(trace, share, events[is_product])
    _assign_others(trace, share, events[~is_product])
    return share


def _does_work(trace: Trace, nest: Nesting, op: Integers) -> Flags:
    """Whether each device event is a kernel of a known op that does its own work."""
    does_work: Flags = (op >= 0) & (trace.device["sort"] == KERNEL) & ~named(trace, collectives.KERNEL)
    is_dispatch = nest.dispatch & are_products(trace)
    does_work[does_work] &= ~is_dispatch[op[does_work]]
    return does_work


class _Kernels(NamedTuple):
    """Kernels sorted by the call that launched them: event, number of the call, and place among the call's kernels."""

    event: Integers
    call: Integers
    place: Integers


def _by_call(trace: Trace, share: Share, events: Integers, likely: Integers) -> _Kernels:
    """The kernels of each call, those that are most likely to do its work first, and of these the longest."""
    start, duration = trace.device["start"][events], trace.device["duration"][events]
    events = events[np.lexsort((start, -duration, -likely, share.op[events]))]
    is_first = np.diff(share.op[events], prepend=-1) != 0
    call = np.cumsum(is_first) - 1
    return _Kernels(events, call, np.arange(len(events)) - np.flatnonzero(is_first)[call])


def _assign_others(trace: Trace, share: Share, events: Integers) -> None:
    """Fill ``share`` for ops that are no products: all kernels named like an op's longest one, and on its stream, get
    the operands and count as one call.
    """
    kernel, call, place = _by_call(trace, share, events, likely=np.zeros_like(events))
    name, stream = trace.device["name"][kernel], trace.device["lane"][kernel]
    is_longest = place == 0
    works = (name == name[is_longest][call]) & (stream == stream[is_longest][call])
    share.piece[kernel[works]] = EVERY
    share.calls[kernel[works & ~is_longest]] = 0


def _assign_products(trace: Trace, share: Share, events: Integers) -> None:
    """Fill ``share`` for products: the longest kernel gets the operands, of those whose name says that they do such
    work where there are any.

    A backward convolution's longest kernels get one gradient each, in order of time; a single kernel gets that of its
    name.
    """
    helpers = named(trace, HELPER)
    likely = np.where(helpers, 0, np.where(named(trace, PRODUCT), 2, 1))[events]
    kernel, call, place = _by_call(trace, share, events, likely)
    pieces_of_kind = np.array([len(torch_ops.describe(described)) for described in trace.calls], dtype=np.int64)
    pieces = pieces_of_kind[trace.ops["kind"][share.op[kernel]]]
    share.piece[kernel[place < pieces]] = EVERY
    one_each = (pieces > 1) & (place < pieces) & (np.bincount(call)[call] >= pieces)
    _assign_gradients_in_time(trace, share, kernel[one_each], call[one_each])
    is_helper = helpers[kernel]
    alone = (pieces > 1) & (np.bincount(call, weights=~is_helper)[call] == 1)
    share.piece[kernel[alone & is_helper]] = NO
    _assign_lone_gradients(trace, share, kernel[alone & ~is_helper])


def _assign_gradients_in_time(trace: Trace, share: Share, kernels: Integers, call: Integers) -> None:
    """Fill ``share`` where each gradient of a call has a kernel; ``kernels`` are sorted by ``call``."""
    in_time = kernels[np.lexsort((trace.device["start"][kernels], call))]
    share.piece[in_time] = np.arange(len(kernels)) - np.searchsorted(call, call)


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
    foreign = are_calls(trace, torch_ops.is_of_library) & ~are_products(trace)
    rows = np.flatnonzero(op >= 0)
    rows = rows[foreign[op[rows]]]
    above = product_above(trace, nest, op[rows])
    op[rows[above >= 0]] = above[above >= 0]


def _launch_of(wanted: Integers, wanted_start: Integers, known: Integers, start: Integers) -> Integers:
    """The row of each event's launch; −1: there is none.

    Of several launches with one id, as of several processes, each is of one event, in the order of time, where these
    are as many; else an event's is the last before it. The id 0 of several launches names none.
    """
    order = np.lexsort((start, known))
    start = start[order]
    first, end = (np.searchsorted(known[order], wanted, side=side) for side in ("left", "right"))
    row = np.where((end > first) & (wanted != ABSENT), first, -1)
    shared = np.flatnonzero((end - first > 1) & (row >= 0))
    row[shared[wanted[shared] == 0]] = -1
    shared = shared[wanted[shared] != 0]
    shared = shared[np.lexsort((wanted_start[shared], wanted[shared]))]
    for id_ in slices(wanted[shared]):
        events = shared[id_]
        launches = np.arange(first[events[0]], end[events[0]])
        if len(launches) != len(events) or (start[launches] > wanted_start[events]).any():
            earlier = np.searchsorted(start[launches], wanted_start[events], side="right")
            launches = launches[np.maximum(earlier - 1, 0)]
        row[events] = launches
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
