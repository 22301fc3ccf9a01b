"""The protobuf messages of an XPlane dump: its planes, their lines, and the names that their events refer to."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from estimator.profiles import wire
from estimator.profiles.wire import Content, Span, Value
from estimator.profiles.xplane import hlo

# field numbers of xplane.proto
SPACE_PLANE = 1
PLANE_ID, PLANE_NAME, PLANE_LINE, PLANE_EVENTS, PLANE_STAT_NAMES, PLANE_STATS = 1, 2, 3, 4, 5, 6
ENTRY_KEY, ENTRY_VALUE = 1, 2  # of a map
NAME, DISPLAY_NAME, METADATA_STATS = 2, 4, 5  # of XEventMetadata; an XStatMetadata's name is 2 as well
LINE_NAME, LINE_TIMESTAMP_NS, LINE_EVENTS, LINE_DISPLAY_NAME = 2, 3, 4, 11
LINE_HEADER = (LINE_NAME, LINE_TIMESTAMP_NS, LINE_DISPLAY_NAME)
STAT_METADATA, STAT_TEXT, STAT_BYTES, STAT_REF = 1, 5, 6, 7

PROGRAMS, DEVICE = "/host:metadata", "/device:"
PROGRAM_ID = "program_id"  # stat of an op, and of a program
BESIDE = re.compile(r"SparseCore|:CUSTOM:Megascale")  # planes of a core's helpers and of the network: no ranks
CUSTOM = ":CUSTOM:"  # in the names of planes of plugins: of an accelerator, or of its links and helpers
STREAM = "Stream"  # how the lines of a GPU's streams begin
XLA_LINE = "XLA Ops"  # the ops of accelerators other than GPUs, where it only repeats the streams
DERIVED_LINES = re.compile(r"^(XLA (Modules|TraceMe)|Steps|TensorFlow |Framework |Source|Launch Stats|Async|Scope)")


@dataclass(frozen=True)
class Line:
    """One line of a plane: a thread of the host, or a stream of an accelerator."""

    name: str
    timestamp_ns: int
    span: Span


@dataclass
class Plane:
    """A plane without its events: the place of each event metadata by id, and stat names (and texts) by id."""

    name: str = ""
    lines: list[Line] = field(default_factory=list)
    events: dict[int, Span] = field(default_factory=dict)
    stats: dict[int, str] = field(default_factory=dict)
    own_stats: list[Span] = field(default_factory=list)
    aside: bool = False  # of a plugin, where the dump has an accelerator of its own

    @property
    def device(self) -> bool:
        """Whether the plane is an accelerator's."""
        return self.name.startswith(DEVICE) and not BESIDE.search(self.name) and not self.aside

    @property
    def filled(self) -> bool:
        """Whether any line has events."""
        return any(line.span[1] > line.span[0] for line in self.lines)

    def ids(self, stat_names: Sequence[str]) -> dict[str, int]:
        """The ids of the stats with these names, as far as the plane has them."""
        ids = {name: number for number, name in self.stats.items() if name in stat_names}
        return {name: ids[name] for name in stat_names if name in ids}


@dataclass(frozen=True)
class EventMetadata:
    """An event's metadata: its name, its display name, and its stats."""

    name: str
    display_name: str
    stats: Mapping[str, str]


def set_aside(planes: Sequence[Plane]) -> None:
    """Mark the planes of plugins as no accelerators, where the dump has an accelerator of its own."""
    if any(plane.device and plane.filled and CUSTOM not in plane.name for plane in planes):
        for plane in planes:
            plane.aside = CUSTOM in plane.name


def read_plane(content: Content, span: Span, whole: bool) -> Plane:
    """Read a plane without its events; ``whole``: walk lines to their ends. Raises EstimatorError."""
    plane = Plane()
    for number, value in wire.fields(content, *span):
        if number == PLANE_NAME:
            plane.name = wire.text(content, value)
        elif number == PLANE_LINE:
            plane.lines.append(_line(content, wire.span(value), whole))
        elif number == PLANE_EVENTS:
            key, entry = _entry(content, wire.span(value))
            plane.events[key] = entry
        elif number == PLANE_STAT_NAMES:
            key, entry = _entry(content, wire.span(value))
            plane.stats[key] = _name(content, entry)
        elif number == PLANE_STATS:
            plane.own_stats.append(wire.span(value))
    return plane


