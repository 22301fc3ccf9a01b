"""The events of one line (thread or stream) of an XPlane dump, read in chunks straight from the wire format.

Nearly every event is *regular*: metadata_id, offset_ps, duration_ps and stats in this order, only stats more than once.
Places that look like regular events are decoded together; those that follow each other without a gap are kept. Every
other event is read field by field, so that the result never depends on the shortcut.
Messages: tsl/profiler/protobuf/xplane.proto of OpenXLA.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from estimator.core.types import Flags, Integers
from estimator.profiles.columns import NONE, UNKNOWN
from estimator.profiles.wire import Chunk, Content, fields, signed, skip, varint

CHUNK = 1 << 20  # [B]
ABSENT = UNKNOWN  # token of a stat that an event does not have

# tags (field number and wire type in one byte) that the fast scan compares
TAG_EVENT = TAG_STAT = 0x22  # XLine.events, XEvent.stats
TAG_METADATA, TAG_OFFSET, TAG_DURATION = 0x08, 0x10, 0x18  # of XEvent; an XStat's metadata_id has the same tag
TAG_UINT, TAG_INT, TAG_STRING, TAG_BYTES, TAG_REF = 0x18, 0x20, 0x2A, 0x32, 0x38  # values of an XStat
LINE_HEADER = (0x12, 0x18)  # XLine.name, XLine.timestamp_ns
# field numbers that the plain walk compares
METADATA, OFFSET, DURATION, STATS = 1, 2, 3, 4  # of XEvent; an XStat's metadata_id is 1 as well
STAT_INTEGERS, STAT_TEXTS, STAT_REF = (3, 4), (5, 6), 7

MIX, FOLD = np.uint64(0x9E3779B97F4A7C15), np.uint64(29)  # of the tokens' hash


class OutOfOrderError(Exception):
    """Events are not in the order of time, or a line's name or start follows its events."""


@dataclass(frozen=True)
class Events:
    """Events in file order: metadata id, start and duration [ps], and a token per wanted stat.

    A token is the stat's whole number, the key of its text in the plane's ``Texts``, or ABSENT.
    """

    metadata: Integers
    start: Integers
    duration: Integers
    tokens: Integers  # wanted stats × events

    def __len__(self) -> int:
        return len(self.metadata)

    @property
    def end(self) -> Integers:
        """When each event ended [ps]."""
        return self.start + self.duration

    def take(self, rows: Flags) -> Events:
        """The events of these rows."""
        return Events(*(column[..., rows] for column in vars(self).values()))


def join(parts: list[Events]) -> Events:
    """Concatenate tables of events."""
    columns = zip(*([*vars(part).values()] for part in parts), strict=True)
    return Events(*(np.concatenate(column, axis=-1) for column in columns))


@dataclass
class Texts:
    """The texts of tokens; a stat holds its text itself, or refers to one of the plane's by number."""

    refs: Mapping[int, str]
    known: dict[int, str] = field(default_factory=dict)

    def look_up(self, token: int) -> str:
        """The text of a token: its digits where it is a number, and empty where it is ABSENT."""
        return self.known.get(token, "" if token == ABSENT else str(token))

    def add(self, tokens: Integers, texts: Iterator[bytes]) -> None:
        """Store the texts of tokens, one each."""
        for token, text in zip(tokens.tolist(), texts, strict=True):
            self.known.setdefault(token, text.decode("utf-8", "replace"))


@dataclass(frozen=True)
class _Candidates:
    """Places in a chunk that look like regular events: start, end, values, and start of the stats."""

    start: Integers
    end: Integers
    metadata: Integers
    offset: Integers
    duration: Integers
    stats: Integers

    def take(self, rows: Integers | Flags) -> _Candidates:
        return _Candidates(*(column[rows] for column in vars(self).values()))


