"""Reader of PyTorch's Kineto JSON (``torch.profiler``, ``export_chrome_trace``), of processors and of GPUs.

Where GPU events were recorded, the rows are these, described by the op that launched them, and the processor's ops are
mere launches; else the rows are the processor's ops with their self time. An op that hands its work on to another op
(``aten::linear`` to ``aten::addmm``, ``aten::to`` to ``aten::copy_``) keeps its own time, but has no operands and the
attribute ``dispatch=1``: its work is counted once, where it is done. A backward convolution is one row for each
gradient that it computes, its time shared out by their FLOP, which are the same.
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
from estimator.profiles.kineto.launches import EVERY, NO, share_out
from estimator.profiles.kineto.nesting import UNKNOWN, Nesting, inside, nesting
from estimator.profiles.kineto.torch_ops import Call, Work
from estimator.profiles.kineto.trace import PROFILER_STEP, Trace, scan
from estimator.profiles.steps import NO_STEPS

FORMAT = "PyTorch trace (Kineto JSON)"
VIEWS = False
BESIDE = ("*.txt", "*.html", "*.pickle")  # tables of averages, stacks, memory

KNOWN_HEAD = re.compile(
    rb'"cat"\s*:\s*"(cpu_op|Operator|user_annotation|python_function|cuda_runtime|kernel|gpu_memcpy|fwdbwd|ac2g)"'
    rb'|"(baseTimeNanoseconds|deviceProperties|record_shapes|with_stack|profile_memory)"\s*:'
)
TF32 = re.compile(r"tf32|s1688(gemm|fprop|dgrad|wgrad)")
WORTH_SAYING = 0.01  # of all time
OPTIMIZER_STEP = "Optimizer.step#"
FROM_UPDATES = (
    "no {mark} marks a step, so {steps} are taken from the optimizer's updates, which two optimizers of one class "
    "double: say with --steps how many it covers"
)
LARGEST_RANK = 10**6
MOST_BYTES = 2**40  # of one copy
UNNAMED = "unnamed"
DISPATCH = Work(attributes="dispatch=1")
DESCRIBED = ("op", "op_type", "kernel", "placement", "stream", "phase", "precision", "shapes", "attributes")


def recognises(head: bytes) -> bool:
    """Whether the content is JSON with what only Kineto writes."""
    return head.lstrip(b"\xef\xbb\xbf \t\r\n")[:1] in (b"{", b"[") and bool(KNOWN_HEAD.search(head))


def read(dumps: list[Dump], workload: Workload) -> Profile:
    """Read one trace. Raises EstimatorError where it is damaged, its ops do not nest, or nothing took time."""
    trace = scan(dumps[0])
    if not (len(trace.ops) or len(trace.device)):
        raise EstimatorError(f"{trace.where}: no op is in it; expected cpu_op or kernel events, so profile it again")
    for timed in (trace.ops, trace.device):
        chrome_trace.refuse_overflow(timed["duration"], trace.where)
    nested = nesting(trace)
    rows, timed = (_on_device, trace.device) if len(trace.device) else (_on_host, trace.ops)
    steps, wall_s, unmarked = _steps(trace)
    profile = Profile(
        ops=canonical.to_ops(_table(trace, rows(trace, nested)), trace.where),
        workload=workload,
        device=None,
        format="Kineto JSON",
        wall_step_s=wall_s,
        busy_step_s=_busy_s(timed),
        tool_version=_version(trace),
        warnings=(*unmarked, *_outside(trace, timed), *_lacking(trace)),
    )
    return canonical.per_step(profile, steps)


@dataclass(frozen=True)
class _Rows:
    """The rows of OPS: what each stands for, its calls, time [ps] and bytes.

    ``stands_for`` has a line for each row: kind of op (-1 if unknown), name and stream on the device (-1 on the
    processor), phase, and the piece of the op's work.
    """

    stands_for: Integers
    amounts: Integers


def _on_host(trace: Trace, nested: Nesting) -> _Rows:
    kind = trace.ops["kind"]
    nowhere, once = np.full_like(kind, -1), np.ones_like(kind)
    row, stands_for = _numbered(kind, nowhere, nowhere, nested.phase, np.where(nested.dispatch, NO, EVERY))
    return _Rows(stands_for, _summed(row, once, nested.self_ps, 0 * once))


def _on_device(trace: Trace, nested: Nesting) -> _Rows:
    """What ran on devices; what overlaps there keeps its whole duration."""
    device, share = trace.device, share_out(trace, nested)
    known = share.op >= 0
    kind, phase = np.full_like(share.op, -1), np.full_like(share.op, UNKNOWN)
    kind[known], phase[known] = trace.ops["kind"][share.op[known]], nested.phase[share.op[known]]
    row, stands_for = _numbered(kind, device["name"], device["lane"], phase, share.piece)
    moved = np.clip(device["bytes"], 0, MOST_BYTES)
    return _Rows(stands_for, _summed(row, share.calls, device["duration"], moved))


def _summed(row: Integers, *columns: Integers) -> Integers:
    """The sum of each column over the events of each row: one line a row."""
    sums = np.zeros((int(row.max(initial=-1)) + 1, len(columns)), dtype=np.int64)
    np.add.at(sums, row, np.stack(columns, axis=1))
    return sums


def _numbered(*columns: Integers) -> tuple[Integers, Integers]:
    """The number of each line among the distinct ones, and these."""
    number = np.zeros(len(columns[0]), dtype=np.int64)
    for column in columns:
        number = np.unique(number * (np.ptp(column) + 1) + column - column.min(), return_inverse=True)[1]
    first = np.unique(number, return_index=True)[1]
    return number, np.stack([column[first] for column in columns], axis=1)


def _table(trace: Trace, rows: _Rows) -> pd.DataFrame:
    """The rows of OPS of all steps together; what is described alike is one row."""
    numbers = Ids()
    of, row = np.array([(of, numbers[said]) for of, said in _described(trace, rows)], dtype=np.int64).T
    calls, time_ps, moved = _summed(row, *rows.amounts[of].T).T
    table = pd.DataFrame(list(numbers), columns=["pieces", *DESCRIBED])
    times = time_ps / 1e12 / table.pop("pieces")
    bytes_ = np.where(moved > 0, moved, np.nan)
    return table.assign(calls=calls, time_s=times, reported_bytes=bytes_, rank=_rank(trace))


def _described(trace: Trace, rows: _Rows) -> Iterator[tuple[int, tuple[object, ...]]]:
    """For every row each piece of its work: how many there are, and DESCRIBED."""
    calls, names, streams = list(trace.calls), list(trace.names), list(trace.streams)
    for row, (kind, name, lane, phase, piece) in enumerate(rows.stands_for.tolist()):
        kernel = names[name] if name >= 0 else None
        call = calls[kind] if kind >= 0 else Call(str(kernel))
        op_type = kernel if kernel and piece == NO else call.name
        place = ("cpu", None) if lane < 0 else (f"gpu:{streams[lane][0]}", str(streams[lane][1]))
        work = _work(call, kernel, piece)
        for one in work:
            precision = "tf32" if one.precision == "fp32" and TF32.search(kernel or "") else one.precision
            called = (call.name or UNNAMED, op_type or UNNAMED, kernel)
            yield row, (len(work), *called, *place, PHASES[phase], precision, one.shapes, one.attributes)


def _work(call: Call, kernel: str | None, piece: int) -> Sequence[Work]:
    if piece == NO:
        return (Work() if kernel else DISPATCH,)
    work = torch_ops.describe(call)
    return work if piece == EVERY else work[piece : piece + 1]


def _steps(trace: Trace) -> tuple[int, float, tuple[str, ...]]:
    """How many training steps the trace covers, the wall time of them all [s], and a warning where none is marked.

    Then it is the updates of the optimizer that made the fewest: each makes at least one a step, and some make several.
    """
    marks, annotated = trace.marks, trace.marked(PROFILER_STEP)
    steps = len(np.unique(marks["name"][annotated]))
    if steps:
        return steps, steps * float(marks["duration"][annotated].mean()) / 1e12, ()
    updates = np.unique(marks["name"][trace.marked(OPTIMIZER_STEP)], return_counts=True)[1]
    if len(updates):
        return int(updates.min()), _span_s(trace), (FROM_UPDATES.format(mark=PROFILER_STEP, steps=updates.min()),)
    return 1, _span_s(trace), (NO_STEPS,)


def _span_s(trace: Trace) -> float:
    """From the first start to the last end [s]."""
    timed = [columns for columns in (trace.ops, trace.device, trace.marks) if len(columns)]
    first = min(int(columns["start"].min()) for columns in timed)
    return (max(int((columns["start"] + columns["duration"]).max()) for columns in timed) - first) / 1e12


def _busy_s(timed: Columns) -> float:
    """Time in which any of the events ran [s]."""
    return events.covered(np.column_stack([timed["start"], timed["duration"]])) / 1e12


def _outside(trace: Trace, timed: Columns) -> Iterator[str]:
    steps = trace.marks.take(trace.marked(PROFILER_STEP))
    outside = timed.take(~inside(timed["start"], steps) if len(steps) else NONE)
    share = _busy_s(outside) / (_busy_s(timed) or 1.0)
    if share > WORTH_SAYING:
        yield f"{share:.0%} of the ops' time lies outside of the steps marked {PROFILER_STEP}"


def _lacking(trace: Trace) -> Iterator[str]:
    """What the trace does not say."""
    if not any(call.dims.strip(b"[] ,") for call in trace.calls):
        yield "the trace has no operand shapes: profile with record_shapes=True"
    if len(trace.launches) and not len(trace.device):
        yield "the trace has launches but nothing that ran on a GPU: the ops' times are the processor's"
    devices = {device for device, _ in trace.streams}
    if len(devices) > 1:
        yield f"{len(devices)} devices ran in this one process: a step's ops are those of all of them together"


def _rank(trace: Trace) -> int | None:
    stated = trace.metadata.get("distributedInfo")
    rank = stated.get("rank") if isinstance(stated, dict) else None
    return rank if type(rank) is int and 0 <= rank <= LARGEST_RANK else None


def _version(trace: Trace) -> str | None:
    stated = trace.metadata.get("schemaVersion")
    return f"Kineto schema {stated}" if type(stated) is int else None
