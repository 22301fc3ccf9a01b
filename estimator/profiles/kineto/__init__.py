"""Reader of PyTorch's Kineto JSON (``torch.profiler``, ``export_chrome_trace``), from processors and GPUs.

Where GPU events were recorded, each of them is a row, described by the op that launched it; the processor's ops only
launch. Otherwise the processor's ops are the rows, with their self time. An op that calls another op for its work
(``aten::linear`` calls ``aten::addmm``, ``aten::to`` calls ``aten::copy_``) keeps its own time, but has no operands and
the attribute ``dispatch=1``, so that work counts once. A backward convolution becomes one row per gradient; they share
its time equally, because each gradient takes the same FLOP.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from estimator.core.errors import EstimatorError
from estimator.core.schema import PHASES
from estimator.core.types import Flags, Integers, Optimizer, Profile, Workload
from estimator.profiles import canonical, chrome_trace, ranks
from estimator.profiles.columns import Ids
from estimator.profiles.dump import Dump
from estimator.profiles.events import LAST
from estimator.profiles.frameworks import PYTORCH, with_framework
from estimator.profiles.kineto import autograd, torch_ops
from estimator.profiles.kineto.arguments import Call, Work
from estimator.profiles.kineto.attention_gradients import complete_attention
from estimator.profiles.kineto.checkpoints import checkpointed_blocks, gradients_of_inputs
from estimator.profiles.kineto.collectives import NOTHING, Message, messages_of_events, world_size
from estimator.profiles.kineto.composed_layers import NO_LAYER, describe_part, keep_tensors, mark_layers
from estimator.profiles.kineto.convolutions import complete_convolutions
from estimator.profiles.kineto.devices import (
    by_device,
    device_numbers,
    device_recorded,
    left_out,
    mean_over_devices,
    on_computing_devices,
    refuse_foreign,
    rows_of_first,
)
from estimator.profiles.kineto.frozen_weights import frozen_numbers, frozen_products
from estimator.profiles.kineto.launches import EVERY, NO, Launches, assign_work, find_launches
from estimator.profiles.kineto.nesting import BACK, FORWARD, UNKNOWN, UPDATE, Nesting, are_calls, nest_ops
from estimator.profiles.kineto.step_timeline import step_timeline
from estimator.profiles.kineto.steps import Steps, busy_s, find_steps, span_ps
from estimator.profiles.kineto.trace import Trace, scan
from estimator.profiles.modes import with_mode
from estimator.profiles.steps import NOTHING_IN_STEPS
from estimator.profiles.timeline import step_at

FORMAT = "PyTorch trace (Kineto JSON)"
VIEWS = False
COMPANIONS = ("*.txt", "*.html", "*.pickle")  # tables of averages, stacks, memory

KNOWN_HEAD = re.compile(
    rb'(?i)"cat"\s*:\s*"(cpu_op|cpu_instant_event|operator|(gpu_)?user_annotation|python_function|\w+_(runtime|driver)'
    rb'|runtime|kernel|(gpu_)?mem(cpy|set)|fwdbwd|ac2g|async_(gpu|cpu)|hpu_op)"'
    rb'|"(schemaVersion|baseTimeNanoseconds|deviceProperties|distributedInfo|record_shapes|with_stack|with_flops'
    rb'|profile_memory)"\s*:'
)
TF32 = re.compile(r"tf32|s1688(gemm|fprop|dgrad|wgrad)")
GRADIENT = re.compile(r"(?i)backward(_(input|weight)s?)?$")  # ends the names of ops that only training runs
FILE_OF_RANK = re.compile(r"(?i)(?:^|[^a-z])rank[-_ ]?(\d{1,6})(?!\d)")
LARGEST_RANK = 10**6
MOST_BYTES = 2**40  # of one copy
LEAST_UNNAMED = 0.02  # share of the ops' time in unnamed kernels, above which a warning is given
UNNAMED = "unnamed"
DISPATCH = Work(attributes="dispatch=1")
DESCRIBED = ("op", "op_type", "kernel", "placement", "stream", "phase", *Work._fields)


def recognises(head: bytes) -> bool:
    """Whether the content is JSON with keys that only Kineto writes."""
    return head.lstrip(b"\xef\xbb\xbf \t\r\n")[:1] in (b"{", b"[") and bool(KNOWN_HEAD.search(head))


def read(dumps: list[Dump], workload: Workload) -> Profile:
    """Read one trace. Raises EstimatorError where it is damaged, its ops do not nest, or nothing took time."""
    trace = scan(dumps[0])
    if not (len(trace.ops) or len(trace.device)):
        raise EstimatorError(f"{trace.where}: it holds no op; expected cpu_op or kernel events, so profile it again")
    if not len(trace.device):
        refuse_foreign(trace)
    for events_with_time in (trace.ops, trace.device):
        chrome_trace.refuse_overflow(events_with_time["duration"], trace.where)
    nest = nest_ops(trace)
    complete_convolutions(trace, nest)
    complete_attention(trace, nest)
    launches = find_launches(trace, nest)
    steps = find_steps(trace, launches.time)
    on_device = bool(len(trace.device))
    computing = on_computing_devices(trace)
    counted, idle = (steps.step >= 0) & computing, left_out(trace, computing)
    whole, all_launches = dataclasses.replace(trace), launches
    trace.device, launches = trace.device.take(counted), launches.take(counted)
    timed = trace.device if on_device else trace.ops.take(steps.ops)
    if not len(timed):
        raise EstimatorError(f"{trace.where}: {NOTHING_IN_STEPS}")
    rows = _on_device(trace, nest, launches) if on_device else _on_host(trace, nest, steps.ops)
    workers = by_device(trace) if on_device else [timed]
    table, row_of_line = _table(trace, rows)
    ops = canonical.to_ops(table, trace.where)
    timeline = None
    if on_device:
        row_of_event = np.full(len(counted), -1)
        row_of_event[counted] = rows_of_first(ops, len(workers))[row_of_line[rows.of_event]]
        timeline = step_timeline(whole, all_launches, steps, row_of_event)
    row_of_call = rows_of_first(ops, len(workers))[row_of_line[rows.of_event]]
    of_call = steps.step[counted] if on_device else _step_of_op(steps, timed["start"])
    ops = mean_over_devices(ops, len(workers))
    profile = Profile(
        ops=_with_places(ops, rows, row_of_call, timed["start"], of_call, trace, nest),
        timeline=timeline,
        workload=_as_traced(workload, trace, nest, steps),
        device=None,
        format="Kineto JSON",
        device_recorded=device_recorded(trace),
        device_numbers=device_numbers(trace),
        recorded_s=_recorded_s(trace),
        wall_step_s=steps.wall_s,
        busy_step_s=float(np.mean([busy_s(worker) for worker in workers])),
        ranks=len(workers),
        world_size=world_size(trace),
        tool_version=_version(trace),
        warnings=(
            *steps.warnings,
            *_missing_data(trace, on_device),
            *([] if on_device else _unnamed_kernels(trace, nest)),
            *ranks.device_warnings(len(workers), idle),
            *_crossing(nest),
        ),
    )
    return dataclasses.replace(canonical.per_step(profile, steps.count), updates=steps.updates)


@dataclass(frozen=True)
class _Rows:
    """The rows of OPS as numbers.

    Each line of ``keys`` holds the kind of op (-1: unknown), kernel name and stream (-1: on the processor), phase,
    piece of the op's work, message (NOTHING: none), and layer that a processor ran op by op (mark_layers;
    NO_LAYER: none). Each line of ``amounts`` holds calls, time [ps] and bytes.
    ``of_event`` is the line of each event, ``op`` its op (-1: unknown); ``tracked`` tells whether it is a call that
    autograd tracks.
    """

    keys: Integers
    amounts: Integers
    of_event: Integers
    op: Integers
    tracked: Flags


def _on_host(trace: Trace, nest: Nesting, in_steps: Flags) -> _Rows:
    kind = trace.ops["kind"][in_steps]
    on_no_device, ones = np.full_like(kind, -1), np.ones_like(kind)
    piece = np.where(nest.dispatch[in_steps], NO, EVERY)
    nothing, layer = np.full_like(kind, NOTHING), mark_layers(trace, nest)[in_steps]
    row_of_op, keys = _number_lines(kind, on_no_device, on_no_device, nest.phase[in_steps], piece, nothing, layer)
    amounts = _sums_by_row(row_of_op, ones, nest.self_ps[in_steps], 0 * ones)
    tracked = autograd.tracked(trace, nest)[in_steps] | keep_tensors(trace, kind, layer)
    tracked &= nest.phase[in_steps] == FORWARD
    rows = _Rows(keys, amounts, row_of_op, np.flatnonzero(in_steps), tracked)
    return _in_program_order(rows, trace.ops["start"][in_steps])


def _on_device(trace: Trace, nest: Nesting, launches: Launches) -> _Rows:
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
    is_call[is_call] = autograd.tracked(trace, nest)[share.op[is_call]]
    return _in_program_order(_Rows(keys, amounts, row_of_event, share.op, is_call), device["start"])


def _step_of_op(steps: Steps, start: Integers) -> Integers:
    """The step of each op of the host; 0 for all, where no step is marked."""
    return step_at(steps.windows, start) if len(steps.windows) else np.zeros_like(start)


def _in_program_order(rows: _Rows, start: Integers) -> _Rows:
    """The rows in the order in which they first ran."""
    first = np.full(len(rows.keys), LAST)
    np.minimum.at(first, rows.of_event, start)
    order = np.argsort(first, kind="stable")
    return _Rows(rows.keys[order], rows.amounts[order], np.argsort(order)[rows.of_event], rows.op, rows.tracked)


def _with_places(
    ops: pd.DataFrame, rows: _Rows, row: Integers, start: Integers, step: Integers, trace: Trace, nest: Nesting
) -> pd.DataFrame:
    """OPS with the places of the calls that autograd tracks in the first step, in its forward pass with most elements.

    ``row``, ``start`` and ``step`` are those of each event of ``rows``.
    """
    chosen = rows.tracked & (row >= 0) & (step == 0)
    number = autograd.pass_numbers(trace, rows.op[rows.tracked])[rows.op[chosen]]
    size = np.array([1 + torch_ops.largest(call.dims) for call in trace.calls])[trace.ops["kind"][rows.op[chosen]]]
    chosen[chosen] = number == np.bincount(number, size, minlength=1).argmax()
    op = rows.op[chosen]
    block, frozen = checkpointed_blocks(trace, nest)[op], frozen_products(trace, nest)[op]
    texts = autograd.places(row[chosen], block, frozen, start[chosen], len(ops))
    return ops.assign(places=pd.Series(texts, index=ops.index, dtype=ops["shapes"].dtype))


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


def _table(trace: Trace, rows: _Rows) -> tuple[pd.DataFrame, Integers]:
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
    return table.assign(calls=calls, time_s=times, reported_bytes=bytes_, rank=_rank(trace)), first_row


def _descriptions(trace: Trace, rows: _Rows) -> Iterator[tuple[int, tuple[object, ...]]]:
    """Yield the row number and (number of pieces, *DESCRIBED) for each piece of each row's work."""
    calls, names, streams, messages = list(trace.calls), list(trace.names), list(trace.streams), list(trace.messages)
    for row, (kind, name, lane, phase, piece, sent, layer) in enumerate(rows.keys.tolist()):
        kernel = names[name] if name >= 0 else None
        call = calls[kind] if kind >= 0 else Call(str(kernel))
        message = messages[sent] if sent != NOTHING else Message()
        op_type = message.op_type or (kernel if kernel and piece == NO else call.name)
        place = ("cpu", None) if lane < 0 else (f"gpu:{streams[lane][0]}", str(streams[lane][1]))
        pieces = _work(call, kernel, piece)
        for work in pieces:
            if sent != NOTHING:
                work = _sent(message, work)
            if layer != NO_LAYER:
                work = describe_part(call, kind, layer, work)
            if work.precision == "fp32" and TF32.search(kernel or ""):
                work = work._replace(precision="tf32")
            names_of_op = (call.name or UNNAMED, op_type or UNNAMED, kernel)
            yield row, (len(pieces), *names_of_op, *place, PHASES[phase], *work)


