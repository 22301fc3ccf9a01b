"""Events of one line, read in chunks from the wire format: those written are those read, in whatever form."""

import random
from typing import Any

import numpy as np
import pytest

from estimator.core.errors import EstimatorError
from estimator.profiles.xplane.lines import ABSENT, Events, LineReader, OutOfOrderError, Texts, join, mix
from tests.profiles.xplane.plain_reader import field

SHAPE, BYTES = 2, 5  # wanted stats
LONG = "(float[100,50];" * 9 + "float[1])"  # of more bytes than a word
Written = tuple[int, int, int, str, str]  # metadata, start, duration, and the text of each stat


def stat(number: int, value: bytes) -> bytes:
    return field(4, field(1, number) + value)


def parts_of(event: Written) -> list[bytes]:
    """The fields of an event; a shape that begins with @ is written as a reference to it."""
    metadata, start, duration, shape, count = event
    text = field(7, 40) if shape.startswith("@") else field(5, shape)
    stats = (
        [stat(SHAPE, text)] * bool(shape)
        + [stat(9, field(4, -3))]
        + [stat(BYTES, field(4, int(count or 0)))] * bool(count)
    )
    return [field(1, metadata), field(2, start), field(3, duration), *stats]


def read(content: bytes, chunk: int = 1 << 20, only_events: bool = True) -> list[Written]:
    """The events of metadata 3 and 300, in the order of time, with texts in place of tokens."""
    texts = Texts({40: "@referred"})
    reader = LineReader(content, np.array([3, 300]), np.array([SHAPE, BYTES]), texts, chunk)
    events = join([reader.no_events(), *reader.read(0, len(content), only_events)])
    shapes, counts = ([texts.look_up(token) for token in row] for row in events.tokens.tolist())
    columns = (events.metadata.tolist(), events.start.tolist(), events.duration.tolist(), shapes, counts)
    return sorted(zip(*columns, strict=True), key=lambda event: event[1])


def some_events(rng: random.Random, count: int) -> list[Written]:
    shapes, counts = ("", "a", "@referred", LONG, LONG + "x", "12345678"), ("", "7", str(2**40))
    durations = (0, 1, 10**12)
    return [
        (rng.choice((3, 300)), 9 * i, rng.choice(durations), rng.choice(shapes), rng.choice(counts))
        for i in range(count)
    ]


@pytest.mark.parametrize("chunk", [1, 50, 777, 1 << 20])
@pytest.mark.parametrize("shuffled", [0.0, 0.3])
def test_events_are_read_as_written_in_chunks_of_any_size(chunk: int, shuffled: float) -> None:
    """Regular ones are decoded together; one whose fields stand in another order is read by itself."""
    rng = random.Random(5)
    written, content = some_events(rng, 60), b""
    for event in written:
        parts = parts_of(event)
        if rng.random() < shuffled:
            rng.shuffle(parts)
        content += field(4, b"".join(parts))
    assert read(content, chunk) == written


def test_equal_texts_are_one_text_wherever_they_stand() -> None:
    """What follows a text, here a number of one byte or of six, is no part of it."""
    written = [
        (3, 9 * i, 1, text, count) for i, (text, count) in enumerate((t, c) for t in (LONG, "abc") for c in "7x")
    ]
    texts = Texts({})
    content = b"".join(
        field(4, b"".join(parts_of((*event[:4], event[4].replace("x", str(2**40)))))) for event in written
    )
    reader = LineReader(content, np.array([3]), np.array([SHAPE]), texts)
    (events,) = reader.read(0, len(content), only_events=True)
    (tokens,) = events.tokens.tolist()
    assert tokens[0] == tokens[1] != tokens[2] == tokens[3]
    assert sorted(texts.known.values()) == [LONG, "abc"]


def test_events_of_other_metadata_are_left_out() -> None:
    events = [(metadata, 10 * metadata, 1, "", "") for metadata in (1, 3, 4, 299, 300, 2**40)]
    assert [event[0] for event in read(b"".join(field(4, b"".join(parts_of(event))) for event in events))] == [3, 300]


def test_an_event_without_a_duration_takes_no_time() -> None:
    assert read(field(4, field(1, 3) + field(2, 8))) == [(3, 8, 0, "", "")]


@pytest.mark.parametrize("header", [field(2, "a thread"), field(3, 10**18)])
def test_a_name_or_start_behind_the_events_is_out_of_order(header: bytes) -> None:
    content = field(4, field(1, 3) + field(2, 8)) + header
    with pytest.raises(OutOfOrderError):
        read(content)
    assert len(read(content, only_events=False)) == 1


def test_a_cut_event_is_refused() -> None:
    with pytest.raises(EstimatorError, match="cut short"):
        read(field(4, b"".join(parts_of((3, 0, 1, LONG, "7"))))[:-4])


def test_a_token_without_a_text_is_a_number_or_nothing() -> None:
    texts = Texts({})
    texts.add(np.array([5, 6]), iter([b"five", b"\xff"]))
    assert [texts.look_up(token) for token in (5, 6, 7, ABSENT)] == ["five", "\ufffd", "7", ""]


def test_events_are_taken_and_joined_with_their_tokens() -> None:
    def events(*starts: int) -> Events:
        column: Any = np.array(starts)
        return Events(column, column, column, np.array([starts, [-start for start in starts]]))

    both = join([events(1, 2), events(3)])
    assert both.tokens.tolist() == [[1, 2, 3], [-1, -2, -3]]
    assert both.take(np.array([True, False, True])).tokens.tolist() == [[1, 3], [-1, -3]]
    assert len(both) == 3


def test_hashes_of_neighbouring_numbers_and_of_swapped_ones_differ() -> None:
    numbers = np.arange(1000)
    hashes = [*mix(numbers, numbers[::-1].copy()), *mix(numbers, numbers), *mix(numbers + 2, numbers)]
    assert len(set(map(int, hashes))) == len(hashes)
