"""A Kineto trace as columns of whole numbers, from which ``kineto`` makes the rows of OPS."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from estimator.core.types import Flags, Integers
from estimator.profiles import chrome_trace, trace_times
from estimator.profiles.chrome_trace import Identity
from estimator.profiles.columns import UNKNOWN, Columns, Ids
from estimator.profiles.dump import Dump
from estimator.profiles.kineto import torch_ops
from estimator.profiles.kineto.arguments import Call
from estimator.profiles.kineto.collectives import NOTHING, Message, annotated_message, stated_message

OPS = ("cpu_op", "operator")  # today's category, and the older one; all in small letters
ANNOTATED = (*OPS, "user_annotation")
LAUNCHES = re.compile(r"_(runtime|driver)$|^runtime$")
WAITS = re.compile(
    r"^(cuda|hip|cu)(Stream|Device|Ctx|Event)Synchronize|^(cuda|hip)Memcpy(WithStream)?$"
    r"|^ur(QueueFinish|EventWait)|^ze(EventHostSynchronize|CommandQueueSynchronize|FenceHostSynchronize)"
)
KERNEL = 0
ON_DEVICE = {"kernel": KERNEL, "gpu_memcpy": 1, "memcpy": 1, "gpu_memset": 2, "memset": 2}
PROFILER_STEP, OPTIMIZER, LOADER = "ProfilerStep#", "Optimizer.", "enumerate(DataLoader)#"
OPTIMIZER_STEP = f"{OPTIMIZER}step#"
GRAPH_LAUNCH = "GraphLaunch"  # of a CUDA or HIP graph: one launch of many kernels
# ranges of counters, and events of devices that have no kernels
FOREIGN = re.compile(r"^cuda_profiler_range$|^mtia_|^(hpu|npu|xpu|privateuse1|glow)_(?!runtime$|driver$)")
MARKS = (PROFILER_STEP, OPTIMIZER, LOADER)
ABSENT, LARGEST_ID = UNKNOWN, 2**62


@dataclass
class Trace:
    """Events by category, times in ps since the first event; names, lanes and calls are numbers of the ``Ids``."""

    where: str
    metadata: dict[str, Any] = field(default_factory=dict)
    origin_us: int = 0  # from which times count
    foreign: Counter[str] = field(default_factory=Counter)  # events of a device that are no kernels, by category
    unfinished: int = 0  # events that still ran when the trace stopped
    calls: Ids = field(default_factory=Ids)  # arguments.Call → kind
    names: Ids = field(default_factory=Ids)  # of annotations, and of what ran on a device
    threads: Ids = field(default_factory=Ids)  # (pid, tid) → lane
    streams: Ids = field(default_factory=Ids)  # (device, stream) → lane
    messages: Ids = field(default_factory=Ids)  # collectives.Message → its number
    texts: Ids = field(default_factory=Ids)  # ids that are no whole numbers
    ops: Columns = field(default_factory=lambda: Columns("kind", "lane", "start", "duration", "id", "sequence"))
    device: Columns = field(
        default_factory=lambda: Columns(
            "name", "sort", "lane", "start", "duration", "id", "correlation", "bytes", "message"
        )
    )
    sent: Columns = field(default_factory=lambda: Columns("message", "lane", "start", "duration"))  # by the host
    launches: Columns = field(default_factory=lambda: Columns("correlation", "lane", "start", "graph"))
    waits: Columns = field(default_factory=lambda: Columns("start", "duration"))  # of the host for a device
    marks: Columns = field(default_factory=lambda: Columns("name", "lane", "start", "duration"))

    def keep(self, batch: list[Any]) -> None:
        """Put the X events of one batch into the columns."""
        by_category = self._by_category(batch)
        annotated = [e for cat in ANNOTATED for e in by_category[cat]]
        marks = [e for e in annotated if e.name.startswith(MARKS)]
        self.marks.add([self.names[e.name] for e in marks], self._lanes(marks), *self._times(marks))
        ops = [e for cat in OPS for e in by_category[cat] if not e.name.startswith(MARKS)]
        self._keep_ops([*ops, *(e for e in marks if e.name.startswith(LOADER))])
        self._keep_messages(annotated)
        self._keep_device([e for cat in ON_DEVICE for e in by_category[cat]])
        self._keep_launches([e for cat, events in by_category.items() if LAUNCHES.search(cat) for e in events])
        self.foreign.update({cat: len(events) for cat, events in by_category.items() if FOREIGN.search(cat)})

    def number(self, identity: Identity) -> int:
        """An identity as a whole number; texts get negative numbers of their own."""
        if type(identity) is int and -LARGEST_ID < identity < LARGEST_ID:
            return identity
        if isinstance(identity, float) and identity.is_integer() and abs(identity) < LARGEST_ID:
            return int(identity)
        return ABSENT if identity is None else -LARGEST_ID - 1 - self.texts[identity]

    def marked(self, prefix: str) -> Flags:
        """Whether the name of each mark begins with the prefix."""
        begins = np.array([name.startswith(prefix) for name in self.names], dtype=bool)
        return begins[self.marks["name"]]

    def _by_category(self, batch: list[Any]) -> dict[str, list[Any]]:
        """The events of each category in small letters, without timed ones that never ended."""
        by_category: defaultdict[str, list[Any]] = defaultdict(list)
        as_written: defaultdict[str | None, list[Any]] = defaultdict(list)
        for e in batch:
            as_written[e.cat].append(e)
        for category, events in as_written.items():
            by_category[(category or "").lower()] += events
        for category in (*ANNOTATED, *ON_DEVICE):
            ended = trace_times.finished(by_category[category])
            self.unfinished += len(by_category[category]) - len(ended)
            by_category[category] = ended
        return by_category

    def _keep_ops(self, events: list[Any]) -> None:
        kinds, ids = [self.calls[_call(e)] for e in events], [self.number(e.args.id) for e in events]
        sequence = [self.number(e.args.sequence) for e in events]
        self.ops.add(kinds, self._lanes(events), *self._times(events), ids, sequence)

    def _keep_device(self, events: list[Any]) -> None:
        self.device.add(
            [self.names[e.name] for e in events],
            [ON_DEVICE[e.cat.lower()] for e in events],
            [self.streams[_first_known(e.args.device, e.pid), _first_known(e.args.stream, e.tid)] for e in events],
            *self._times(events),
            [self.number(_first_known(e.args.id, e.args.old_id)) for e in events],
            [self.number(e.args.correlation) for e in events],
            [self.number(e.args.bytes) for e in events],
            [self._message(stated_message(e.args)) for e in events],
        )

    def _keep_launches(self, events: list[Any]) -> None:
        """Keep the calls of the device's runtime, and those of them that wait for a device."""
        correlations = [self.number(e.args.correlation) for e in events]
        graphs = [GRAPH_LAUNCH in e.name for e in events]
        self.launches.add(correlations, self._lanes(events), self._starts(events), graphs)
        self.waits.add(*self._times(trace_times.finished([e for e in events if WAITS.search(e.name)])))

    def _keep_messages(self, events: list[Any]) -> None:
        """Keep the events of the host around the launch of a message."""
        sent = [(e, message) for e in events if (message := stated_message(e.args) or annotated_message(e))]
        numbers, sending = [self._message(message) for _, message in sent], [e for e, _ in sent]
        self.sent.add(numbers, self._lanes(sending), *self._times(sending))

    def _message(self, message: Message | None) -> int:
        return NOTHING if message is None else self.messages[message]

    def _lanes(self, events: list[Any]) -> list[int]:
        return [self.threads[e.pid, e.tid] for e in events]

    def _starts(self, events: list[Any]) -> Integers:
        return trace_times.picoseconds(events, "ts", self.where, self.origin_us)

    def _times(self, events: list[Any]) -> tuple[Integers, Integers]:
        return self._starts(events), trace_times.picoseconds(events, "dur", self.where)


