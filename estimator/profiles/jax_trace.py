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
from estimator.core.types import Flags, Integers, Profile, Workload
from estimator.profiles import canonical, chrome_trace, events, trace_times
from estimator.profiles.chrome_trace import Identity
from estimator.profiles.columns import UNKNOWN, Columns, Ids, slices
from estimator.profiles.device_steps import last_ends, launched, non_empty, outside_warnings, pitch_ps, wall_ps
from estimator.profiles.dump import Dump
from estimator.profiles.events import Batch, Tally
from estimator.profiles.frameworks import of_programs, with_framework
from estimator.profiles.steps import NOTHING_IN_STEPS, Windows
from estimator.profiles.timeline import step_at
from estimator.profiles.xplane.devices import STEPS_LINE
from estimator.profiles.xplane.instructions import strip_number
from estimator.profiles.xplane.space import DEVICE, XLA_LINE

FORMAT = "JAX trace (trace.json.gz beside an XPlane)"
VIEWS = False

KNOWN_HEAD = re.compile(rb'"highres-ticks"|"hlo_(op|module)"\s*:')
MOST_EVENTS = 1_000_000  # at this number the tool cuts off a trace
NO_SHAPES = "this trace has no operand shapes: read the XPlane that was written with it"
CUT_OFF = f"the trace has {MOST_EVENTS} events, the limit of its tool: later steps may be missing"
UNNAMED = "unnamed"


def recognises(head: bytes) -> bool:
    """Whether the content is JSON with keys that only XLA's profiler writes."""
    return chrome_trace.begins_with(head, KNOWN_HEAD)


def read(dumps: list[Dump], workload: Workload) -> Profile:
    """Read one host's trace. Raises EstimatorError where it is damaged or holds no op of XLA."""
    trace = _scan(dumps[0])
    ops = trace.timed.take(_are_ops(trace)).sorted_by_lane()
    if not len(ops):
        raise EstimatorError(f"{trace.where}: no event in it is an op of XLA (hlo_op); expected some, so trace again")
    trace_times.refuse_overflow(ops["duration"], trace.where)
    steps = _steps(trace, ops)
    inside = ops.take(steps.inside)
    if not len(inside):
        raise EstimatorError(f"{trace.where}: {NOTHING_IN_STEPS}")
    tally = _tally(inside)
    profile = Profile(
        ops=canonical.to_ops(_table(trace, tally), trace.where),
        workload=with_framework(workload, of_programs(module for _, _, module, _ in trace.kinds)),
        device=None,
        format="JAX trace JSON",
        wall_step_s=steps.wall_s(tally.busy_ps),
        busy_step_s=tally.busy_ps / 1e12,
        warnings=(NO_SHAPES, *_warnings(trace, steps, tally), *outside_warnings(*_outside(ops, steps.inside, tally))),
    )
    return canonical.per_step(profile, len(steps.windows))


@dataclass
class _Trace:
    """The events as columns, times in ps since the first event."""

    where: str
    timed: Columns = field(default_factory=lambda: Columns("kind", "lane", "run", "launch", "start", "duration"))
    kinds: Ids = field(default_factory=Ids)  # (lane, op, module, whether the event names its op) → kind
    lanes: Ids = field(default_factory=Ids)  # (pid, tid) → lane
    runs: Ids = field(default_factory=Ids)  # run_id → run
    launches: Ids = field(default_factory=Ids)  # correlation_id → launch
    steps: Windows = field(default_factory=Windows)
    names: dict[tuple[Identity, Identity], str] = field(default_factory=dict)  # of processes (tid None) and threads
    count: int = 0

    def named_lanes(self, name: str) -> list[int]:
        """The threads of this name."""
        return [lane for place, lane in self.lanes.items() if self.names.get(place) == name]

    def device_lanes(self) -> list[int]:
        """The lines of accelerators."""
        devices = {pid for (pid, tid), name in self.names.items() if tid is None and name.startswith(DEVICE)}
        return [lane for (pid, _), lane in self.lanes.items() if pid in devices]

    def device_steps(self) -> Integers:
        """Start and end of each step, in the order of time, of the first accelerator that marks some."""
        lanes = [lane for lane in self.named_lanes(STEPS_LINE) if lane in self.device_lanes()]
        return self.timed.take(self.timed["lane"] == min(lanes, default=-1)).windows()

    def with_names_kept(self, batches: Iterator[list[Any]]) -> Iterator[list[Any]]:
        """Yield the batches; keep the names that they give processes and threads, and the number of their events."""
        for batch in batches:
            self.count += len(batch)
            named = [e for e in batch if e.ph == "M" and e.name in ("process_name", "thread_name") and e.args.name]
            self.names |= {(e.pid, e.tid if e.name == "thread_name" else None): str(e.args.name) for e in named}
            yield batch

    def keep(self, batch: list[Any], origin: int) -> None:
        """Put the X events of one batch into the columns; times count from the origin [µs]."""
        start = trace_times.picoseconds(batch, "ts", self.where, origin)
        duration = trace_times.picoseconds(batch, "dur", self.where)
        lanes = [self.lanes[e.pid, e.tid] for e in batch]
        kinds = [
            self.kinds[lane, e.name if e.args.op is None else str(e.args.op), e.args.module, e.args.op is not None]
            for lane, e in zip(lanes, batch, strict=True)
        ]
        runs, launches = [self.runs[e.args.run] for e in batch], [self.launches[e.args.launch] for e in batch]
        self.timed.add(kinds, lanes, runs, launches, start, duration)
        for event, *window in zip(batch, start.tolist(), (start + duration).tolist(), strict=True):
            if event.args.step is not None:
                self.steps.mark(event.name, *window)


