"""Protocol buffers' wire format: a checked walk over fields, and a fast decoder of many varints at once.

Format: https://protobuf.dev/programming-guides/encoding. Messages too long for protobuf's own parser (2 GiB), or too
large to become objects, are read here in chunks; the walk reads whatever the fast decoder cannot.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from estimator.core.errors import EstimatorError
from estimator.core.types import Integers
from estimator.profiles.dump import FileBytes

Content = bytes | FileBytes
Words = npt.NDArray[np.uint64]
Span = tuple[int, int]  # where bytes start and end
Value = int | Span  # a varint's number; the place of any other field's bytes

DAMAGED = "the file is cut short, damaged or another, so copy it again"
VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5
FIXED_SIZE = {FIXED64: 8, FIXED32: 4}
LONGEST_VARINT = 10
PADDING = 64  # zeros after a chunk, so that words can be read at its end [B]
STOP = np.uint64(0x8080808080808080)
ONES = np.uint64(0x0101010101010101)


def varint(content: Content, at: int, end: int) -> tuple[int, int]:
    """The unsigned value of the varint at a place, and the place after it. Raises EstimatorError."""
    value = 0
    for shift in range(min(LONGEST_VARINT, end - at)):
        byte = content[at + shift]
        value |= (byte & 0x7F) << 7 * shift
        if byte < 0x80:
            return value & 0xFFFFFFFFFFFFFFFF, at + shift + 1
    raise EstimatorError(f"byte {at}: expected a number, found none; {DAMAGED}")


def fields(content: Content, at: int, end: int) -> Iterator[tuple[int, Value]]:
    """Yield number and value of every field of the message between two places. Raises EstimatorError."""
    while at < end:
        number, value, at = field(content, at, end)
        yield number, value


def skip(content: Content, at: int, end: int) -> int:
    """The place after the field at a place. Raises EstimatorError."""
    return field(content, at, end)[2]


def field(content: Content, at: int, end: int) -> tuple[int, Value, int]:
    """Number and value of the field at a place, and the place after it."""
    tag, value_start = varint(content, at, end)
    number, wire_type = tag >> 3, tag & 7
    if wire_type == VARINT:
        return number, *varint(content, value_start, end)
    if wire_type == BYTES:
        size, value_start = varint(content, value_start, end)
    elif wire_type in FIXED_SIZE:
        size = FIXED_SIZE[wire_type]
    else:
        raise EstimatorError(f"byte {at}: found no field of a known kind; {DAMAGED}")
    if not number or value_start + size > end:
        raise EstimatorError(f"byte {at}: a field ends beyond its message; {DAMAGED}")
    return number, (value_start, value_start + size), value_start + size


def signed(value: Value) -> int:
    """A varint as an int64. Raises EstimatorError where the field is no number."""
    if not isinstance(value, int):
        raise EstimatorError(f"byte {value[0]}: found a message, expected a number; {DAMAGED}")
    return value - (1 << 64) if value >> 63 else value


def span(value: Value) -> Span:
    """The place of a message's or text's bytes. Raises EstimatorError where the field is a number."""
    if isinstance(value, int):
        raise EstimatorError(f"found the number {value}, expected a message; {DAMAGED}")
    return value


def text(content: Content, value: Value) -> str:
    """A bytes field as text."""
    return bytes(content[slice(*span(value))]).decode("utf-8", "replace")


@dataclass(frozen=True)
class Chunk:
    """Bytes of a dump, padded so that eight may be read at any place."""

    data: npt.NDArray[np.uint8]
    words: Words  # the eight bytes that start at each place

    @classmethod
    def cut(cls, content: Content, start: int, end: int) -> Chunk:
        """The bytes between two places of the content, padded."""
        data = bytes(content[start:end]) + bytes(PADDING)
        words = np.ndarray((len(data) - 7,), dtype="<u8", buffer=data, strides=(1,))
        return cls(np.frombuffer(data, dtype=np.uint8), words)

    def varints(self, at: Integers) -> tuple[Integers, Integers]:
        """The value of the varint at each place, and the place after it; 0 where it is longer than eight bytes."""
        word = self.words[at]
        stop = ~word & STOP
        kept = stop ^ (stop - np.uint64(1))  # all bits up to the stop bit of the last byte
        size = ((kept & ONES) * ONES) >> np.uint64(56)
        value = word & kept & ~STOP
        for mask, shift in ((0x007F007F007F007F, 1), (0x00003FFF00003FFF, 2), (0x000000000FFFFFFF, 4)):
            low = np.uint64(mask)
            value = (value & low) | ((value & ~low) >> np.uint64(shift))
        next_place = np.where(stop == 0, 0, at + size.astype(np.int64))
        return value.astype(np.int64), next_place