@dataclass(frozen=True)
class LineReader:
    """Reads lines of one plane, given the relevant metadata ids (sorted) and the ids of the wanted stats."""

    content: Content
    metadata: Integers
    stats: Integers
    texts: Texts
    chunk_bytes: int = CHUNK

    def read(self, start: int, end: int, only_events: bool) -> Iterator[Events]:
        """Yield the relevant events between two places of a line, chunk by chunk.

        Raises OutOfOrderError where ``only_events`` were expected but the line's name or start is found; and
        EstimatorError.
        """
        return _Chunks(self, start, end, only_events)

    def chunk(self, start: int, stop: int, end: int, only_events: bool) -> tuple[Events, int]:
        """The events that start between two places, and the place after the last of them."""
        chunk = Chunk.cut(self.content, start, stop)
        candidates = _candidates(chunk, stop - start)
        broken = np.flatnonzero(candidates.start[1:] != candidates.end[:-1])
        runs, others, at = [NONE], [], start
        while at < stop:
            run = _run(candidates, broken, at - start)
            if len(run):
                runs.append(run)
                at = start + int(candidates.end[run[-1]])
            else:
                event, next_at = self._event(at, end)
                if only_events and not len(event) and self.content[at] in LINE_HEADER:
                    raise OutOfOrderError
                others.append(event)
                at = next_at
        regular = candidates.take(np.concatenate(runs))
        regular = regular.take(self._is_relevant(regular.metadata))
        tokens, decoded = self._tokens(chunk, regular)
        others += [self._event(start + int(place), end)[0] for place in regular.start[~decoded]]
        kept = regular.take(decoded)
        return join([Events(kept.metadata, kept.offset, kept.duration, tokens[:, decoded]), *others]), at

    def no_events(self) -> Events:
        """An empty table."""
        return Events(NONE, NONE, NONE, np.empty((len(self.stats), 0), dtype=np.int64))

    def _is_relevant(self, metadata: Integers) -> Flags:
        at = np.searchsorted(self.metadata[:-1], metadata)
        return np.asarray(self.metadata[at] == metadata)

    def _tokens(self, chunk: Chunk, events: _Candidates) -> tuple[Integers, Flags]:
        """Tokens (wanted stats × events), and whether all stats of each event could be decoded."""
        tokens = np.full((len(self.stats), len(events.start)), ABSENT)
        decoded = np.ones(len(events.start), dtype=bool)
        row = np.flatnonzero(events.stats < events.end)
        place = events.stats[row]
        while len(row):
            size, body = chunk.varints(place + 1)
            stat, value = chunk.varints(body + 1)
            stat_end = body + size
            valid = (chunk.data[place] == TAG_STAT) & (chunk.data[body] == TAG_METADATA) & (body > 0)
            valid &= (value > 0) & (value < stat_end) & (stat_end <= events.end[row])
            decoded[row[~valid]] = False
            row, stat, value, stat_end = row[valid], stat[valid], value[valid], stat_end[valid]
            for index, wanted in enumerate(self.stats):
                hit = stat == wanted
                if hit.any():
                    tokens[index, row[hit]], readable = self._values(chunk, value[hit], stat_end[hit])
                    decoded[row[hit][~readable]] = False
            more = stat_end < events.end[row]
            row, place = row[more], stat_end[more]
        return tokens, decoded

    def _values(self, chunk: Chunk, place: Integers, end: Integers) -> tuple[Integers, Flags]:
        """The token of the value at each place, and whether it could be decoded."""
        tag = chunk.data[place]
        number, value_end = chunk.varints(place + 1)
        text, ref = (tag == TAG_STRING) | (tag == TAG_BYTES), tag == TAG_REF
        whole = (tag == TAG_UINT) | (tag == TAG_INT)
        readable = (whole | ref) & (value_end == end) | text & (value_end > 0) & (value_end + number == end)
        tokens = np.where(whole, number, ABSENT)
        text, ref = text & readable, ref & readable
        tokens[ref] = self._refs(number[ref])
        tokens[text] = hashed = _hash(chunk, value_end[text], number[text])
        new, first = np.unique(hashed, return_index=True)
        starts, sizes = value_end[text][first].tolist(), number[text][first].tolist()
        unknown = [i for i, token in enumerate(new.tolist()) if token not in self.texts.known]
        self.texts.add(new[unknown], (bytes(chunk.data[starts[i] : starts[i] + sizes[i]]) for i in unknown))
        return tokens, readable

    def _refs(self, refs: Integers) -> Integers:
        known = np.unique(refs)
        self.texts.add(mix(known, known), (self.texts.refs.get(ref, "").encode() for ref in known.tolist()))
        return mix(refs, refs)

    def _event(self, at: int, end: int) -> tuple[Events, int]:
        """Read the field at a place: its event, no event where it is another field or irrelevant; and its end."""
        tag, body = varint(self.content, at, end)
        field_end = skip(self.content, at, end)
        values = {METADATA: 0, OFFSET: 0, DURATION: 0}
        tokens = np.full(len(self.stats), ABSENT)
        if tag == TAG_EVENT:
            body = varint(self.content, body, end)[1]
            for number, value in fields(self.content, body, field_end):
                if number in values:
                    values[number] = signed(value)
                elif number == STATS and isinstance(value, tuple):
                    self._stat(value, tokens)
        metadata, start, duration = (np.array([value], dtype=np.int64) for value in values.values())
        kept = self._is_relevant(metadata) & (tag == TAG_EVENT)
        return Events(metadata[kept], start[kept], duration[kept], tokens[:, None][:, kept]), field_end

    def _stat(self, span: tuple[int, int], tokens: Integers) -> None:
        stat, token = 0, NONE
        for number, value in fields(self.content, *span):
            if number == METADATA:
                stat = signed(value)
            elif number == STAT_REF:
                token = self._refs(np.array([signed(value)]))
            elif number in STAT_INTEGERS:
                token = np.array([signed(value)])
            elif number in STAT_TEXTS and isinstance(value, tuple):
                text = bytes(self.content[slice(*value)])
                token = _hash(Chunk.cut(text, 0, len(text)), np.zeros(1, np.int64), np.array([len(text)]))
                self.texts.add(token, iter([text]))
            else:
                token = NONE
        tokens[self.stats == stat] = token[0] if len(token) else ABSENT