def _sent(message: Message, work: Work) -> Work:
    """The work of a kernel that sends: its message where that is known, else what its op tells."""
    if not message.given:
        return work._replace(attributes=message.attributes)
    given, got = message.sizes
    return Work(given, message.attributes, message.precision, got)


def _work(call: Call, kernel: str | None, piece: int) -> Sequence[Work]:
    if piece == NO:
        return (Work() if kernel else DISPATCH,)
    work = torch_ops.describe(call)
    return work if piece == EVERY else work[piece : piece + 1]


def _as_traced(workload: Workload, trace: Trace, nest: Nesting, steps: Steps) -> Workload:
    """The workload as PyTorch's where it names no framework, with parameters and optimizer as the trace tells them.

    It is inference where it states no mode and the trace's ops have no backward pass and no update.
    """
    passes = max(autograd.backward_passes(trace, nest, steps.ops), steps.count)
    if workload.parameters is None:
        numbers = autograd.trained_numbers(trace, steps.ops & ~gradients_of_inputs(trace, nest), passes)
        frozen = frozen_numbers(trace, nest, steps.ops, passes) if numbers else None
        update = {"parameters": numbers, "frozen_parameters": workload.frozen_parameters or frozen}
        workload = workload.model_copy(update=update)
    if workload.optimizer is None and (name := autograd.optimizer_name(trace, nest)):
        workload = workload.model_copy(update={"optimizer": Optimizer(name=name)})
    if passes > steps.count or autograd.keeps_gradients(trace, nest):
        workload = workload.model_copy(update={"gradients_in_forward": True})
    trains = np.isin(nest.phase, (BACK, UPDATE)).any() or any(GRADIENT.search(call.name) for call in trace.calls)
    return with_mode(with_framework(workload, PYTORCH), not trains and len(nest.phase) > 0)


