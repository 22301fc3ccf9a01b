"""The events of one plane of an XPlane dump → its ops, and what else they tell: steps, launches, waits."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from estimator.core.errors import EstimatorError
from estimator.core.types import Integers
from estimator.profiles.device_steps import last_ends
from estimator.profiles.events import FIRST, LAST, NO_EVENTS, Batch
from estimator.profiles.timeline import step_at
from estimator.profiles.wire import Content
from estimator.profiles.xplane import devices, ops, space
from estimator.profiles.xplane.lines import ABSENT, Events, LineReader, OutOfOrderError, Texts, join, mix
from estimator.profiles.xplane.reading import Part, Reading
from estimator.profiles.xplane.space import Line, Plane
from estimator.profiles.xplane.step_timeline import CORRELATION, is_wait, may_launch_or_wait

IDENTITY = (  # stats that identify an op
    "hlo_op", "hlo_module", space.PROGRAM_ID, "tf_op", "annotation", "shape", "tensor_shapes",
)  # fmt: skip
STEP, RUN = "step_num", "run_id"
ORDINAL = "device_ordinal"  # of one of several devices that a processor stands for
LONGEST = 2**60  # [ps], 13 days
LANES_MEMORY = 16 << 20  # chunks of all lanes together [B]; decoded they take about ten times as much
CHUNK_BYTES = (1 << 17, 1 << 20)  # the least and the most of one lane
CACHE_BITS = 16
NO_OP = -1
UNNUMBERED = -1  # the run of a program that TensorFlow called


@dataclass(frozen=True)
class LineSource:
    """The content of a dump, and how the events of its lines are read."""

    content: Content
    ordered: bool  # whether they are in the order of time
    base_ns: int  # start of the first line
    chunk_bytes: int  # of one line, decoded at once
    op_lines: frozenset[int]  # the identities of the lines that hold ops

    @classmethod
    def of(cls, content: Content, planes: list[Plane], ordered: bool) -> LineSource:
        """How to read these planes."""
        lines = [line for plane in planes for line in plane.lines]
        base_ns = min((line.timestamp_ns for line in lines), default=0)
        chunk_bytes = int(np.clip(LANES_MEMORY // max(len(lines), 1), *CHUNK_BYTES))
        return cls(content, ordered, base_ns, chunk_bytes, frozenset(map(id, space.op_lines(planes))))


class PlaneEvents:
    """Turns the events of one plane's lines into batches of kinds, and records the steps among them."""

    def __init__(self, source: LineSource, plane: Plane, reading: Reading, part: Part) -> None:
        self.source, self.plane, self.reading, self.part = source, plane, reading, part
        correlated = (CORRELATION,) if reading.launched else ()
        stats = plane.ids((*IDENTITY, STEP, RUN, ORDINAL, *devices.COPY_STATS, *correlated))
        self.stats = list(stats)
        self.identity = [row for row, name in enumerate(stats) if name in IDENTITY]
        self.texts = Texts(plane.stats)
        self.described = {event: space.read_metadata(source.content, plane, event) for event in plane.events}
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
        if space.is_stream(self.plane, line):
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
        if self.part.completed is None:
            step = step_at(self.part.counted, events.start)
        else:
            launch = self.reading.host.launch_or_start(self._correlation(events), events.start)
            step = step_at(self.part.counted, launch)
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
        if RUN in self.stats and space.PROGRAM_ID in self.stats:
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
        run, program = (events.tokens[self.stats.index(name)] for name in (RUN, space.PROGRAM_ID))
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
