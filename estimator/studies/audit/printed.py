"""Printed numbers: text, value and last digit."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Annotated

from pydantic import BeforeValidator

from estimator.core import units

PATTERN = re.compile(r"[~(\[]*(?P<number>[\d,]*\.?\d+) ?(?P<unit>[a-zµ]*)[)\]]*\*?")


@dataclass(frozen=True)
class Printed:
    """A number as printed: text, value and size of its last digit [SI]; [brackets] mark estimates of its source."""

    text: str
    value: float
    digit: float = 0.0
    estimated: bool = False


def read_printed(text: object, unit: str) -> Printed:
    """``"[4.8x]"``, ``"1,210 s"``, ``"~200x"`` → Printed. Raises ValueError with the end of a sentence."""
    if isinstance(text, float):
        raise ValueError(f"is {text!r} without quotes, which loses zeros at its end; write it as a text, in quotes")
    match = PATTERN.fullmatch(str(text))
    if not match:
        raise ValueError(f"is {text!r}, which is no printed number; write it as it stands, such as '[4.8x]' or '8 s'")
    number, scale = units.without_thousands(match["number"]), match["unit"].removesuffix("x")
    _, _, decimals = number.partition(".")
    value, digit = (units.parse(f"{digits} {scale}".strip(), unit) for digits in (number, f"1e-{len(decimals)}"))
    if not value > 0:
        raise ValueError(f"is {text!r}, which is not above zero")
    return Printed(str(text), value, digit, "[" in str(text))


PrintedTime = Annotated[Printed, BeforeValidator(lambda text: read_printed(text, "s"))]
PrintedNumber = Annotated[Printed, BeforeValidator(lambda text: read_printed(text, "1"))]