@dataclass
class _Chunks:
    """A line's chunks one by one; no generator, as that would keep the last chunk in memory."""

    reader: LineReader
    start: int
    end: int
    only_events: bool

    def __iter__(self) -> Iterator[Events]:
        return self

    def __next__(self) -> Events:
        if self.start >= self.end:
            raise StopIteration
        stop = min(self.start + self.reader.chunk_bytes, self.end)
        events, self.start = self.reader.chunk(self.start, stop, self.end, self.only_events)
        return events


def _candidates(chunk: Chunk, end: int) -> _Candidates:
    """Every place of a chunk that looks like a regular event that ends before ``end``; some lie inside other events."""
    start = np.flatnonzero(chunk.data[:end] == TAG_EVENT)
    size, body = chunk.varints(start + 1)
    kept = (chunk.data[body] == TAG_METADATA) & (body > 0) & (body + size <= end)
    start, body, stop = start[kept], body[kept], (body + size)[kept]
    metadata, place = chunk.varints(body + 1)
    kept = (chunk.data[place] == TAG_OFFSET) & (place > 0)
    start, stop, metadata, place = start[kept], stop[kept], metadata[kept], place[kept]
    offset, place = chunk.varints(place + 1)
    timed = (chunk.data[place] == TAG_DURATION) & (place < stop)
    duration, duration_end = chunk.varints(place + 1)
    place = np.where(timed & (place > 0), duration_end, place)
    kept = (place == stop) | (place > 0) & (place < stop) & (chunk.data[place] == TAG_STAT)
    return _Candidates(start, stop, metadata, offset, np.where(timed, duration, 0), place).take(kept)


def _run(candidates: _Candidates, broken: Integers, at: int) -> Integers:
    """The rows of candidates that follow each other from a place on; ``broken`` are rows with a gap after them."""
    row = int(np.searchsorted(candidates.start, at))
    if row == len(candidates.start) or candidates.start[row] != at:
        return NONE
    index = int(np.searchsorted(broken, row))
    last = int(broken[index]) if index < len(broken) else len(candidates.start) - 1
    return np.arange(row, last + 1)


def _hash(chunk: Chunk, place: Integers, size: Integers) -> Integers:
    """A 64-bit hash of the bytes at each place; among 10^6 texts, two collide in 1 of 10^7 dumps."""
    out = mix(size, size).view(np.uint64)
    row = np.flatnonzero(size > 0)
    done = 0
    while len(row):
        left = np.minimum(size[row] - done, 8).astype(np.uint64)
        kept = np.uint64(2**64 - 1) >> (np.uint64(64) - np.uint64(8) * left)
        out[row] = mix(out[row], chunk.words[place[row] + done] & kept).view(np.uint64)
        done += 8
        row = row[size[row] > done]
    return out.view(np.int64)


def mix(state: npt.NDArray[np.generic], word: npt.NDArray[np.generic]) -> Integers:
    """A 64-bit multiplicative hash of two numbers."""
    out = (state.astype(np.uint64) * MIX + word.astype(np.uint64)) * MIX
    return np.asarray(out ^ (out >> FOLD)).view(np.int64)
