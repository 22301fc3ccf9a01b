"""Reader of the Chrome trace that JAX (and TensorFlow's profiler plugin) writes beside an XPlane: ``*.trace.json.gz``.

Ops are events with ``hlo_op``, or those of an accelerator's line ``XLA Ops``. The trace has no shapes; the XPlane
beside it has, and is read where both exist.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from estimator.core.errors import EstimatorError
from estimator.core.types import Flags, Profile, Workload
from estimator.profiles import canonical, chrome_trace, events
from estimator.profiles.chrome_trace import Identity
from estimator.profiles.columns import Columns, Ids, slices
from estimator.profiles.dump import Dump
from estimator.profiles.events import Batch, Tally
from estimator.profiles.frameworks import of_programs, with_framework
from estimator.profiles.steps import NO_STEPS, Windows
from estimator.profiles.xplane import hlo

FORMAT = "JAX trace (trace.json.gz beside an XPlane)"
VIEWS = False

KNOWN_HEAD = re.compile(rb'"highres-ticks"|"hlo_(op|module)"\s*:')
XLA_OPS = "XLA Ops"  # the line of an accelerator's ops, which its streams and other lines repeat
MOST_EVENTS = 1_000_000  # at this number the tool cuts off a trace
NO_SHAPES = "this trace has no operand shapes: read the XPlane that was written with it"
CUT_OFF = f"the trace has {MOST_EVENTS} events, at which its tool cuts off: later steps may be missing"
UNNAMED = "unnamed"


def recognises(head: bytes) -> bool:
    """Whether the content is JSON with keys that only XLA's profiler writes."""
    return head.lstrip(b"\xef\xbb\xbf \t\r\n")[:1] in (b"{", b"[") and bool(KNOWN_HEAD.search(head))


def read(dumps: list[Dump], workload: Workload) -> Profile:
    """Read one host's trace. Raises EstimatorError where it is damaged or holds no op of XLA."""
    trace = _scan(dumps[0])
    ops = trace.timed.take(_are_ops(trace)).sorted_by_lane()
    if not len(ops):
        raise EstimatorError(f"{trace.where}: no event in it is an op of XLA (hlo_op); expected some, so trace again")
    chrome_trace.refuse_overflow(ops["duration"], trace.where)
    tally = events.tally(
        [Batch(ops["kind"][rows], ops["start"][rows], ops["duration"][rows])] for rows in slices(ops["lane"])
    )
    steps = trace.steps.find()
    start, end = (steps[0][0], steps[-1][1]) if steps else (ops["start"].min(), (ops["start"] + ops["duration"]).max())
    profile = Profile(
        ops=canonical.to_ops(_table(trace, tally), trace.where),
        workload=with_framework(workload, of_programs(module for _, _, module, _ in trace.kinds)),
        device=None,
        format="JAX trace JSON",
        wall_step_s=float(end - start) / 1e12,
        busy_step_s=tally.busy_ps / 1e12,
        warnings=(NO_SHAPES, *_warnings(trace, tally)),
    )
    return canonical.per_step(profile, len(steps))


@dataclass
class _Trace:
    """The events as columns, times in ps since the first event."""

    where: str
    timed: Columns = field(default_factory=lambda: Columns("kind", "lane", "run", "start", "duration"))
    kinds: Ids = field(default_factory=Ids)  # (lane, op, module, whether the event names its op) → kind
    lanes: Ids = field(default_factory=Ids)  # (pid, tid) → lane
    runs: Ids = field(default_factory=Ids)  # run_id → run
    steps: Windows = field(default_factory=Windows)
    names: dict[tuple[Identity, Identity], str] = field(default_factory=dict)  # of processes (tid None) and threads
    count: int = 0

    def keep(self, batch: list[Any], origin: int) -> None:
        """Put the X events of one batch into the columns; times count from the origin [µs]."""
        start = chrome_trace.picoseconds(batch, "ts", self.where, origin)
        duration = chrome_trace.picoseconds(batch, "dur", self.where)
        lanes = [self.lanes[e.pid, e.tid] for e in batch]
        kinds = [
            self.kinds[lane, e.name if e.args.op is None else str(e.args.op), e.args.module, e.args.op is not None]
            for lane, e in zip(lanes, batch, strict=True)
        ]
        self.timed.add(kinds, lanes, [self.runs[e.args.run] for e in batch], start, duration)
        for event, *window in zip(batch, start.tolist(), (start + duration).tolist(), strict=True):
            if event.args.step is not None:
                self.steps.mark(event.name, *window)


