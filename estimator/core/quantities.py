"""Numbers as files write them: text with a unit, a mapping with details, and the short forms of a device's peaks.

Each function is a pydantic validator: it takes the value in the file and returns the SI value for ``core/types.py``, or
raises ValueError with the tail of a sentence.
"""

from __future__ import annotations

from typing import Any

from pydantic import BeforeValidator

from estimator.core import units
from estimator.core.number_formats import read_format

LARGEST_PUE = 5.0  # old machine rooms have 2 to 3
LONGEST_S = 1e12  # some 30,000 years
SHORTEST_S = 1e-12  # far below one cycle of any clock
LEAST_SHARE = 1e-9
LARGEST_AMOUNT = 1e30  # of whatever a rate counts
OF_MACHINES = ("B", "B/s", "FLOP", "FLOP/s", "Hz", "W", "J")  # times and prices have ends of their own
MOST_SPREAD = 0.5  # beyond it a mean is no usual value any more


def sourced(unit: str) -> BeforeValidator:
    """Accept ``"900 GB/s"`` or ``{value: "900 GB/s", uncertainty: 3 %, source: …}``."""

    def read(written: object) -> dict[str, Any]:
        fields = dict(written) if isinstance(written, dict) else {"value": written}
        if "value" not in fields:
            raise ValueError(f"has no 'value'; write value: {units.KINDS[unit][1]}")
        for internal in fields.keys() & {"unit", "relative_uncertainty"}:
            raise ValueError(f"has the key '{internal}'; write the unit into 'value', and 'uncertainty: 3 %'")
        out: dict[str, Any] = {"value": _positive(fields.pop("value"), unit), "unit": unit}
        if "uncertainty" in fields:
            out["relative_uncertainty"] = _uncertainty(fields.pop("uncertainty"))
        if "clock" in fields:
            out["clock"] = _clock(fields.pop("clock"))
        return {**fields, **out}

    return BeforeValidator(read)


def _clock(written: object) -> float:
    try:
        return _positive(written, "Hz")
    except ValueError as error:  # it does not say that this is the clock; its type names the lint
        raise type(error)(f"has the clock {written!r}; write a frequency above zero such as '1.8 GHz'") from None


def _uncertainty(written: object) -> float:
    refusal = f"has the uncertainty {written!r}; write a share above zero such as '3 %'"
    try:
        value = _positive(written, "1")
    except ValueError as error:
        raise type(error)(refusal) from None
    if value > 10 or (value > 1 and "%" not in str(written)):
        raise ValueError(refusal)
    return value


def _positive(text: object, unit: str) -> float:
    value = units.parse(text, unit)
    if value <= 0:
        raise ValueError(f"is {text!r}, which is not above zero; write {units.KINDS[unit][0]} above zero")
    if unit in OF_MACHINES and not 1 / LARGEST_AMOUNT <= value <= LARGEST_AMOUNT:
        kind, example = units.KINDS[unit]
        raise ValueError(f"is {text!r}, which no machine has; write {kind} such as '{example}'")
    return value


def no_flag(written: object) -> object:
    """Refuse true and false of YAML, which would count as 1 and 0."""
    if isinstance(written, bool):
        raise ValueError(f"is {written}, as YAML reads yes and no; write a whole number")
    return written


def seconds(written: object) -> float:
    """Accept a time above zero, such as ``"60 h"``, as seconds."""
    value = _positive(written, "s")
    if value > LONGEST_S:
        raise ValueError(f"is {written!r}, which is longer than anything runs; write at most {LONGEST_S:g} s")
    if value < SHORTEST_S:
        raise ValueError(f"is {written!r}, which is shorter than anything runs; write at least {SHORTEST_S:g} s")
    return value


def dollars(written: object) -> float:
    """Accept an amount of money above zero, such as ``"3 USD"``."""
    value, least = _positive(written, "USD"), 1 / LARGEST_AMOUNT
    if not least <= value <= LARGEST_AMOUNT:
        raise ValueError(f"is {written!r}, which is no price; write from {least:g} to {LARGEST_AMOUNT:g} USD")
    return value


def pue(written: object) -> float:
    """Accept a power usage effectiveness: what a facility draws over what its computers draw, at least 1."""
    value = _positive(written, "1")
    if value < 1:
        raise ValueError(f"is {written!r}, but a facility draws what its computers draw and more; write 1 or above")
    if value > LARGEST_PUE:
        raise ValueError(f"is {written!r}, but no facility draws that many times its computers' power; write it anew")
    return value


def share(written: object) -> float:
    """Accept a share above 0 and at most 1, such as ``0.95`` or ``"95 %"``."""
    return _within(written, LEAST_SHARE, 1.0, "a share above 0 and at most 1, such as '95 %'")


def spread(written: object) -> float:
    """Accept a share from 0 to a half, such as ``0.05`` or ``"5 %"``."""
    return _within(written, 0.0, MOST_SPREAD, f"a share from 0 to {100 * MOST_SPREAD:g} %, such as '5 %'")


def amount(written: object) -> float:
    """Accept a plain number above zero; any such amount over any such rate is a number too."""
    expected = f"a number above zero, from {1 / LARGEST_AMOUNT:g} to {LARGEST_AMOUNT:g}"
    return _within(written, 1 / LARGEST_AMOUNT, LARGEST_AMOUNT, expected)


def _within(written: object, least: float, most: float, expected: str) -> float:
    """A plain number from the least to the most; ``expected``: these in words."""
    refusal = f"is {written!r}; write {expected}"
    try:
        value = units.parse(written, "1")
    except ValueError as error:
        raise type(error)(refusal) from None
    if not least <= value <= most:
        raise ValueError(refusal)
    return value


def read_peaks(written: object) -> dict[str, Any]:
    """Turn the short forms of ``peak`` into one :class:`Peak` per precision; fp64 and fp32 default to vector."""
    if not isinstance(written, dict):
        raise ValueError(f"is {written!r}; write one line per precision, such as 'fp32: 60 TFLOP/s'")
    peaks, names = dict[str, Any](), dict[str, str]()
    for name, value in written.items():
        precision = read_format(str(name))
        if precision in names:
            raise ValueError(f"gives {names[precision]} and {name}, which are one format; keep one")
        names[precision], peaks[precision] = str(name), _read_peak(precision, value)
    return peaks


def _read_peak(precision: str, written: object) -> dict[str, Any]:
    if written == "unsupported":
        return {"supported": False}
    if isinstance(written, dict) and written.keys() & {"vector", "tensor"}:
        return written
    path = "vector" if precision in ("fp64", "fp32") else "tensor"
    if isinstance(written, dict):
        written = dict(written)
        path = written.pop("path", path)
        if path not in ("vector", "tensor"):
            raise ValueError(f"has the path {path!r} for {precision}; write vector or tensor")
    return {path: written}