def _line(content: Content, span: Span, whole: bool) -> Line:
    """A line's name and start, which precede its events; ``whole``: also look for them after the events."""
    header: dict[int, Value] = {}
    place = span[0]
    while place < span[1]:
        number, value, next_place = wire.field(content, place, span[1])
        if number == LINE_EVENTS and not whole:
            break
        if number in LINE_HEADER:
            header[number] = value
        place = next_place
    name = header.get(LINE_DISPLAY_NAME) or header.get(LINE_NAME)
    start = wire.signed(header.get(LINE_TIMESTAMP_NS, 0))
    return Line(wire.text(content, name) if name else "", start, span if whole else (place, span[1]))


def _entry(content: Content, span: Span) -> tuple[int, Span]:
    """Key and value of a map's entry; an absent key is 0, an absent value an empty message."""
    key, entry = 0, (span[0], span[0])
    for number, value in wire.fields(content, *span):
        if number == ENTRY_KEY:
            key = wire.signed(value)
        elif number == ENTRY_VALUE:
            entry = wire.span(value)
    return key, entry


def _name(content: Content, span: Span) -> str:
    return next((wire.text(content, value) for number, value in wire.fields(content, *span) if number == NAME), "")


def read_metadata(content: Content, plane: Plane, metadata: int) -> EventMetadata:
    """The names and stats of the event metadata with this id."""
    names, stats = {NAME: "", DISPLAY_NAME: ""}, {}
    for number, value in wire.fields(content, *plane.events[metadata]):
        if number in names:
            names[number] = wire.text(content, value)
        elif number == METADATA_STATS:
            stat, text = _stat(content, plane, wire.span(value))
            stats[stat] = text
    return EventMetadata(names[NAME], names[DISPLAY_NAME], stats)


def _stat(content: Content, plane: Plane, span: Span) -> tuple[str, str]:
    """A stat's name and value as texts."""
    name, text = "", ""
    for number, value in wire.fields(content, *span):
        if number == STAT_METADATA:
            name = plane.stats.get(wire.signed(value), "")
        elif number == STAT_REF:
            text = plane.stats.get(wire.signed(value), "")
        elif number == STAT_TEXT:
            text = wire.text(content, value)
        elif isinstance(value, int):
            text = str(wire.signed(value))
    return name, text


def programs(content: Content, planes: Sequence[Plane]) -> dict[str, hlo.Program]:
    """XLA's programs, each by its number and by its name, which is empty where several have it. Raises EstimatorError.

    The number is that which the plane states, else the place in it. A function that is compiled for several shapes
    makes programs of one name.
    """
    by_number: dict[str, hlo.Program] = {}
    by_name: dict[str, hlo.Program] = {}
    for plane in (p for p in planes if p.name == PROGRAMS):
        for place, entry in plane.events.items():
            number = read_metadata(content, plane, place).stats.get(PROGRAM_ID) or str(place)
            for body in _stat_bodies(content, entry):
                name, program = hlo.read_program(body, f"program {number}")
                by_number[number] = program
                by_name[name] = program if name not in by_name else hlo.NO_PROGRAM
    return by_name | by_number


def _stat_bodies(content: Content, entry: Span) -> Iterator[bytes]:
    """Yield the bytes of an event metadata's stats."""
    for number, value in wire.fields(content, *entry):
        if number == METADATA_STATS:
            for inner, body in wire.fields(content, *wire.span(value)):
                if inner == STAT_BYTES:
                    yield bytes(content[slice(*wire.span(body))])


def is_stream(plane: Plane, line: Line) -> bool:
    """Whether a line is a GPU's stream, whose events do not nest."""
    return plane.device and line.name != XLA_LINE


def op_lines(planes: Sequence[Plane]) -> list[Line]:
    """The lines that hold ops: those of accelerators with events, or the host's threads where there are none."""
    accelerator = [line for plane in planes if plane.device for line in _kernel_lines(plane.lines)]
    return accelerator or [line for plane in planes if not plane.device for line in plane.lines]


def _kernel_lines(lines: Sequence[Line]) -> list[Line]:
    """The lines of an accelerator that together hold each kernel once."""
    filled = [line for line in lines if line.span[1] > line.span[0]]
    streams = [line for line in filled if line.name.startswith(STREAM)]
    xla = [line for line in filled if line.name == XLA_LINE]
    return streams or xla or [line for line in filled if not DERIVED_LINES.search(line.name)]


def tool_version(content: Content, planes: Sequence[Plane]) -> str | None:
    """JAX's version where the dump states it."""
    stats = {name: text for plane in planes for name, text in plane_stats(content, plane).items()}
    return f"jax {stats['jax_version']}" if "jax_version" in stats else None


def plane_stats(content: Content, plane: Plane) -> dict[str, str]:
    """The stats of the plane itself, as texts."""
    return dict(_stat(content, plane, span) for span in plane.own_stats)
