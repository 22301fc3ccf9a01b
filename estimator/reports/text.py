"""Times, intervals and names as tables for people write them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, TypeGuard

from estimator.core import units

LONGEST_NAME = 44  # of an op in a table


def is_known(number: float | None) -> TypeGuard[float]:
    """Whether a number of a document is neither null nor NaN, which JSON writes as null."""
    return number is not None and not math.isnan(number)


def format_time(seconds: float | None) -> str:
    """A time to four digits, or a dash."""
    return "–" if seconds is None else units.show(seconds, "s", 4)


def format_interval(interval: Mapping[str, Any], unit: str = "s") -> str:
    """``mid (low – high)``, the bracket only where something was uncertain."""
    return units.show_interval(interval["low"], interval["mid"], interval["high"], unit)


def split_interval(shown: str) -> tuple[str, str]:
    """``mid (low – high) unit`` as ``mid unit`` and ``low – high``, which is empty where nothing was uncertain."""
    mid, _, rest = shown.partition(" (")
    ends, _, name = rest.partition(")")
    return mid + name, ends


def format_evidence(evidence: Mapping[str, float]) -> str:
    """``measured 80 %, roofline 20 %``."""
    return ", ".join(f"{method} {100 * share:.0f} %" for method, share in evidence.items())


def shorten(name: str) -> str:
    """A name that leaves room for the other columns; its end is kept, as that tells ops apart."""
    return name if len(name) <= LONGEST_NAME else f"…{name[1 - LONGEST_NAME :]}"
