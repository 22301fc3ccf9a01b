"""Reader of XPlane dumps (``*.xplane.pb``): TensorFlow's and JAX's profiler on any device, plain or under XLA.

Ops are the events of accelerators, or of the host's threads where there is no accelerator. An event is a kernel with
the op that launched it, ``name:Kernel`` of a TensorFlow executor, or an instruction of an XLA program in the dump.
Message: tsl/profiler/protobuf/xplane.proto of OpenXLA.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np
import pandas as pd

from estimator.core.errors import EstimatorError, within
from estimator.core.types import DeviceNumbers, Integers, Profile, Timeline, Workload
from estimator.profiles import canonical, modes, ranks, wire
from estimator.profiles.columns import UNKNOWN
from estimator.profiles.device_steps import last_ends, non_empty, outside_warnings, wall_ps
from estimator.profiles.dump import Dump, decode_head
from estimator.profiles.events import FIRST, LAST, NO_EVENTS, Batch, Tally, crossing_warnings, tally
from estimator.profiles.frameworks import JAX, with_framework
from estimator.profiles.steps import NO_WINDOWS, NOTHING_IN_STEPS, Window, Windows
from estimator.profiles.timeline import step_at
from estimator.profiles.wire import Content, Span
from estimator.profiles.xplane import devices, hlo, ops
from estimator.profiles.xplane.lines import ABSENT, Events, LineReader, OutOfOrderError, Texts, join, mix
from estimator.profiles.xplane.ops import Kind, Line, Plane
from estimator.profiles.xplane.step_timeline import (
    CORRELATION,
    DeviceRecord,
    HostRecord,
    device_timeline,
    is_wait,
    kernel_names,
    may_launch_or_wait,
)

FORMAT = "XPlane (TensorFlow's or JAX's *.xplane.pb)"
VIEWS = False
COMPANIONS = ("*trace.json.gz", "*trace.json", "*.hlo_proto.pb", "*stats.pb", "*.input_pipeline.pb", "*_page.pb")

SPACE_PLANE = 1  # the field of XSpace
IDENTITY = (  # stats that identify an op
    "hlo_op", "hlo_module", ops.PROGRAM_ID, "tf_op", "annotation", "shape", "tensor_shapes",
)  # fmt: skip
STEP, RUN = "step_num", "run_id"
ORDINAL = "device_ordinal"  # of one of several devices that a processor stands for
LONGEST = 2**60  # [ps], 13 days
LANES_MEMORY = 16 << 20  # chunks of all lanes together [B]; decoded they take about ten times as much
CHUNK_BYTES = (1 << 17, 1 << 20)  # the least and the most of one lane
CACHE_BITS = 16
REPLACED = "\ufffd"  # stands for bytes that are no text
NO_OP_RECORDED = "no op was recorded; expected ops of TensorFlow or XLA, so profile some training steps"
NO_OP = -1
UNNUMBERED = -1  # the run of a program that TensorFlow called


def recognises(head: bytes) -> bool:
    """Whether the content starts with a plane: an optional number, and a printable name."""
    try:
        tag, at = wire.varint(head, 0, len(head))
        _, at = wire.varint(head, at, len(head))
        number, value, next_at = wire.field(head, at, len(head))
        if number == ops.PLANE_ID and isinstance(value, int):
            number, value, next_at = wire.field(head, next_at, len(head))
        name = wire.text(head, value)
    except EstimatorError:
        return False
    return tag == SPACE_PLANE << 3 | wire.BYTES and number == ops.PLANE_NAME and len(name) > 1 and name.isprintable()


def read(dumps: list[Dump], workload: Workload) -> Profile:
    """Read the dump of one host. Raises EstimatorError where it is damaged or holds no op that took time."""
    dump = dumps[0]
    with within(str(dump)), dump.piecewise() as content:
        _refuse_saved_as_text(dump)
        reading = _read(content)
        workers = reading.workers()
        if not workers:
            raise EstimatorError(NOTHING_IN_STEPS if any(part.outside_ps for part in reading.parts) else NO_OP_RECORDED)
    steps = _steps(reading, workers)
    counts = devices.step_counts([part.steps for part in workers], len(steps))
    on_host = max(len(workers[0].ordinals), 1)
    each = zip(workers, counts, strict=True)
    tables, rows = zip(*(part.ops(on_host * count, str(dump)) for part, count in each), strict=True)
    busy_s = [part.busy_ps() * ops.PICO / count for part, count in zip(workers, counts, strict=True)]
    row = ranks.merged_rows(tables[0])[rows[0]] if len(tables) > 1 else rows[0]
    return Profile(
        ops=ranks.mean_ops(tables) if len(tables) > 1 else tables[0],
        timeline=_timeline(reading, workers[0], steps, row),
        ranks=on_host * len(workers),
        steps=max(counts),
        turns=ops.turns_of_steps(workers[0].kinds, workers[0].total) / (on_host * counts[0]),
        workload=_as_profiled(workload, reading, workers),
        device=None,
        device_recorded=workers[0].device_recorded,
        device_numbers=workers[0].device_numbers,
        format="XPlane",
        wall_step_s=devices.mean_step_s([part.steps for part in workers]) or _wall_step_s(reading, workers, steps),
        busy_step_s=float(np.mean(busy_s)),
        tool_version=reading.tool_version,
        warnings=tuple(_warnings(reading, workers)),
    )


def _as_profiled(workload: Workload, reading: _Reading, workers: list[_Part]) -> Workload:
    """The workload with its framework, and as inference where the names that this one gave to ops tell so."""
    framework, parts = reading.framework(), [(part.kinds, part.total) for part in workers]
    is_inference = modes.is_inference(*ops.names_types_times(parts))
    workload = modes.with_mode(with_framework(workload, framework), framework is not None and is_inference)
    state = ops.state_of_step(parts)
    if framework != JAX or workload.mode != "training" or state is None:
        return workload
    states_given = workload.optimizer is not None or workload.optimizer_slots is not None
    slots = workload.optimizer_slots if states_given else state.slots
    precision = workload.parameter_precision or state.precision
    kept = {"optimizer_slots": slots, "parameter_precision": precision}
    if not workload.parameters:
        kept |= {
            "parameters": state.parameters,
            "frozen_parameters": workload.frozen_parameters or state.frozen or None,
        }
    return workload.model_copy(update=kept)


def _steps(reading: _Reading, workers: list[_Part]) -> Integers:
    """Start and end of each step that events mark, in which any accelerator was given work."""
    steps = reading.steps.find()
    given = [part.completed != UNKNOWN for part in workers if part.completed is not None]
    return non_empty(steps, np.any(given, axis=0)) if given else steps


def _wall_step_s(reading: _Reading, workers: list[_Part], steps: Integers) -> float | None:
    """The time of a step that events mark [s], the mean over the workers; None where none is marked."""
    if not len(steps):
        return None
    completed = [_completed(reading, part, steps) for part in workers]
    walls = [wall_ps(steps, ends, part.total.busy_ps) for part, ends in zip(workers, completed, strict=True)]
    return float(np.mean(walls)) * ops.PICO / len(steps)


def _completed(reading: _Reading, part: _Part, steps: Integers) -> Integers | None:
    """When a part had done the work of each step; None where that is not known."""
    if part.completed is None:
        return reading.steps.completed()
    return part.completed[np.isin(reading.steps.find()[:, 0], steps[:, 0])]


def _timeline(reading: _Reading, part: _Part, steps: Integers, row: Integers) -> Timeline | None:
    """The timeline of a typical step of one part; ``row`` is the row of OPS of each of its kinds."""
    own = part.steps if len(part.steps) else steps
    return device_timeline(part.record, reading.host, own, part.completed is not None, part.kinds, row)


def _refuse_saved_as_text(dump: Dump) -> None:
    """Raise EstimatorError where a program read the dump as UTF-8 text: what was none became U+FFFD."""
    text = decode_head(dump.head)
    if text is not None and REPLACED in text:
        raise EstimatorError(
            f"the file is damaged: a program saved it as UTF-8 text, and {text.count(REPLACED)} bytes or more of its "
            "beginning became U+FFFD; expected the bytes as the profiler wrote them, so copy the dump again"
        )


@dataclass
class _Part:
    """What ran on one accelerator, or on the host: its kinds of ops, and its steps where its own line marks them."""

    name: str = "host"
    device_recorded: str | None = None
    device_numbers: DeviceNumbers | None = None
    steps: Integers = field(default_factory=lambda: NO_WINDOWS)
    counted: Integers = field(default_factory=lambda: NO_WINDOWS)  # times whose ops count; none where all do
    completed: Integers | None = None  # the last end of what the host launched in each marked step, where it is known
    begun: Window = (LAST, FIRST)  # the first and the last start of an op
    kinds: list[Kind] = field(default_factory=list)
    op_count: int = 0  # kinds of events that are ops
    waits: set[int] = field(default_factory=set)  # those that wait for input
    computes: bool = False  # whether it did more than copy
    ordinals: set[int] = field(default_factory=set)  # of the devices that a host stands for, where it tells them
    outside_ps: int = 0  # time of the ops outside of its steps
    total: Tally = field(default_factory=Tally)
    record: DeviceRecord = field(default_factory=DeviceRecord)

    def busy_ps(self) -> float:
        """The time in which it ran any op; of devices that a host stands for, no more than the ops of one took."""
        return min(float(self.total.busy_ps), self.total.sum_ps / max(len(self.ordinals), 1))

    def ops(self, steps: int, where: str) -> tuple[pd.DataFrame, Integers]:
        """OPS of one step, and the row of each kind."""
        rows, row = ops.rows(self.kinds, self.total)
        table = canonical.to_ops(rows, where)
        return table.assign(**{name: table[name] / steps for name in canonical.AMOUNTS if name in table}), row


@dataclass
class _Reading:
    """The content of one dump, as far as it was read."""

    parts: list[_Part] = field(default_factory=list)
    programs: dict[str, hlo.Program] = field(default_factory=dict)
    steps: Windows = field(default_factory=Windows)  # that events mark on any line
    host: HostRecord = field(default_factory=HostRecord)
    launched: frozenset[str] = frozenset()  # names of the events of GPUs, whose launches are looked for
    tool_version: str | None = None

    def framework(self) -> str | None:
        """The framework that the dump tells of."""
        kinds = [kind for part in self.parts for kind in part.kinds]
        return ops.framework(kinds, self.programs, self.tool_version)

    def workers(self) -> list[_Part]:
        """The parts that computed more than next to nothing; those that copied where none computed."""
        parts = [part for part in self.parts if part.computes] or [part for part in self.parts if part.kinds]
        busiest_ps = max((part.total.busy_ps for part in parts), default=0)
        return [part for part in parts if part.total.busy_ps >= ranks.LEAST_SHARE * busiest_ps]

    def counted(self) -> Integers:
        """Start and end of the times in which ops belong to steps that the reading did not know; none where all do.

        Those are steps that a host marks around its own ops, and those that runs or calls stand for.
        """
        left_out = self.steps.left_out()
        parts = [part for part in (self.parts if left_out else self.parts[:1]) if part.kinds]
        if not parts or not (self.steps.windows or left_out):
            return NO_WINDOWS
        steps = self.steps.counted()
        first, last = min(part.begun[0] for part in parts), max(part.begun[1] for part in parts)
        all_inside = first >= steps[0, 0] and last < steps[-1, 1] and (steps[1:, 0] == steps[:-1, 1]).all()
        return NO_WINDOWS if all_inside else steps


def _read(content: Content) -> _Reading:
    """Read a dump. Events out of order, which profilers do not write, are read again the slow way.

    A dump whose ops ran outside of its steps is read again as well: these are known only when all of it was read.
    """
    spans = [wire.span(value) for number, value in wire.fields(content, 0, len(content)) if number == SPACE_PLANE]
    ordered = True
    try:
        reading = _read_in_order(content, spans, ordered)
    except OutOfOrderError:
        ordered = False
        reading = _read_in_order(content, spans, ordered)
    counted = reading.counted()
    return _read_again(content, spans, ordered, reading, counted) if len(counted) else reading


def _read_again(content: Content, spans: list[Span], ordered: bool, before: _Reading, counted: Integers) -> _Reading:
    """The reading of the ops of these times alone."""
    reading = _read_in_order(content, spans, ordered, counted)
    for part, whole in zip(reading.parts, before.parts, strict=True):
        if part.counted is counted:
            part.outside_ps = round(whole.total.sum_ps - part.total.sum_ps)
    return reading


@dataclass(frozen=True)
class _Source:
    """The content of a dump, and how the events of its lines are read."""

    content: Content
    ordered: bool  # whether they are in the order of time
    base_ns: int  # start of the first line
    chunk_bytes: int  # of one line, decoded at once
    op_lines: frozenset[int]  # the identities of the lines that hold ops

    @classmethod
    def of(cls, content: Content, planes: list[Plane], ordered: bool) -> _Source:
        """How to read these planes."""
        lines = [line for plane in planes for line in plane.lines]
        base_ns = min((line.timestamp_ns for line in lines), default=0)
        chunk_bytes = int(np.clip(LANES_MEMORY // max(len(lines), 1), *CHUNK_BYTES))
        return cls(content, ordered, base_ns, chunk_bytes, frozenset(map(id, ops.op_lines(planes))))


def _read_in_order(content: Content, spans: list[Span], ordered: bool, counted: Integers = NO_WINDOWS) -> _Reading:
    """Read the planes: first the host's, then each accelerator's, whose steps the host may have marked."""
    planes = [ops.read_plane(content, span, whole=not ordered) for span in spans]
    ops.set_aside(planes)
    accelerators = [plane for plane in planes if plane.device]
    source = _Source.of(content, planes, ordered)
    reading = _Reading(programs=ops.programs(content, planes), tool_version=ops.tool_version(content, planes))
    with_streams = [
        plane
        for plane in accelerators
        if any(id(line) in source.op_lines and _is_stream(plane, line) for line in plane.lines)
    ]
    reading.launched = kernel_names(content, with_streams)
    _read_part(source, [plane for plane in planes if not plane.device], reading, _Part(counted=counted))
    for plane in accelerators:
        part = _accelerator(source, plane, reading)
        part.counted = part.counted if len(part.counted) else counted
        _read_part(source, [plane], reading, part)
    return reading


def _read_part(source: _Source, planes: list[Plane], reading: _Reading, part: _Part) -> None:
    """Read what ran on one accelerator, or on the host, into the reading."""
    reading.parts.append(part)
    nested: list[Iterator[Batch]] = []
    streams: list[Iterator[Batch]] = []
    for plane in planes:
        events = _PlaneEvents(source, plane, reading, part)
        for line in plane.lines if len(events.metadata) else []:
            lanes = streams if _is_stream(plane, line) else nested
            lanes.append(events.batches(line))
    part.total = tally(nested, streams, part.waits)


def _is_stream(plane: Plane, line: Line) -> bool:
    """Whether a line is a GPU's stream, whose events do not nest."""
    return plane.device and line.name != ops.XLA_LINE


