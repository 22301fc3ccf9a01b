"""A simple reader of XPlane dumps, which the fast one must equal: protobuf's own parser, then a walk in Python.

It also encodes the wire format, to write dumps byte by byte.
"""

from collections import Counter, defaultdict
from functools import cache
from typing import Any

from estimator.profiles.xplane import ops

MESSAGES = {  # name, number, type; * marks repeated fields
    "XSpace": "planes 1 *XPlane",
    "XPlane": "id 1 int64,name 2 string,lines 3 *XLine,event_metadata 4 *EventEntry,stat_metadata 5 *StatEntry",
    "EventEntry": "key 1 int64,value 2 XEventMetadata",
    "StatEntry": "key 1 int64,value 2 XStatMetadata",
    "XLine": "id 1 int64,name 2 string,timestamp_ns 3 int64,events 4 *XEvent,display_name 11 string",
    "XEvent": "metadata_id 1 int64,offset_ps 2 int64,duration_ps 3 int64,stats 4 *XStat",
    "XStat": "metadata_id 1 int64,uint64_value 3 uint64,int64_value 4 int64,str_value 5 string,ref_value 7 uint64",
    "XEventMetadata": "id 1 int64,name 2 string,display_name 4 string,stats 5 *XStat",
    "XStatMetadata": "id 1 int64,name 2 string",
}  # fmt: skip

Row = tuple[str, str, str]  # op, kernel, shapes


def varint(value: int) -> bytes:
    """A whole number as protobuf writes it."""
    out = bytearray()
    value &= (1 << 64) - 1
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes(out) + bytes([value])


def field(number: int, value: int | bytes | str) -> bytes:
    """One field of a message."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    data = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(data)) + data


@cache
def message(name: str) -> Any:
    """The class of one of MESSAGES."""
    from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

    file = descriptor_pb2.FileDescriptorProto(name="plain.proto", package="plain", syntax="proto3")
    for message_name, fields in MESSAGES.items():
        declared = file.message_type.add(name=message_name)
        for text in fields.split(","):
            field_name, number, kind = text.split()
            field = declared.field.add(name=field_name, number=int(number))
            field.label = field.LABEL_REPEATED if kind[0] == "*" else field.LABEL_OPTIONAL
            kind = kind.strip("*")
            field.type = getattr(field, f"TYPE_{kind.upper()}", field.TYPE_MESSAGE)
            if field.type == field.TYPE_MESSAGE:
                field.type_name = f".plain.{kind}"
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName(f"plain.{name}"))


def read(content: bytes) -> tuple[Counter[Row], Counter[Row], int, int]:
    """Calls and self times [ps] of a plain TensorFlow dump's host ops, busy time [ps], and how many steps it marks."""
    space = message("XSpace").FromString(content)
    calls: Counter[Row] = Counter()
    self_ps: Counter[Row] = Counter()
    intervals: list[tuple[int, int]] = []
    steps: dict[str, int] = defaultdict(int)
    for plane in space.planes:
        stat_names = {entry.key: entry.value.name for entry in plane.stat_metadata}
        names = {entry.key: entry.value.name for entry in plane.event_metadata}
        known = {key: ops.TF_OP.match(name) for key, name in names.items()}
        for line in plane.lines:
            events: list[tuple[int, int, Row]] = []
            for event in line.events:
                stats = {stat_names.get(stat.metadata_id): stat for stat in event.stats}
                if "step_num" in stats:
                    steps[names[event.metadata_id]] += 1
                op = known.get(event.metadata_id)
                if op and not ops.CALLS.search(op[2]):
                    shapes = _text(stats["shape"], stat_names) if "shape" in stats else ""
                    start = line.timestamp_ns * 1000 + event.offset_ps
                    events.append((start, -event.duration_ps, (op[1], op[2], shapes)))
            _nest(sorted(events), calls, self_ps)
            intervals += [(start, start - negative) for start, negative, _ in events]
    return calls, self_ps, _union(intervals), max(steps.values(), default=1)


def _text(stat: Any, stat_names: dict[int, str]) -> str:
    return str(stat.str_value or stat_names.get(stat.ref_value, ""))


def _nest(events: list[tuple[int, int, Row]], calls: Counter[Row], self_ps: Counter[Row]) -> None:
    """Add the calls and self times of one line's events, sorted by start, then falling duration."""
    stack: list[tuple[int, Row]] = []
    for start, negative, row in events:
        calls[row] += 1
        self_ps[row] -= negative
        while stack and stack[-1][0] <= start:
            stack.pop()
        if stack and negative:
            self_ps[stack[-1][1]] -= min(start - negative, stack[-1][0]) - start
        if negative:
            stack.append((start - negative, row))


def _union(intervals: list[tuple[int, int]]) -> int:
    total, reached = 0, -(2**63)
    for start, end in sorted(intervals):
        total += max(end - max(start, reached), 0)
        reached = max(reached, end)
    return total
