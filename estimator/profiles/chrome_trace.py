"""Reader of Chrome trace JSON, which several profilers write: events as typed structs, chunk by chunk.

A chunk is cut where one object of an array ends and the next begins. No string can contain that text: its quote would
end the string, and no letter may follow. A wrongly cut chunk does not decode; it is then read event by event.
"""

from __future__ import annotations

import json
import mmap
import re
from collections.abc import Iterator
from contextlib import suppress
from decimal import Decimal
from typing import Any

import numpy as np

from estimator.core.errors import EstimatorError, kind_of_value
from estimator.profiles.dump import Dump
from estimator.profiles.trace_times import microseconds, time_text

EVENTS = "traceEvents"
BOM = b"\xef\xbb\xbf"
SPACE = re.compile(rb"[ \t\n\r]*")
BETWEEN_EVENTS = re.compile(rb'\}[ \t\n\r]*,[ \t\n\r]*(?=\{[ \t\n\r]*"[A-Za-z])')
EXTENT = json.JSONDecoder(parse_int=len, parse_float=len, strict=False)  # finds a value's end without huge numbers
ESCAPE = re.compile(rb'\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})|\\')  # a JSON escape, or a lone backslash
NO_NUMBER = re.compile(rb"(?<=[:\[,\s])-?(?:inf|nan)(?=\s*[,\]}])")
CHUNK = 1 << 20  # [B]
WINDOW, LARGEST_VALUE = 1 << 12, 1 << 28  # smallest and largest window in which one value is searched [B]
UNTIMED = tuple("MiICstfnNDOPvcR")  # phases of events without duration
NAMING = ("ph", "cat", "name", "ts", "dur")  # fields by which an error names an event
SHOWN = 120  # characters of a faulty event in an error message

Identity = int | float | str | None


def begins_with(head: bytes, known: re.Pattern[bytes]) -> bool:
    """Whether a file begins as JSON, with what is known of a program's traces near its beginning."""
    return head.lstrip(BOM + b" \t\r\n")[:1] in (b"{", b"[") and bool(known.search(head))


def event_type(**args: Any) -> type:
    """A struct type for events; ``args`` declares its wanted ``args``: field=(name in the dump, type, default)."""
    import msgspec

    fields = [(field, type_, default) for field, (_, type_, default) in args.items()]
    names = {field: name for field, (name, _, _) in args.items()}
    details = msgspec.defstruct("Args", fields, rename=names, gc=False, frozen=True)
    number = msgspec.Raw(b"")
    return msgspec.defstruct(
        "Event",
        [
            ("ph", str, ""), ("cat", str | None, None), ("name", str, ""), ("pid", Identity, None),
            ("tid", Identity, None), ("ts", msgspec.Raw, number), ("dur", msgspec.Raw, number),
            ("args", details, details()),
        ],
        gc=False,
    )  # fmt: skip


def scan(dump: Dump, event: type, metadata: dict[str, Any]) -> Iterator[list[Any]]:
    """Yield the events of a trace in batches, in file order; all other keys of the file go to ``metadata``.

    The trace is an object with ``traceEvents``, or an array. A pair of B and E events becomes one X event at the place
    of its E. Raises EstimatorError where the file is no trace, is damaged, or has an unclosed pair.
    """
    cursor = _Cursor(dump)
    pairs = _Pairs(str(dump))
    seen = False
    for key in cursor.members():
        if key == EVENTS and cursor.next() == b"[":
            if seen:
                raise EstimatorError(f"{dump}: '{EVENTS}' occurs twice; expected one list of events")
            seen = True
            yield from map(pairs.close, _batches(cursor, event))
        else:
            metadata[key] = cursor.decoded(cursor.value())
    if not seen:
        raise EstimatorError(f"{dump}: it has no list '{EVENTS}'; expected a trace, so export it again")
    pairs.finish()