def _accelerator(source: _Source, plane: Plane, reading: _Reading) -> _Part:
    """The part of an accelerator before its ops are read; what the host marked and launched is known by then."""
    content = source.content
    part = _Part(plane.name, devices.recorded_name(content, plane), devices.recorded_numbers(content, plane))
    part.steps = devices.read_steps(content, plane, source.base_ns, source.chunk_bytes, source.ordered)
    if len(part.steps):
        part.counted = np.array([[part.steps[0, 0], part.steps[-1, 1]]])
    elif reading.steps.windows and len(reading.host.launches):
        part.counted = reading.steps.find()
        part.completed = np.full(len(part.counted), UNKNOWN)
    return part


class _PlaneEvents:
    """Turns the events of one plane's lines into batches of kinds, and records the steps among them."""

    def __init__(self, source: _Source, plane: Plane, reading: _Reading, part: _Part) -> None:
        self.source, self.plane, self.reading, self.part = source, plane, reading, part
        correlated = (CORRELATION,) if reading.launched else ()
        stats = plane.ids((*IDENTITY, STEP, RUN, ORDINAL, *devices.COPY_STATS, *correlated))
        self.stats = list(stats)
        self.identity = [row for row, name in enumerate(stats) if name in IDENTITY]
        self.texts = Texts(plane.stats)
        self.described = {event: ops.read_metadata(source.content, plane, event) for event in plane.events}
        self.metadata = self._named(self._is_relevant)
        self.waits = self._named(is_wait)
        self.input = self._named(lambda name: name in ops.WAITS_FOR_INPUT and not plane.device)
        calls = {event: ops.CALLED.match(metadata.name) for event, metadata in self.described.items()}
        self.functions = {event: call[1] for event, call in calls.items() if call and not plane.device}
        ids = np.array([*stats.values()], dtype=np.int64)
        self.reader = LineReader(source.content, self.metadata, ids, self.texts, source.chunk_bytes)
        self.numbers: dict[int, int] = {}  # kind by key; NO_OP where the event is no op
        self.cached_key = np.zeros(1 << CACHE_BITS, dtype=np.int64)
        self.cached_key[0] = -1  # an empty slot must hold no key that belongs there
        self.cached_number = np.zeros(1 << CACHE_BITS, dtype=np.int64)
        self.may_mark = not (plane.device and reading.steps.windows)  # the host's marks come first

    def _named(self, accept: Callable[[str], object]) -> Integers:
        """The metadata of the events whose names are accepted, in rising order."""
        accepted = sorted(event for event, metadata in self.described.items() if accept(metadata.name))
        return np.array(accepted, dtype=np.int64)

    def _is_relevant(self, name: str) -> bool:
        of_host = self.reading.launched and may_launch_or_wait(name, self.reading.launched)
        return self.plane.device or bool(of_host) or ops.may_be_op_or_step(name)

    def batches(self, line: Line) -> Iterator[Batch]:
        """Yield the ops of one line in the order of time. Raises OutOfOrderError, and EstimatorError."""
        parts = self.reader.read(*line.span, self.source.ordered)
        if not self.source.ordered:
            parts = iter([join([self.reader.no_events(), *parts])])
        last = -LONGEST
        for batch in (self._batch(part, line) for part in parts):
            if len(batch) and batch.start[0] < last:
                raise OutOfOrderError
            last = int(batch.start[-1]) if len(batch) else last
            yield batch

    def _batch(self, events: Events, line: Line) -> Batch:
        """The ops among the events, on the dump's common clock and in the order of time."""
        shift = (line.timestamp_ns - self.source.base_ns) * 1000  # [ps]
        self._refuse_impossible(events, line, shift)
        events = Events(events.metadata, events.start + shift, events.duration, events.tokens)
        self._record_steps(events)
        self._record_host(events)
        if id(line) not in self.source.op_lines:
            return NO_EVENTS
        if ops.prepares_input(self.plane, line):  # of what runs there only the step's own wait is of the step
            events = events.take(np.isin(events.metadata, self.input))
        events = self._in_steps(events)
        number = self._kind_numbers(events)
        self._record_device(events, number, line)
        self._record_ordinals(events.take(number != NO_OP))
        batch = Batch(number, events.start, events.duration).take(number != NO_OP)
        first, last = self.part.begun
        self.part.begun = min(first, int(batch.start.min(initial=LAST))), max(last, int(batch.start.max(initial=FIRST)))
        return batch if batch.in_order() else batch.sorted()

    def _record_host(self, events: Events) -> None:
        """Keep what the host launched on devices, and its waits for them."""
        if self.plane.device or not self.reading.launched:
            return
        correlation = self._correlation(events)
        launches, waits = correlation != ABSENT, np.isin(events.metadata, self.waits)
        self.reading.host.add_launches(correlation[launches], events.start[launches])
        self.reading.host.waits.add(events.start[waits], events.end[waits])

    def _record_device(self, events: Events, number: Integers, line: Line) -> None:
        """Keep the ops of a GPU's stream."""
        if _is_stream(self.plane, line):
            columns = (number, events.start, events.duration, self._correlation(events))
            self.part.record.add(line.name, *(column[number != NO_OP] for column in columns))

    def _record_ordinals(self, events: Events) -> None:
        """Keep which of several devices, for which a host stands, ran its ops."""
        if ORDINAL in self.stats and not self.plane.device:
            ordinals = np.unique(events.tokens[self.stats.index(ORDINAL)])
            self.part.ordinals.update(ordinals[ordinals != ABSENT].tolist())

    def _correlation(self, events: Events) -> Integers:
        """The number of the launch of each event; ABSENT where it has none."""
        row = self.stats.index(CORRELATION) if CORRELATION in self.stats else None
        return np.full(len(events), ABSENT) if row is None else events.tokens[row]

    def _in_steps(self, events: Events) -> Events:
        """The events that belong to the steps; all where no step is known."""
        if not len(self.part.counted):
            return events
        by_host = self.part.completed is not None
        times = self.reading.host.launch_or_start(self._correlation(events), events.start) if by_host else events.start
        step = step_at(self.part.counted, times)
        if self.part.completed is not None:
            ends = last_ends(step, events.end, len(self.part.completed))
            self.part.completed = np.maximum(self.part.completed, ends)
        self.part.outside_ps += int(events.duration[step < 0].sum())
        return events.take(step >= 0)

    def _refuse_impossible(self, events: Events, line: Line, shift: int) -> None:
        if abs(shift) > LONGEST:
            raise EstimatorError(
                f"line '{line.name}' starts {shift / 1e12:.3g} s after the first line; expected some days at most"
            )
        for name, values, least in (("start", events.start, -LONGEST), ("duration", events.duration, 0)):
            wrong = (values < least) | (values > LONGEST)
            if wrong.any():
                row = int(wrong.argmax())
                event = self.described[int(events.metadata[row])].name
                raise EstimatorError(
                    f"line '{line.name}': '{event}' has a {name} of {int(values[row])} ps; "
                    f"expected {least} to {LONGEST} ps, so capture the profile again"
                )

    def _record_steps(self, events: Events) -> None:
        self._record_calls(events)
        if STEP in self.stats and self.may_mark:
            self._record_marks(events)
        if RUN in self.stats and ops.PROGRAM_ID in self.stats:
            self._record_runs(events)

    def _record_calls(self, events: Events) -> None:
        """Record the calls of traced functions."""
        end = events.end
        for row in np.flatnonzero(np.isin(events.metadata, [*self.functions])):
            function = self.functions[int(events.metadata[row])]
            self.reading.steps.mark_call(function, int(events.start[row]), int(end[row]))

    def _record_marks(self, events: Events) -> None:
        """Record the events that have the number of a step."""
        end = events.end
        for row in np.flatnonzero(events.tokens[self.stats.index(STEP)] != ABSENT):
            name = self.described[int(events.metadata[row])].name
            self.reading.steps.mark(name, int(events.start[row]), int(end[row]))

    def _record_runs(self, events: Events) -> None:
        """Record the runs of programs: the events of one number and program that follow each other."""
        run, program = (events.tokens[self.stats.index(name)] for name in (RUN, ops.PROGRAM_ID))
        rows = np.flatnonzero((run != ABSENT) & (run != UNNUMBERED) & (program != ABSENT))
        begins = (np.diff(run[rows], prepend=UNNUMBERED) != 0) | (np.diff(program[rows], prepend=UNNUMBERED) != 0)
        end = events.end
        for of_run in np.split(rows, np.flatnonzero(begins))[1:]:
            first, span = of_run[0], (int(events.start[of_run].min()), int(end[of_run].max()))
            self.reading.steps.mark_run(int(program[first]), int(run[first]), *span)

    def _kind_numbers(self, events: Events) -> Integers:
        """The number of each event's kind, whose key is made of its metadata and the stats of IDENTITY."""
        key = mix(events.metadata, events.metadata)
        for row in self.identity:
            key = mix(key, events.tokens[row])
        slot = (key.view(np.uint64) >> np.uint64(64 - CACHE_BITS)).astype(np.int64)
        number = self.cached_number[slot]
        uncached = np.flatnonzero(self.cached_key[slot] != key)
        if len(uncached):
            new, first, inverse = np.unique(key[uncached], return_index=True, return_inverse=True)
            numbers = np.array(
                [self._number(int(k), events, int(uncached[i])) for k, i in zip(new, first, strict=True)]
            )
            number[uncached] = numbers[inverse]
            self.cached_key[slot[uncached[first]]], self.cached_number[slot[uncached[first]]] = new, numbers
        return number

    def _number(self, key: int, events: Events, row: int) -> int:
        if key not in self.numbers:
            event = int(events.metadata[row])
            stats = {name: self.texts.look_up(int(events.tokens[i, row])) for i, name in enumerate(self.stats)}
            number = self.part.op_count
            identity = {name: text for name, text in stats.items() if name in IDENTITY}
            kinds = ops.kinds(number, self.plane, self.described[event], identity, self.reading.programs)
            self.part.kinds.extend(kinds)
            self.part.op_count += bool(kinds)
            copies = devices.is_copy(self.described[event].name, (name for name, text in stats.items() if text))
            self.part.computes |= bool(kinds) and not copies
            self.numbers[key] = number if kinds else NO_OP
            if event in self.input:
                self.part.waits.add(number)
        return self.numbers[key]


def _warnings(reading: _Reading, workers: list[_Part]) -> Iterator[str]:
    if not any(len(part.steps) for part in workers):
        yield from reading.steps.warnings()
    idle = [part.name for part in reading.parts if part.kinds and part not in workers]
    yield from ranks.device_warnings(len(workers), idle)
    yield from ranks.host_warnings(len(workers[0].ordinals))
    outside, total = sum(part.outside_ps for part in workers), sum(part.total.sum_ps for part in workers)
    yield from outside_warnings(outside, outside + total)
    yield from crossing_warnings(Tally(crossing=sum(part.total.crossing for part in workers)))
