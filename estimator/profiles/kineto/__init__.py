"""Reader of PyTorch's Kineto JSON (``torch.profiler``, ``export_chrome_trace``), from processors and GPUs.

Where GPU events were recorded, each of them is a row, described by the op that launched it; the processor's ops only
launch. Otherwise the processor's ops are the rows, with their self time. An op that calls another op for its work
(``aten::linear`` calls ``aten::addmm``, ``aten::to`` calls ``aten::copy_``) keeps its own time, but has no operands and
the attribute ``dispatch=1``, so that work counts once. A backward convolution becomes one row per gradient; they share
its time equally, because each gradient takes the same FLOP.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from estimator.core.errors import EstimatorError
from estimator.core.schema import PHASES
from estimator.core.types import Integers, Profile, Workload
from estimator.profiles import canonical, chrome_trace, events
from estimator.profiles.columns import NONE, Columns, Ids
from estimator.profiles.dump import Dump
from estimator.profiles.kineto import torch_ops
from estimator.profiles.kineto.launches import EVERY, NO, assign_work
from estimator.profiles.kineto.nesting import UNKNOWN, Nesting, inside, nest_ops
from estimator.profiles.kineto.torch_ops import Call, Work
from estimator.profiles.kineto.trace import PROFILER_STEP, Trace, scan
from estimator.profiles.steps import NO_STEPS

FORMAT = "PyTorch trace (Kineto JSON)"
VIEWS = False
COMPANIONS = ("*.txt", "*.html", "*.pickle")  # tables of averages, stacks, memory

KNOWN_HEAD = re.compile(
    rb'"cat"\s*:\s*"(cpu_op|Operator|user_annotation|python_function|cuda_runtime|kernel|gpu_memcpy|fwdbwd|ac2g)"'
    rb'|"(baseTimeNanoseconds|deviceProperties|record_shapes|with_stack|profile_memory)"\s*:'
)
TF32 = re.compile(r"tf32|s1688(gemm|fprop|dgrad|wgrad)")
WARNING_SHARE = 0.01  # of all time
OPTIMIZER_STEP = "Optimizer.step#"
FROM_UPDATES = (
    "no {mark} marks a step, so {steps} steps are counted from the optimizer's updates; two optimizers of one class "
    "double that number: state the number of steps with --steps"
)
LARGEST_RANK = 10**6
MOST_BYTES = 2**40  # of one copy
UNNAMED = "unnamed"
DISPATCH = Work(attributes="dispatch=1")
DESCRIBED = ("op", "op_type", "kernel", "placement", "stream", "phase", "precision", "shapes", "attributes")


def recognises(head: bytes) -> bool:
    """Whether the content is JSON with keys that only Kineto writes."""
    return head.lstrip(b"\xef\xbb\xbf \t\r\n")[:1] in (b"{", b"[") and bool(KNOWN_HEAD.search(head))


def read(dumps: list[Dump], workload: Workload) -> Profile:
    """Read one trace. Raises EstimatorError where it is damaged, its ops do not nest, or nothing took time."""
    trace = scan(dumps[0])
    if not (len(trace.ops) or len(trace.device)):
        raise EstimatorError(f"{trace.where}: it holds no op; expected cpu_op or kernel events, so profile it again")
    for events_with_time in (trace.ops, trace.device):
        chrome_trace.refuse_overflow(events_with_time["duration"], trace.where)
    nest = nest_ops(trace)
    make_rows, events_with_time = (_on_device, trace.device) if len(trace.device) else (_on_host, trace.ops)
    steps, wall_s, step_warnings = _steps(trace)
    profile = Profile(
        ops=canonical.to_ops(_table(trace, make_rows(trace, nest)), trace.where),
        workload=workload,
        device=None,
        format="Kineto JSON",
        wall_step_s=wall_s,
        busy_step_s=_busy_s(events_with_time),
        tool_version=_version(trace),
        warnings=(*step_warnings, *_outside_steps(trace, events_with_time), *_missing_data(trace)),
    )
    return canonical.per_step(profile, steps)


@dataclass(frozen=True)
class _Rows:
    """The rows of OPS as numbers.

    Each line of ``keys`` holds the kind of op (-1: unknown), kernel name and stream (-1: on the processor), phase, and
    piece of the op's work. Each line of ``amounts`` holds calls, time [ps] and bytes.
    """

    keys: Integers
    amounts: Integers


def _on_host(trace: Trace, nest: Nesting) -> _Rows:
    kind = trace.ops["kind"]
    on_no_device, ones = np.full_like(kind, -1), np.ones_like(kind)
    row_of_op, keys = _number_lines(kind, on_no_device, on_no_device, nest.phase, np.where(nest.dispatch, NO, EVERY))
    return _Rows(keys, _sums_by_row(row_of_op, ones, nest.self_ps, 0 * ones))


def _on_device(trace: Trace, nest: Nesting) -> _Rows:
    """The events of devices; events that overlap keep their whole duration."""
    device, share = trace.device, assign_work(trace, nest)
    has_op = share.op >= 0
    kind, phase = np.full_like(share.op, -1), np.full_like(share.op, UNKNOWN)
    kind[has_op], phase[has_op] = trace.ops["kind"][share.op[has_op]], nest.phase[share.op[has_op]]
    row_of_event, keys = _number_lines(kind, device["name"], device["lane"], phase, share.piece)
    moved_bytes = np.clip(device["bytes"], 0, MOST_BYTES)
    return _Rows(keys, _sums_by_row(row_of_event, share.calls, device["duration"], moved_bytes))


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


def _table(trace: Trace, rows: _Rows) -> pd.DataFrame:
    """The rows of OPS of all steps together; rows with equal descriptions are summed."""
    numbers = Ids()
    pairs = [(source, numbers[description]) for source, description in _descriptions(trace, rows)]
    source_row, row = np.array(pairs, dtype=np.int64).T
    calls, time_ps, moved_bytes = _sums_by_row(row, *rows.amounts[source_row].T).T
    table = pd.DataFrame(list(numbers), columns=["pieces", *DESCRIBED])
    times = time_ps / 1e12 / table.pop("pieces")
    bytes_ = np.where(moved_bytes > 0, moved_bytes, np.nan)
    return table.assign(calls=calls, time_s=times, reported_bytes=bytes_, rank=_rank(trace))


def _descriptions(trace: Trace, rows: _Rows) -> Iterator[tuple[int, tuple[object, ...]]]:
    """Yield the row number and (number of pieces, *DESCRIBED) for each piece of each row's work."""
    calls, names, streams = list(trace.calls), list(trace.names), list(trace.streams)
    for row, (kind, name, lane, phase, piece) in enumerate(rows.keys.tolist()):
        kernel = names[name] if name >= 0 else None
        call = calls[kind] if kind >= 0 else Call(str(kernel))
        op_type = kernel if kernel and piece == NO else call.name
        place = ("cpu", None) if lane < 0 else (f"gpu:{streams[lane][0]}", str(streams[lane][1]))
        pieces = _work(call, kernel, piece)
        for work in pieces:
            precision = "tf32" if work.precision == "fp32" and TF32.search(kernel or "") else work.precision
            names_of_op = (call.name or UNNAMED, op_type or UNNAMED, kernel)
            yield row, (len(pieces), *names_of_op, *place, PHASES[phase], precision, work.shapes, work.attributes)