def scan(dump: Dump) -> Trace:
    """Read a trace into columns, ops sorted. Raises EstimatorError where it is damaged or a time is unreadable."""
    trace = Trace(str(dump))
    batches = chrome_trace.scan(dump, _event_type(), trace.metadata)
    for timed, origin_us in trace_times.timed_events(batches, trace.where):
        trace.origin_us = origin_us
        trace.keep(timed)
    trace.ops, trace.device = trace.ops.sorted_by_lane(), trace.device.sorted_by_lane()
    return trace


def _event_type() -> Any:
    import msgspec

    text, nothing = msgspec.Raw, msgspec.Raw(b"")
    return chrome_trace.event_type(
        dims=("Input Dims", text, nothing),
        old_dims=("Input dims", text, nothing),
        types=("Input type", text, nothing),
        strides=("Input Strides", text, nothing),
        values=("Concrete Inputs", text, nothing),
        id=("External id", Identity, None),
        old_id=("external id", Identity, None),
        correlation=("correlation", Identity, None),
        sequence=("Sequence number", Identity, None),
        device=("device", Identity, None),
        stream=("stream", Identity, None),
        bytes=("bytes", Identity, None),
        collective=("Collective name", text, nothing),
        given=("In msg nelems", text, nothing),
        got=("Out msg nelems", text, nothing),
        dtype=("dtype", text, nothing),
        ranks=("Group size", text, nothing),
        group=("Process Group Name", text, nothing),
    )


def _call(event: Any) -> Call:
    """The call of an event; strides and values are kept for matrix ops only, as they multiply the number of kinds."""
    args = event.args
    dims, types = bytes(args.dims) or bytes(args.old_dims), bytes(args.types)
    types = b"" if types == b"[]" else types  # before 2021 types were never filled in
    if torch_ops.names_product(event.name):
        return Call(event.name, dims, types, bytes(args.strides), bytes(args.values))
    return Call(event.name, dims, types)


def _first_known(identity: Identity, fallback: Identity) -> Identity:
    return fallback if identity is None else identity
