"""Times of a Chrome trace's events: numbers as they are written in µs → whole picoseconds."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from decimal import Decimal, InvalidOperation
from operator import attrgetter
from typing import Any, Literal

import numpy as np

from estimator.core.errors import EstimatorError
from estimator.core.types import Integers

UNFINISHED = re.compile(rb',(?="?-[\d.]|,|null)')  # among durations: none, or a negative one
MOST_PS = 2**62
MOST_DIGITS = 18  # always fit into 64 bits
SHOWN = 120  # characters of a faulty time in an error message


def timed_events(batches: Iterable[list[Any]], where: str) -> Iterator[tuple[list[Any], int]]:
    """Yield the X events of each batch that has any, and the first one's whole microsecond [µs], as origin of times.

    Picoseconds since the epoch do not fit into 64 bits.
    """
    origin_us = None
    for batch in batches:
        if timed := [event for event in batch if event.ph == "X"]:
            origin_us = microseconds(timed[0], "ts", where) // 10**6 if origin_us is None else origin_us
            yield timed, origin_us


def picoseconds(events: Sequence[Any], field: Literal["ts", "dur"], where: str, origin_us: int = 0) -> Integers:
    """The times of events, exact to the picosecond [ps]; ``ts`` counts from the origin.

    Raises EstimatorError where a time is no number or out of range, or a duration is negative.
    """
    text = b",".join(map(attrgetter(field), events))
    times = _parse_together(text, origin_us)
    if times is None:
        times = np.array([_exact(event, field, where, origin_us) for event in events], dtype=np.int64)
    if field == "dur" and (times < 0).any():
        event = events[int((times < 0).argmax())]
        fault = f"{where}: dur of '{event.name}' at ts {time_text(event.ts)} is {time_text(event.dur)}"
        raise EstimatorError(f"{fault}; expected a time of at least 0 µs, so export it again")
    return times


def finished(events: list[Any]) -> list[Any]:
    """The events that ended; one that still ran when the trace stopped has no duration, or a negative one."""
    durations = b",".join(map(attrgetter("dur"), events))
    if not UNFINISHED.search(b",%b," % durations):
        return events
    return [event for event in events if not UNFINISHED.search(b",%b," % bytes(event.dur))]


def refuse_overflow(durations: Integers, where: str) -> None:
    """Raises EstimatorError where durations [ps] may add up to more than 64 bits hold."""
    total = float(durations.sum(dtype=np.float64))
    if total > MOST_PS:
        raise EstimatorError(
            f"{where}: its ops last {total / 1e12:.3g} s in all; expected less than {MOST_PS / 1e12:.3g} s, "
            "so export it again"
        )


def _parse_together(text: bytes, origin_us: int) -> Integers | None:
    """Times [ps] of numbers that all have no decimals or all have three; None for any other numbers."""
    letters = np.frombuffer(text + b",", dtype=np.uint8)
    ends, dots = np.flatnonzero(letters == ord(",")), np.flatnonzero(letters == ord("."))
    lengths = np.diff(ends, prepend=-1) - 1
    digits = (letters >= ord("0")) & (letters <= ord("9"))
    if len(dots) not in (0, len(ends)) or digits.sum() != len(letters) - len(ends) - len(dots):
        return None
    if lengths.min() < 1 or lengths.max() > MOST_DIGITS or (len(dots) and (dots + 4 != ends).any()):
        return None
    unit = 10**3 if len(dots) else 10**6  # [ps]
    units = np.fromstring(text.replace(b".", b""), dtype=np.int64, sep=",") - origin_us * (10**6 // unit)
    return units * unit if (np.abs(units) < MOST_PS // unit).all() else None


def _exact(event: Any, field: str, where: str, origin_us: int) -> int:
    time = microseconds(event, field, where) - origin_us * 10**6
    if abs(time) >= MOST_PS:
        raise _no_time(event, field, where)
    return time


def microseconds(event: Any, field: str, where: str) -> int:
    """One time of an event, to the nearest picosecond [ps]."""
    try:
        time = Decimal(time_text(getattr(event, field)))
    except InvalidOperation:
        raise _no_time(event, field, where) from None
    if not time.is_finite() or time.adjusted() > 30:
        raise _no_time(event, field, where)
    return int(time.scaleb(6).to_integral_value())


def _no_time(event: Any, field: str, where: str) -> EstimatorError:
    written = time_text(getattr(event, field))[:SHOWN] or "missing"
    return EstimatorError(f"{where}: {field} of '{event.name}' is {written}; expected a time in µs, so export it again")


def time_text(raw: Any) -> str:
    """A number as it is written, also where that is between quotes."""
    return bytes(raw).decode("utf-8", "replace").strip('"')
