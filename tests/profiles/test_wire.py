"""Protocol buffers' wire format, against numbers encoded by hand."""

import struct

import numpy as np
import pytest

from estimator.core.errors import EstimatorError
from estimator.profiles import wire
from estimator.profiles.wire import Chunk


def encoded(value: int) -> bytes:
    """A varint, seven bits a byte, the lowest first."""
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


def tag(number: int, wire_type: int) -> bytes:
    return encoded(number << 3 | wire_type)


VALUES = (0, 1, 127, 128, 300, 16383, 16384, 2**28 - 1, 2**28, 2**35, 2**49 + 5, 2**56 - 1)


@pytest.mark.parametrize("value", [*VALUES, 2**56, 2**63, 2**64 - 1])
def test_a_number_is_read_with_the_place_behind_it(value: int) -> None:
    content = b"\xff" + encoded(value) + b"\x07"
    assert wire.varint(content, 1, len(content)) == (value, len(content) - 1)


def test_a_number_ends_within_its_message() -> None:
    with pytest.raises(EstimatorError, match="byte 0: expected a number, found none"):
        wire.varint(b"\x80\x80\x01", 0, 2)
    with pytest.raises(EstimatorError, match="byte 0"):
        wire.varint(b"\x80" * 11 + b"\x01", 0, 12)


def test_every_kind_of_field_is_walked_over() -> None:
    content = (
        tag(1, 0) + encoded(300) + tag(2, 1) + struct.pack("<d", 1.0) + tag(16, 2) + encoded(3) + b"abc"
        + tag(4, 5) + struct.pack("<f", 1.0)
    )  # fmt: skip
    actual = list(wire.fields(content, 0, len(content)))
    assert [number for number, _ in actual] == [1, 2, 16, 4]
    assert actual[0][1] == 300
    places = [wire.span(value) for _, value in actual[1:]]
    assert [end - start for start, end in places] == [8, 3, 4]
    assert wire.text(content, actual[2][1]) == "abc"
    assert wire.skip(content, 0, len(content)) == 3


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (tag(1, 3), "no field of a known kind"),
        (tag(0, 0) + b"\x01", None),
        (tag(0, 2) + b"\x01a", "ends beyond its message"),
        (tag(1, 2) + b"\x05abc", "ends beyond its message"),
        (tag(1, 1) + b"1234567", "ends beyond its message"),
    ],
)
def test_damage_is_named(content: bytes, words: str | None) -> None:
    if words is None:
        assert wire.field(content, 0, len(content))[1] == 1, "a number has no length to check"
        return
    with pytest.raises(EstimatorError, match=words):
        list(wire.fields(content, 0, len(content)))


def test_a_field_may_end_where_its_message_does() -> None:
    assert list(wire.fields(tag(1, 2) + b"\x00", 0, 2)) == [(1, (2, 2))]


@pytest.mark.parametrize(("value", "number"), [(5, 5), (2**63 - 1, 2**63 - 1), (2**63, -(2**63)), (2**64 - 1, -1)])
def test_a_number_may_be_negative(value: int, number: int) -> None:
    assert wire.signed(value) == number


def test_a_message_is_no_number_and_a_number_no_message() -> None:
    with pytest.raises(EstimatorError, match="byte 3: found a message, expected a number"):
        wire.signed((3, 4))
    with pytest.raises(EstimatorError, match="found the number 3, expected a message"):
        wire.span(3)


def test_text_that_is_none_is_still_read() -> None:
    assert wire.text(b"a\xffb", (0, 3)) == "a\N{REPLACEMENT CHARACTER}b"


def test_many_numbers_are_read_at_once() -> None:
    content, places = b"\x00\x00", []
    for value in VALUES:
        places.append(len(content) - 2)
        content += encoded(value)
    actual, behind = Chunk.cut(content, 2, len(content)).varints(np.array(places))
    assert actual.tolist() == list(VALUES)
    assert behind.tolist() == [*places[1:], len(content) - 2]


def test_a_number_of_nine_bytes_is_left_to_the_walk() -> None:
    content = encoded(2**56) + encoded(7)
    assert Chunk.cut(content, 0, len(content)).varints(np.array([0, 9]))[1].tolist() == [0, 10]