def _work(call: Call, kernel: str | None, piece: int) -> Sequence[Work]:
    if piece == NO:
        return (Work() if kernel else DISPATCH,)
    work = torch_ops.describe(call)
    return work if piece == EVERY else work[piece : piece + 1]


def _steps(trace: Trace) -> tuple[int, float, tuple[str, ...]]:
    """The number of training steps, their wall time together [s], and a warning where no step is marked.

    Without marks, steps are counted by the optimizer with the fewest updates: each makes at least one update per step.
    """
    marks, is_step = trace.marks, trace.marked(PROFILER_STEP)
    steps = len(np.unique(marks["name"][is_step]))
    if steps:
        return steps, steps * float(marks["duration"][is_step].mean()) / 1e12, ()
    updates = np.unique(marks["name"][trace.marked(OPTIMIZER_STEP)], return_counts=True)[1]
    if len(updates):
        return int(updates.min()), _span_s(trace), (FROM_UPDATES.format(mark=PROFILER_STEP, steps=updates.min()),)
    return 1, _span_s(trace), (NO_STEPS,)


def _span_s(trace: Trace) -> float:
    """From the first start to the last end [s]."""
    tables = [columns for columns in (trace.ops, trace.device, trace.marks) if len(columns)]
    first_ps = min(int(columns["start"].min()) for columns in tables)
    return (max(int((columns["start"] + columns["duration"]).max()) for columns in tables) - first_ps) / 1e12


def _busy_s(timed: Columns) -> float:
    """Time during which any of the events ran [s]."""
    return events.covered(np.column_stack([timed["start"], timed["duration"]])) / 1e12


def _outside_steps(trace: Trace, timed: Columns) -> Iterator[str]:
    steps = trace.marks.take(trace.marked(PROFILER_STEP))
    outside = timed.take(~inside(timed["start"], steps) if len(steps) else NONE)
    share = _busy_s(outside) / (_busy_s(timed) or 1.0)
    if share > WARNING_SHARE:
        yield f"{share:.0%} of the ops' time lies outside the steps marked {PROFILER_STEP}"


def _missing_data(trace: Trace) -> Iterator[str]:
    """Warnings about data that the trace does not hold."""
    if not any(call.dims.strip(b"[] ,") for call in trace.calls):
        yield "the trace has no operand shapes: profile with record_shapes=True"
    if len(trace.launches) and not len(trace.device):
        yield "the trace has launches but no GPU event: the ops' times are the processor's"
    devices = {device for device, _ in trace.streams}
    if len(devices) > 1:
        yield f"{len(devices)} devices ran in this process: a step holds the ops of all of them together"


def _rank(trace: Trace) -> int | None:
    stated = trace.metadata.get("distributedInfo")
    rank = stated.get("rank") if isinstance(stated, dict) else None
    return rank if type(rank) is int and 0 <= rank <= LARGEST_RANK else None


def _version(trace: Trace) -> str | None:
    stated = trace.metadata.get("schemaVersion")
    return f"Kineto schema {stated}" if type(stated) is int else None