def _batches(cursor: _Cursor, event: type) -> Iterator[list[Any]]:
    import msgspec

    decoder = msgspec.json.Decoder(list[event])  # type: ignore[valid-type]
    cursor.expect(b"[")
    more = not cursor.take(b"]")
    while more:
        cut = BETWEEN_EVENTS.search(cursor.content, cursor.at + CHUNK)
        batch = None
        if cut:
            with suppress(msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
                batch = decoder.decode(b"[%b}]" % cursor.content[cursor.at : cut.start()])
        if cut and batch is not None:
            cursor.at = cut.end()
        else:
            batch, more = _one_by_one(cursor, event, cut.end() if cut else cursor.at + CHUNK)
        yield batch
        cursor.release()


def _one_by_one(cursor: _Cursor, event: type, until: int) -> tuple[list[Any], bool]:
    """Decode the events up to a place one by one; and whether more follow."""
    batch = []
    while cursor.at < until:
        batch.append(_event(cursor, event))
        if cursor.take(b"]"):
            return batch, False
        cursor.expect(b",")
        if cursor.take(b"]"):  # after a comma too many
            return batch, False
    return batch, True


def _event(cursor: _Cursor, event: type) -> Any:
    """Decode one event; where that fails, decode its needed fields alone, or nothing of an event that lasts no time."""
    import msgspec

    raw = cursor.value()
    try:
        return msgspec.json.decode(raw, type=event)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        needed = _needed(cursor.decoded(raw), event)
    try:
        return msgspec.json.decode(json.dumps(needed, ensure_ascii=False).encode("utf-8", "replace"), type=event)
    except msgspec.MsgspecError as error:
        if isinstance(needed, dict) and needed.get("ph") in UNTIMED:
            return event(ph=needed["ph"])
        raise EstimatorError(
            f"{cursor.where}: the event {_shown(needed)} cannot be read ({error}); export it again"
        ) from None


def _shown(needed: Any) -> str:
    """What names an event in an error: nothing else of it, as it may hold a secret."""
    if not isinstance(needed, dict):
        return f"({kind_of_value(needed)})"
    named = {key: value for key, value in needed.items() if key in NAMING and not isinstance(value, dict | list)}
    return json.dumps(named)[:SHOWN]


def _needed(members: Any, type_: Any) -> Any:
    """The members of an object that are fields of a struct and not null; NaN and infinity as text."""
    import msgspec

    if not isinstance(members, dict):
        return members
    fields = {field.encode_name: field.type for field in msgspec.structs.fields(type_)}
    kept = {name: value for name, value in members.items() if name in fields and value is not None}
    if isinstance(kept.get("args"), dict):
        kept["args"] = _needed(kept["args"], fields["args"])
    return {name: value if _finite(value) else str(value) for name, value in kept.items()}


def _finite(value: Any) -> bool:
    return not isinstance(value, float) or np.isfinite(value)


def _extent(window: bytes) -> int:
    """The size of the JSON value at the beginning; 0 where it does not end there."""
    try:
        return EXTENT.raw_decode(_mended(window).decode("latin-1"))[1]  # one character per byte
    except (ValueError, RecursionError):
        return 0


def _mended(raw: bytes) -> bytes:
    """JSON text of the same size with a slash for each backslash that escapes nothing, as of Windows' paths, and NaN
    for what C++ writes of a division by zero, such as ``inf``.
    """
    raw = ESCAPE.sub(lambda escape: escape[0] if len(escape[0]) > 1 else b"/", raw) if b"\\" in raw else raw
    return NO_NUMBER.sub(lambda number: b"NaN".rjust(len(number[0])), raw) if b"nan" in raw or b"inf" in raw else raw


class _Cursor:
    """A place in the bytes of a JSON document."""

    def __init__(self, dump: Dump) -> None:
        self.where, self.content = str(dump), dump.content
        self.at = len(BOM) if self.content[:3] == BOM else 0

    def next(self) -> bytes:
        """Move to the next byte that is no space, and return it; empty at the end."""
        space = SPACE.match(self.content, self.at)
        self.at = space.end() if space else self.at
        return self.content[self.at : self.at + 1]

    def take(self, token: bytes) -> bool:
        """Move past the token if it comes next; whether it did."""
        is_next = self.next() == token
        self.at += is_next
        return is_next

    def expect(self, token: bytes) -> None:
        """Move past the token. Raises EstimatorError where another comes next."""
        if not self.take(token):
            raise self.damaged(f"expected '{token.decode()}'")

    def members(self) -> Iterator[str]:
        """Yield each key of the object, at its value, which the caller must read; a bare list has the key EVENTS."""
        if self.next() == b"[":
            yield EVENTS
        else:
            self.expect(b"{")
            while not self.take(b"}"):
                key = str(self.decoded(self.value()))
                self.expect(b":")
                yield key
                if self.next() != b"}":
                    self.expect(b",")
        if self.next():
            raise self.damaged("expected nothing more")

    def value(self) -> bytes:
        """Read the next JSON value, as bytes."""
        self.next()
        size = WINDOW
        while size <= LARGEST_VALUE:
            window = self.content[self.at : self.at + size]
            end = _extent(window)
            if 0 < end < len(window) or (end and self.at + end == len(self.content)):
                self.at += end
                return window[:end]
            if self.at + size >= len(self.content):
                break
            size *= 16
        raise self.damaged("expected JSON, and no value beyond 256 MiB")

    def decoded(self, raw: bytes) -> Any:
        """The Python value of JSON text."""
        try:
            return json.loads(_mended(raw).decode("utf-8", "replace"), strict=False)
        except (ValueError, RecursionError) as error:
            raise self.damaged(str(error)) from None

    def release(self) -> None:
        """Release the mapped pages before this place, which otherwise count as the process's memory."""
        if isinstance(self.content, mmap.mmap) and hasattr(mmap, "MADV_DONTNEED"):
            self.content.madvise(mmap.MADV_DONTNEED, 0, self.at // mmap.PAGESIZE * mmap.PAGESIZE)

    def damaged(self, problem: str) -> EstimatorError:
        """The error for damaged JSON at this place."""
        return EstimatorError(
            f"{self.where}: this JSON is cut off or damaged at byte {self.at} ({problem}); copy or export it again"
        )


class _Pairs:
    """Joins the B and E events of each thread into X events."""

    def __init__(self, where: str) -> None:
        self.where = where
        self.open: dict[tuple[Identity, Identity], list[Any]] = {}

    def close(self, batch: list[Any]) -> list[Any]:
        """The batch with each pair as one X event at the place of its E."""
        if not any(event.ph in ("B", "E") for event in batch):
            return batch
        return [whole for event in batch if (whole := self._whole(event)) is not None]

    def finish(self) -> None:
        """Raises EstimatorError where a pair is still open."""
        unclosed = next((stack[-1] for stack in self.open.values() if stack), None)
        if unclosed:
            raise EstimatorError(
                f"{self.where}: '{unclosed.name}' begins at ts {time_text(unclosed.ts)} and never ends; "
                "expected an E event for each B, so export it again"
            )

    def _whole(self, event: Any) -> Any:
        stack = self.open.setdefault((event.pid, event.tid), [])
        if event.ph == "B":
            stack.append(event)
            return None
        return self._joined(stack, event) if event.ph == "E" else event

    def _joined(self, stack: list[Any], end: Any) -> Any:
        import msgspec

        if not stack:
            raise EstimatorError(
                f"{self.where}: the E event at ts {time_text(end.ts)} ends nothing; expected a B event, so export it "
                "again"
            )
        event = stack.pop()
        duration = microseconds(end, "ts", self.where) - microseconds(event, "ts", self.where)
        event.ph, event.dur = "X", msgspec.Raw(str(Decimal(duration).scaleb(-6)).encode())
        return event