def _recorded_s(trace: Trace) -> tuple[float, float]:
    """When the trace was recorded, on the clock of its machine [s]."""
    base = trace.metadata.get("baseTimeNanoseconds")
    origin_s = trace.origin_us / 1e6 + (base / 1e9 if type(base) is int else 0.0)
    first, last = span_ps(trace)
    return origin_s + first / 1e12, origin_s + last / 1e12


def _missing_data(trace: Trace, on_device: bool) -> Iterator[str]:
    """Warnings about data that the trace does not hold."""
    if trace.unfinished:
        yield (
            f"{trace.unfinished} event(s) have no end or last less than 0 µs, such as what still ran when the trace "
            "stopped: they are left out"
        )
    if not any(call.dims.strip(b"[] ,") for call in trace.calls):
        yield "the trace has no operand shapes: profile with record_shapes=True"
    if len(trace.launches) and not on_device:
        yield "the trace has launches but no GPU event: the ops' times are the processor's"


def _unnamed_kernels(trace: Trace, nest: Nesting) -> Iterator[str]:
    """A warning about generated code of a processor whose kernels have no events."""
    is_compiled = are_calls(trace, lambda call: torch_ops.COMPILED.fullmatch(call.name))
    share = nest.self_ps[is_compiled & ~nest.dispatch].sum() / max(nest.self_ps.sum(), 1)
    if share > LEAST_UNNAMED:
        yield (
            f"{100 * share:.0f} % of the time of ops is code that torch.compile generated, one op without shapes for "
            "each graph and pass: set torch._inductor.config.cpp.enable_kernel_profile = True before the model "
            "compiles to see its kernels"
        )


def _crossing(nest: Nesting) -> Iterator[str]:
    """A warning about ops that were cut off at the end of the op around them."""
    if nest.crossing:
        yield f"{nest.crossing} of the host's ops end after the op around them: they count as launched inside it"


def _rank(trace: Trace) -> int | None:
    """The rank that the trace states, else its file's name."""
    stated = trace.metadata.get("distributedInfo")
    rank = stated.get("rank") if isinstance(stated, dict) else None
    if type(rank) is int and 0 <= rank <= LARGEST_RANK:
        return rank
    named = FILE_OF_RANK.search(Path(trace.where).name)
    return int(named[1]) if named else None


def _version(trace: Trace) -> str | None:
    stated = trace.metadata.get("schemaVersion")
    return f"Kineto schema {stated}" if type(stated) is int else None
