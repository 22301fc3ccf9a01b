"""The rows of OPS that a Kineto trace's events make: numbered by what describes them, summed, and written out."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pandas as pd

from estimator.core.attributes import DISPATCH
from estimator.core.schema import PHASES
from estimator.core.types import Flags, Integers
from estimator.profiles.columns import Ids
from estimator.profiles.events import LAST
from estimator.profiles.kineto import torch_ops
from estimator.profiles.kineto.arguments import Call, Work
from estimator.profiles.kineto.collectives import NOTHING, Message, messages_of_events
from estimator.profiles.kineto.composed_layers import NO_LAYER, describe_part, keep_tensors, mark_layers
from estimator.profiles.kineto.graph import Graph
from estimator.profiles.kineto.launches import EVERY, NO, Launches, assign_work
from estimator.profiles.kineto.nesting import FORWARD, UNKNOWN, Nesting
from estimator.profiles.kineto.trace import Trace

TF32 = re.compile(r"tf32|s1688(gemm|fprop|dgrad|wgrad)|nvjet_(sm\d+_)?s(?!m)|Cijk_\w+?_S(_M)?X_")
MOST_BYTES = 2**40  # of one copy
UNNAMED = "unnamed"
OF_WRAPPER = Work(attributes=DISPATCH)
DESCRIBED = ("op", "op_type", "kernel", "placement", "stream", "phase", *Work._fields)


class _Key(NamedTuple):
    """What distinguishes a row of OPS from others, as numbers."""

    kind: int  # of op; -1: unknown
    name: int  # of the kernel; -1: on the processor
    lane: int  # stream; -1: on the processor
    phase: int
    piece: int  # of the op's work
    sent: int  # message; NOTHING: none
    layer: int  # that a processor ran op by op (mark_layers); NO_LAYER: none


@dataclass(frozen=True)
class Rows:
    """The rows of OPS as numbers.

    Each line of ``keys`` is a :class:`_Key`. Each line of ``amounts`` holds calls, time [ps] and bytes.
    ``of_event`` is the line of each event, ``op`` its op (-1: unknown); ``tracked`` tells whether it is a call that
    autograd tracks.
    """

    keys: Integers
    amounts: Integers
    of_event: Integers
    op: Integers
    tracked: Flags


def rows_on_host(trace: Trace, nest: Nesting, graph: Graph, in_steps: Flags) -> Rows:
    """The ops of the processor, with their self time."""
    kind = trace.ops["kind"][in_steps]
    on_no_device, ones = np.full_like(kind, -1), np.ones_like(kind)
    piece = np.where(nest.dispatch[in_steps], NO, EVERY)
    nothing, layer = np.full_like(kind, NOTHING), mark_layers(trace, nest, graph.runs_again)[in_steps]
    row_of_op, keys = _number_lines(kind, on_no_device, on_no_device, nest.phase[in_steps], piece, nothing, layer)
    amounts = _sums_by_row(row_of_op, ones, nest.self_ps[in_steps], 0 * ones)
    tracked = graph.tracked[in_steps] | keep_tensors(trace, kind, layer)
    tracked &= nest.phase[in_steps] == FORWARD
    rows = Rows(keys, amounts, row_of_op, np.flatnonzero(in_steps), tracked)
    return _in_program_order(rows, trace.ops["start"][in_steps])


def rows_on_device(trace: Trace, nest: Nesting, graph: Graph, launches: Launches) -> Rows:
    """The events of devices; events that overlap keep their whole duration."""
    device, share = trace.device, assign_work(trace, nest, launches)
    has_op = share.op >= 0
    kind, phase = np.full_like(share.op, -1), np.full_like(share.op, UNKNOWN)
    kind[has_op], phase[has_op] = trace.ops["kind"][share.op[has_op]], nest.phase[share.op[has_op]]
    sent = messages_of_events(trace, launches)
    row_of_event, keys = _number_lines(
        kind, device["name"], device["lane"], phase, share.piece, sent, np.full_like(kind, NO_LAYER)
    )
    sizes = np.array([message.bytes for message in trace.messages] + [0], dtype=np.int64)  # NOTHING is the last one
    moved_bytes = np.clip(np.where(sent == NOTHING, device["bytes"], sizes[sent]), 0, MOST_BYTES)
    amounts = _sums_by_row(row_of_event, share.calls, device["duration"], moved_bytes)
    is_call = has_op & (share.piece != NO) & (share.calls > 0)
    is_call[is_call] = graph.tracked[share.op[is_call]]
    return _in_program_order(Rows(keys, amounts, row_of_event, share.op, is_call), device["start"])


def _in_program_order(rows: Rows, start: Integers) -> Rows:
    """The rows in the order in which they first ran."""
    first = np.full(len(rows.keys), LAST)
    np.minimum.at(first, rows.of_event, start)
    order = np.argsort(first, kind="stable")
    return Rows(rows.keys[order], rows.amounts[order], np.argsort(order)[rows.of_event], rows.op, rows.tracked)


def _sums_by_row(row: Integers, *columns: Integers) -> Integers:
    """Sums of each column over the events of each row: rows × columns."""
    sums = np.zeros((int(row.max(initial=-1)) + 1, len(columns)), dtype=np.int64)
    np.add.at(sums, row, np.stack(columns, axis=1))
    return sums


def _number_lines(*columns: Integers) -> tuple[Integers, Integers]:
    """For each line its number among the distinct lines, and the distinct lines."""
    number = np.zeros(len(columns[0]), dtype=np.int64)
    for column in columns:
        number = np.unique(number * (np.ptp(column) + 1) + column - column.min(), return_inverse=True)[1]
    first = np.unique(number, return_index=True)[1]
    return number, np.stack([column[first] for column in columns], axis=1)


def table_of_rows(trace: Trace, rows: Rows) -> tuple[pd.DataFrame, Integers]:
    """The rows of OPS of all steps together, rows with equal descriptions summed; and the OPS row of each of ``rows``:
    the first, where its work is in pieces.
    """
    numbers = Ids()
    pairs = [(source, numbers[description]) for source, description in _descriptions(trace, rows)]
    source_row, row = np.array(pairs, dtype=np.int64).T
    calls, time_ps, moved_bytes = _sums_by_row(row, *rows.amounts[source_row].T).T
    table = pd.DataFrame(list(numbers), columns=["pieces", *DESCRIBED])
    times = time_ps / 1e12 / table.pop("pieces")
    bytes_ = np.where(moved_bytes > 0, moved_bytes, np.nan)
    first_row = row[np.unique(source_row, return_index=True)[1]]
    return table.assign(calls=calls, time_s=times, reported_bytes=bytes_), first_row


def _descriptions(trace: Trace, rows: Rows) -> Iterator[tuple[int, tuple[object, ...]]]:
    """Yield the row number and (number of pieces, *DESCRIBED) for each piece of each row's work."""
    calls, names, streams, messages = list(trace.calls), list(trace.names), list(trace.streams), list(trace.messages)
    for row, key in enumerate(map(_Key._make, rows.keys.tolist())):
        kernel = names[key.name] if key.name >= 0 else None
        call = calls[key.kind] if key.kind >= 0 else Call(str(kernel))
        message = messages[key.sent] if key.sent != NOTHING else None
        op_type = (message and message.op_type) or (kernel if kernel and key.piece == NO else call.name)
        place = ("cpu", None) if key.lane < 0 else (f"gpu:{streams[key.lane][0]}", str(streams[key.lane][1]))
        names_of_op = (call.name or UNNAMED, op_type or UNNAMED, kernel)
        pieces = _work(call, kernel, key.piece)
        for work in pieces:
            work = _sent(message, work) if message else work
            work = describe_part(call, key.kind, key.layer, work) if key.layer != NO_LAYER else work
            yield row, (len(pieces), *names_of_op, *place, PHASES[key.phase], *_in_tf32(work, kernel))


def _in_tf32(work: Work, kernel: str | None) -> Work:
    """The work in TF32 where the kernel's name says so: the types of its operands do not."""
    runs_in_it = work.precision == "fp32" and TF32.search(kernel or "")
    return work._replace(precision="tf32") if runs_in_it else work


def _sent(message: Message, work: Work) -> Work:
    """The work of a kernel that sends: its message where that is known, else what its op tells."""
    if not message.given:
        return work._replace(attributes=message.attributes)
    given, got = message.sizes
    return Work(given, message.attributes, message.precision, got)


def _work(call: Call, kernel: str | None, piece: int) -> Sequence[Work]:
    if piece == NO:
        return (Work() if kernel else OF_WRAPPER,)
    work = torch_ops.describe(call)
    return work if piece == EVERY else work[piece : piece + 1]