def _scan(dump: Dump) -> _Trace:
    trace = _Trace(str(dump))
    batches = trace.with_names_kept(chrome_trace.scan(dump, _event_type(), {}))
    for timed, origin in trace_times.timed_events(batches, trace.where):
        trace.keep(timed, origin)
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
        "end": timed.end,
    }
    runs = pd.DataFrame(columns)[in_run].groupby(["module", "run"]).agg({"start": "min", "end": "max"})
    for (module_number, run), start, end in runs.itertuples():
        trace.steps.mark_run(module_number, run, start, end)


def _event_type() -> Any:
    names = {
        "op": "hlo_op", "module": "hlo_module", "run": "run_id", "step": "step_num", "name": "name",
        "launch": "correlation_id",
    }  # fmt: skip
    return chrome_trace.event_type(**{field: (name, Identity, None) for field, name in names.items()})


def _are_ops(trace: _Trace) -> Flags:
    """Whether each event is an op: on an accelerator's line of ops, or with an ``hlo_op`` where no such line exists.

    Where accelerators have such events, those of the host launched them.
    """
    lane = np.array([lane for lane, _, _, _ in trace.kinds], dtype=np.int64)
    on_line, on_device = np.isin(lane, trace.named_lanes(XLA_LINE)), np.isin(lane, trace.device_lanes())
    has_op = np.array([has_op for _, _, _, has_op in trace.kinds], dtype=bool)
    is_op = next((flags for flags in (on_line, has_op & on_device) if flags.any()), has_op)
    return np.asarray(is_op[trace.timed["kind"]])


@dataclass(frozen=True)
class _Steps:
    """The steps of a trace: start and end of each, whether each op is inside, and when the work of each was done; or
    how long a step lasts, where accelerators mark it.
    """

    windows: Integers
    inside: Flags
    completed: Integers | None = None
    pitch_ps: float | None = None

    def wall_s(self, busy_ps: int) -> float:
        """The time of all steps together [s]; ``busy_ps`` is the time in which any op of them ran."""
        if self.pitch_ps is not None:
            return self.pitch_ps * len(self.windows) / 1e12
        return wall_ps(self.windows, self.completed, busy_ps) / 1e12


def _steps(trace: _Trace, ops: Columns) -> _Steps:
    """The steps that an accelerator marks on a line of its own, else those that the host marks, else runs of a program,
    else the whole trace.
    """
    start, end = ops["start"], ops.end
    own, windows = trace.device_steps(), trace.steps.find()
    if len(own):
        return _Steps(own, (start >= own[0, 0]) & (start < own[-1, 1]), pitch_ps=pitch_ps(own))
    if not trace.steps.windows:
        whole = windows if len(windows) else np.array([[start.min(), end.max()]])
        return _Steps(whole, step_at(whole, start) >= 0 if trace.steps.left_out() else np.ones(len(ops), dtype=bool))
    launch, completed = _launch_times(trace, ops), trace.steps.completed()
    if launch is not None:
        ends = last_ends(step_at(windows, launch), end, len(windows))
        seen = non_empty(windows, ends != UNKNOWN)
        return _Steps(seen, step_at(seen, launch) >= 0, ends[np.isin(windows[:, 0], seen[:, 0])])
    if completed is None and np.isin(ops["lane"], trace.device_lanes()).any():
        return _Steps(windows, np.ones(len(ops), dtype=bool))  # nobody knows what the host launched in which
    return _Steps(windows, step_at(trace.steps.counted(), start) >= 0, completed)


def _launch_times(trace: _Trace, ops: Columns) -> Integers | None:
    """When the host launched each op of accelerators, by correlation; None where that is not known of any."""
    timed = trace.timed
    by_host = ~np.isin(timed["lane"], trace.device_lanes()) & (timed["launch"] != trace.launches[None])
    number = np.where(ops["launch"] == trace.launches[None], UNKNOWN, ops["launch"])
    launch = launched(number, timed["launch"][by_host], timed["start"][by_host])
    return launch if (launch != UNKNOWN).any() else None


def _tally(ops: Columns) -> Tally:
    return events.tally(
        [Batch(ops["kind"][rows], ops["start"][rows], ops["duration"][rows])] for rows in slices(ops["lane"])
    )


def _outside(ops: Columns, inside: Flags, tally: Tally) -> tuple[float, float]:
    """The time of the ops outside of the steps, and of all [ps]; ``tally``: of those inside."""
    total = tally.sum_ps if inside.all() else _tally(ops).sum_ps
    return total - tally.sum_ps, total


def _warnings(trace: _Trace, steps: _Steps, tally: Tally) -> Iterator[str]:
    if steps.pitch_ps is None:
        yield from trace.steps.warnings()
    if trace.count >= MOST_EVENTS:
        yield CUT_OFF
    yield from events.crossing_warnings(tally)


def _table(trace: _Trace, tally: Tally) -> pd.DataFrame:
    """The rows of OPS of all steps together, in the order in which they first ran; kinds with equal names are one."""
    places = list(trace.lanes)
    rows = [
        {"op": op or UNNAMED, "op_type": strip_number(op), "placement": trace.names.get((places[lane][0], None))}
        for lane, op, _, _ in list(trace.kinds)[: len(tally.calls)]
    ]
    time = tally.self_ps / 1e12
    table = pd.DataFrame(rows).assign(calls=tally.calls, time_s=time, shared_s=time * tally.share)
    keys = ["op", "op_type", "placement"]
    in_order = table.iloc[np.argsort(tally.first_ps, kind="stable")]
    return in_order[in_order["calls"] > 0].groupby(keys, dropna=False, sort=False).sum().reset_index()
