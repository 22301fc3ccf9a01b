"""What a lint takes and gives."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from estimator.core.types import DeviceSpec


@dataclass(frozen=True)
class Finding:
    """One sentence on what is wrong, and the dotted names of the fields concerned: the first one gives the line."""

    sentence: str
    fields: tuple[str, ...]


@dataclass(frozen=True)
class Rest:
    """What a lint may ask of the rest of the catalogue.

    ``device`` gives the device of a name or raises EstimatorError with near names; ``bearers`` gives the names of the
    devices, or of the systems, that bear a name or alias.
    """

    device: Callable[[str], DeviceSpec]
    bearers: Callable[[str], list[str]]


Findings = Iterator[Finding]
Lint = Callable[[Any, Rest], Findings]  # named after the function; the first line of its docstring is its help


def near(found: float, expected: float, within: float) -> bool:
    """Whether a number is within a share of what is expected."""
    return abs(found / expected - 1) <= within
