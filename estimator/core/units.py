"""Quantities: text with a unit in files and output ("900 GB/s"), plain SI numbers in the program.

SI here means s, B, FLOP, Hz, W, J and their quotients. USD has no prefix. GB is 1e9 bytes, GiB is 2^30.
"""

from __future__ import annotations

import math
import re
from decimal import Decimal, DecimalException
from functools import cache
from importlib.resources import files
from typing import Any

QUANTITY = re.compile(r"^\s*([-+]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?)\s*(.*?)\s*$")
THOUSANDS = re.compile(r"^\s*[-+]?\d{1,3}(,\d{3})+(?![\d,])")  # a number with commas between its thousands
MOST_DECIMALS = 12  # of a number without an exponent
COMMA = re.compile(r"^\s*[-+]?\d*,\d")

UNIT = re.compile(r"^[A-Za-zµμ]+(/[A-Za-zµμ]+)?$")

# Gb/s is mostly a slip for GB/s where bytes are usual, and right for links, so that people must say it in full
BITS = re.compile(r"((?:[kKMGTPE]i?)?)b(/s|ps)?")

# SI unit → name of its quantity, and an example
KINDS = {
    "s": ("a time", "60 h"),
    "B": ("a size", "16 GiB"),
    "B/s": ("a rate", "900 GB/s"),
    "FLOP": ("an amount of arithmetic", "12 GFLOP"),
    "FLOP/s": ("a rate of arithmetic", "60 TFLOP/s"),
    "Hz": ("a frequency", "1.4 GHz"),
    "W": ("a power", "300 W"),
    "J": ("an energy", "3.6 MJ"),
    "USD": ("an amount of money", "3 USD"),
    "1": ("a plain number", "18688' or '3 %"),
}
UNSCALED = ("1", "USD")
DECIMAL = {"": 1.0, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15, "E": 1e18}
BINARY = {"": 1.0, "Ki": 2.0**10, "Mi": 2.0**20, "Gi": 2.0**30, "Ti": 2.0**40, "Pi": 2.0**50}
TIMES = {"ps": 1e-12, "ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0, "min": 60.0, "h": 3600.0}


class UnitError(ValueError):
    """A quantity whose unit is missing, unknown, or of another kind."""


def parse(text: object, unit: str) -> float:
    """The SI value of ``text`` (``"900 GB/s"``), whose unit must have the dimension of ``unit`` (``"B/s"``).

    Only the unit ``"1"`` accepts a bare number.
    Raises ValueError with the tail of a sentence: found, expected, do; UnitError where the unit is wrong.
    """
    kind, example = KINDS[unit]
    if isinstance(text, (int, float)) and not isinstance(text, bool):
        text = repr(text)
    number, unit_text = _number_and_unit(text, f"write {kind} such as '{example}'")
    if bits := BITS.fullmatch(unit_text):
        prefix, rate = bits[1], "/s" if bits[2] else ""
        choice = f"'{number} {prefix}B{rate}' for bytes or '{number} {prefix}bit{rate}' for bits"
        raise UnitError(f"is {text!r}, whose b would be a bit; write {choice}")
    si_unit, factor = _unit(unit_text)
    if si_unit != unit:
        other = KINDS[si_unit][0] if si_unit in KINDS else "no unit known here" if si_unit == "?" else f"in {si_unit}"
        raise UnitError(f"is {text!r}, which is {other}; write {kind} such as '{example}'")
    try:
        value = float(Decimal(number) * factor)
    except DecimalException:
        value = math.inf
    if not math.isfinite(value):
        raise ValueError(f"is {text!r}, which is beyond any number; write {kind} such as '{example}'")
    return value


def _number_and_unit(text: object, instead: str) -> tuple[str, str]:
    """The two parts of a quantity. Raises ValueError, which says what to write ``instead``."""
    if isinstance(text, str) and COMMA.match(text):
        plain = without_thousands(text)
        raise ValueError(f"is {text!r}; a number has no commas, {f'so write {plain}' if plain != text else instead}")
    match = QUANTITY.match(text) if isinstance(text, str) else None
    if not match:
        raise ValueError(f"is {text!r}, which is not a quantity; {instead}")
    return match[1], match[2]


def without_thousands(text: str) -> str:
    """A text without the commas between the thousands of its number, which printed numbers have."""
    return THOUSANDS.sub(lambda match: match[0].replace(",", ""), text)


def show(value: float, unit: str, digits: int | None = None, *, binary: bool = False) -> str:
    """``value`` as text that :func:`parse` reads back; for people to ``digits`` significant digits, ``1,234 GB``."""
    scales = TIMES if unit == "s" else {f"{p}{unit}": s for p, s in (BINARY if binary else DECIMAL).items()}
    if unit in UNSCALED or value == 0:
        scales = {unit: 1.0}
    fitting = [name for name, scale in scales.items() if abs(value) >= scale] or [next(iter(scales))]
    if digits is not None:
        return f"{significant(value / scales[fitting[-1]], digits)} {fitting[-1]}".removesuffix(" 1")
    for name in (fitting[-1], unit):
        shown = f"{_exact(value, scales.get(name, 1.0))} {name}".removesuffix(" 1")
        if parse(shown, unit) == value:
            return shown
    raise ValueError(f"{value!r} {unit} cannot be shown exactly")


def show_interval(low: float | None, mid: float, high: float | None, unit: str) -> str:
    """``mid (low – high)`` in the unit of the mid; without ends, or where they read as the mid, the mid alone."""
    if low is None or high is None:
        return show(mid, unit, 4) if unit != "1" else _trimmed(significant(mid, 6))
    number, _, name = show(float(f"{mid:.4g}"), unit, 4).partition(" ")
    scale = parse(f"1 {name}".strip(), unit)
    ends = [significant(float(f"{end / scale:.4g}"), 4) for end in (low, high)]
    if set(ends) == {number}:
        return f"{number} {name}" if name else _trimmed(number)
    return f"{number} ({' – '.join(ends)}) {name}".strip()


def write(value: float, unit: str, digits: int, *, binary: bool = False) -> str:
    """``value`` as files hold it: as :func:`show`, without commas between thousands."""
    return without_thousands(show(value, unit, digits, binary=binary))


def _trimmed(number: str) -> str:
    return number.rstrip("0").rstrip(".") if "." in number else number


def percent(share: float, digits: int = 2) -> str:
    """A share as text: ``percent(0.9996)`` is ``"100 %"``."""
    return f"{float(f'{100 * share:.{digits}g}'):g} %"


def and_more(count: int) -> str:
    """The words after the first of several rows."""
    return f" and {count - 1} more" if count > 1 else ""


def plural(noun: str, count: float) -> str:
    """The noun as it stands behind a count: ``1 node``, ``2 nodes``."""
    return noun if count == 1 else f"{noun}s"


def significant(value: float, digits: int) -> str:
    """Significant digits, with an exponent only where many zeros would precede: ``564,000``, ``82.60``, ``0.00123``."""
    if value == 0 or not math.isfinite(value):
        return f"{value:g}"
    decimals = max(0, digits - 1 - math.floor(math.log10(abs(value))))
    return f"{value:,.{decimals}f}" if decimals <= MOST_DECIMALS else f"{value:.{digits - 1}e}"


def _exact(value: float, scale: float) -> str:
    return format((Decimal(repr(float(value))) / Decimal(repr(scale))).normalize(), "f")


def _unit(text: str) -> tuple[str, Decimal]:
    """SI unit and factor of a unit's text; ``("?", 1)`` for an unknown unit."""
    return usual_units().get(text) or any_unit(text)


@cache
def any_unit(text: str) -> tuple[str, Decimal]:
    """SI unit and factor by the unit library, for all units in ``units.txt`` and their combinations."""
    if text in ("", "%"):
        return "1", Decimal("0.01") if text else Decimal(1)
    if not UNIT.match(text):
        return "?", Decimal(1)
    import pint

    try:
        quantity = (1 * _registry().parse_units(text)).to_base_units()
    except pint.UndefinedUnitError:
        return "?", Decimal(1)
    return f"{quantity.units:~C}" or "1", Decimal(repr(float(quantity.magnitude)))


@cache
def usual_units() -> dict[str, tuple[str, Decimal]]:
    """SI unit and factor of the units in device files, which therefore need no unit library; it loads slowly."""
    base = {**{unit: unit for unit in ("B", "B/s", "FLOP", "FLOP/s", "Hz", "W", "J")}, "OP/s": "FLOP/s"}
    scaled = {f"{p}{name}": (unit, Decimal(s)) for name, unit in base.items() for p, s in DECIMAL.items()}
    binary = {f"{p}{unit}": (unit, Decimal(s)) for unit in ("B", "B/s") for p, s in BINARY.items()}
    return scaled | binary | {"USD": ("USD", Decimal(1))} | {name: ("s", Decimal(repr(s))) for name, s in TIMES.items()}


@cache
def _registry() -> Any:
    import pint

    return pint.UnitRegistry(str(files("estimator.core") / "units.txt"), cache_folder=None)


def in_operations(text: str, precision: str) -> str:
    """A unit or quantity with OP instead of FLOP where the precision is an integer format."""
    return text.replace("FLOP", "OP") if precision.startswith("int") else text