def _scan(dump: Dump) -> _Trace:
    trace, event, origin = _Trace(str(dump)), _event_type(), None
    for batch in chrome_trace.scan(dump, event, {}):
        trace.count += len(batch)
        timed = [e for e in batch if e.ph == "X"]
        if timed:
            origin = chrome_trace.first_microsecond(timed, trace.where) if origin is None else origin
            trace.keep(timed, origin)
        named = [e for e in batch if e.ph == "M" and e.name in ("process_name", "thread_name") and e.args.name]
        trace.names |= {(e.pid, e.tid if e.name == "thread_name" else None): str(e.args.name) for e in named}
    _record_runs(trace)
    return trace


def _record_runs(trace: _Trace) -> None:
    """Record the start and end of each module's runs."""
    timed, modules = trace.timed, Ids()
    module = np.array([modules[name] for _, _, name, _ in trace.kinds], dtype=np.int64)[timed["kind"]]
    in_run = (module != modules[None]) & (timed["run"] != trace.runs[None])
    columns = {
        "module": module,
        "run": timed["run"],
        "start": timed["start"],
        "end": timed["start"] + timed["duration"],
    }
    runs = pd.DataFrame(columns)[in_run].groupby(["module", "run"]).agg({"start": "min", "end": "max"})
    for (module_number, run), start, end in runs.itertuples():
        trace.steps.mark_run(module_number, run, start, end)


def _event_type() -> Any:
    names = {"op": "hlo_op", "module": "hlo_module", "run": "run_id", "step": "step_num", "name": "name"}
    return chrome_trace.event_type(**{field: (name, Identity, None) for field, name in names.items()})


def _are_ops(trace: _Trace) -> Flags:
    """Whether each event is an op: on an accelerator's line of ops, or with an ``hlo_op`` where no such line exists."""
    lines = {place for place, name in trace.names.items() if name == XLA_OPS}
    op_lanes = {lane for place, lane in trace.lanes.items() if place in lines}
    is_op = [lane in op_lanes if op_lanes else has_op for lane, _, _, has_op in trace.kinds]
    return np.array(is_op, dtype=bool)[trace.timed["kind"]]


def _warnings(trace: _Trace, tally: Tally) -> Iterator[str]:
    if not trace.steps.find():
        yield NO_STEPS
    if trace.count >= MOST_EVENTS:
        yield CUT_OFF
    yield from events.crossing_warnings(tally)


def _table(trace: _Trace, tally: Tally) -> pd.DataFrame:
    """The rows of OPS of all steps together, in the order in which they first ran; kinds with equal names are one."""
    places = list(trace.lanes)
    rows = [
        {
            "op": op or UNNAMED,
            "op_type": hlo.strip_number(op),
            "placement": trace.names.get((places[lane][0], None)),
        }
        for lane, op, _, _ in list(trace.kinds)[: len(tally.calls)]
    ]
    time = tally.self_ps / 1e12
    table = pd.DataFrame(rows).assign(calls=tally.calls, time_s=time, shared_s=time * tally.share)
    keys = ["op", "op_type", "placement"]
    in_order = table.iloc[np.argsort(tally.first_ps, kind="stable")]
    return in_order[in_order["calls"] > 0].groupby(keys, dropna=False, sort=False).sum().reset_index()
