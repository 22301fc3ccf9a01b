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
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd

from estimator.core.errors import EstimatorError
from estimator.core.types import Flags, Integers, Profile, Timeline, Workload
from estimator.profiles import canonical, chrome_trace, ranks, trace_times
from estimator.profiles.dump import Dump
from estimator.profiles.kineto import torch_ops
from estimator.profiles.kineto.attention_gradients import complete_attention
from estimator.profiles.kineto.collectives import world_size
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
from estimator.profiles.kineto.graph import read_graph
from estimator.profiles.kineto.launches import Launches, find_launches
from estimator.profiles.kineto.layer_gradients import complete_layers
from estimator.profiles.kineto.nesting import Nesting, are_calls, nest_ops
from estimator.profiles.kineto.places import Calls, places_of_rows
from estimator.profiles.kineto.rows import Rows, rows_on_device, rows_on_host, table_of_rows
from estimator.profiles.kineto.step_timeline import step_timeline
from estimator.profiles.kineto.steps import Steps, busy_s, find_steps, span_ps
from estimator.profiles.kineto.trace import Trace, scan
from estimator.profiles.kineto.traced_workload import as_traced
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
FILE_OF_RANK = re.compile(r"(?i)(?:^|[^a-z])rank[-_ ]?(\d{1,6})(?!\d)")
LARGEST_RANK = 10**6
LEAST_UNNAMED = 0.02  # share of the ops' time in unnamed kernels, above which a warning is given


def recognises(head: bytes) -> bool:
    """Whether the content is JSON with keys that only Kineto writes."""
    return chrome_trace.begins_with(head, KNOWN_HEAD)


def read(dumps: list[Dump], workload: Workload) -> Profile:
    """Read one trace. Raises EstimatorError where it is damaged, its ops do not nest, or nothing took time."""
    whole, nest = _scan_nested(dumps[0])
    graph, launches = read_graph(whole, nest), find_launches(whole, nest)
    steps = find_steps(whole, launches.time)
    on_device, computing = bool(len(whole.device)), on_computing_devices(whole)
    counted = (steps.step >= 0) & computing
    trace = dataclasses.replace(whole, device=whole.device.take(counted))
    events = trace.device if on_device else trace.ops.take(steps.ops)
    if not len(events):
        raise EstimatorError(f"{trace.where}: {NOTHING_IN_STEPS}")
    if on_device:
        rows, workers = rows_on_device(trace, nest, graph, launches.take(counted)), by_device(trace)
        step = steps.step[counted]
    else:
        rows, workers = rows_on_host(trace, nest, graph, steps.ops), [events]
        step = _step_of_op(steps, events["start"])
    ops, row = _ops(trace, rows, len(workers))
    kept = rows.tracked & (row >= 0) & (step == 0)
    places = places_of_rows(Calls(row[kept], rows.op[kept], events["start"][kept]), len(ops), trace, graph)
    warnings = (*_warnings(trace, nest, steps), *ranks.device_warnings(len(workers), left_out(whole, computing)))
    profile = Profile(
        ops=ops.assign(places=pd.Series(places, ops.index, ops["shapes"].dtype)),
        timeline=_timeline(whole, launches, steps, counted, row) if on_device else None,
        workload=as_traced(workload, trace, nest, graph, steps, ops),
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
        warnings=warnings,
    )
    return dataclasses.replace(canonical.per_step(profile, steps.count), updates=steps.updates)


def _scan_nested(dump: Dump) -> tuple[Trace, Nesting]:
    """The trace and how its ops nest, with the operands that other ops tell of."""
    trace = scan(dump)
    _refuse_unusable(trace)
    nest = nest_ops(trace)
    complete_layers(trace)
    complete_convolutions(trace, nest)
    complete_attention(trace, nest)
    return trace, nest


def _ops(trace: Trace, rows: Rows, devices: int) -> tuple[pd.DataFrame, Integers]:
    """OPS as the mean over the devices, and the row of each event; −1 for those of devices but the first."""
    table, row_of_line = table_of_rows(trace, rows)
    ops = canonical.to_ops(table.assign(rank=_rank(trace)), trace.where)
    row = rows_of_first(ops, devices)[row_of_line[rows.of_event]]
    return mean_over_devices(ops, devices), row


def _refuse_unusable(trace: Trace) -> None:
    """Raise EstimatorError where a trace has no op, is another program's, or holds times that are too large."""
    if not (len(trace.ops) or len(trace.device)):
        raise EstimatorError(f"{trace.where}: it holds no op; expected cpu_op or kernel events, so profile it again")
    if not len(trace.device):
        refuse_foreign(trace)
    for events in (trace.ops, trace.device):
        trace_times.refuse_overflow(events["duration"], trace.where)


def _timeline(whole: Trace, launches: Launches, steps: Steps, counted: Flags, row: Integers) -> Timeline | None:
    """The timeline of a typical step; ``row`` is the row of OPS of each event of devices that counts."""
    row_of_event = np.full(len(counted), -1)
    row_of_event[counted] = row
    return step_timeline(whole, launches, steps, row_of_event)


def _step_of_op(steps: Steps, start: Integers) -> Integers:
    """The step of each op of the host; 0 for all, where no step is marked."""
    return step_at(steps.windows, start) if len(steps.windows) else np.zeros_like(start)


def _recorded_s(trace: Trace) -> tuple[float, float]:
    """When the trace was recorded, on the clock of its machine [s]."""
    base = trace.metadata.get("baseTimeNanoseconds")
    origin_s = trace.origin_us / 1e6 + (base / 1e9 if type(base) is int else 0.0)
    first, last = span_ps(trace)
    return origin_s + first / 1e12, origin_s + last / 1e12


def _warnings(trace: Trace, nest: Nesting, steps: Steps) -> Iterator[str]:
    """Yield what is not known of the steps, what the trace lacks, and what its ops hide."""
    yield from steps.warnings
    yield from _missing_data(trace)
    if not len(trace.device):
        yield from _unnamed_kernels(trace, nest)
    yield from _crossing(nest)


def _missing_data(trace: Trace) -> Iterator[str]:
    """Warnings about data that the trace does not hold."""
    if trace.unfinished:
        yield (
            f"{trace.unfinished} event(s) have no end or last less than 0 µs, such as what still ran when the trace "
            "stopped: they are left out"
        )
    if not any(call.dims.strip(b"[] ,") for call in trace.calls):
        remedy = "" if trace.metadata.get("record_shapes") else ": profile with record_shapes=True"
        yield f"the trace has no operand shapes{remedy}"
    if len(trace.launches) and not len(trace.device):
        yield "the trace has launches but no GPU event: the ops' times are the processor's"


def _unnamed_kernels(trace: Trace, nest: Nesting) -> Iterator[str]:
    """A warning about generated code of a processor whose kernels have no events."""
    is_compiled = are_calls(trace, torch_ops.is_compiled)
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
        yield f"{nest.crossing} of the host's ops end after the op that contains them: they count as launched inside it"


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
