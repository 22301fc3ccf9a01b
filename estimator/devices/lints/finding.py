"""Types of a lint: its finding, and the catalogue that it may ask."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from estimator.core.types import DeviceSpec


@dataclass(frozen=True)
class Finding:
    """A sentence on a fault, and the dotted names of its fields; the first gives the line."""

    sentence: str
    fields: tuple[str, ...]


@dataclass(frozen=True)
class Catalogue:
    """What a lint may ask of the catalogue.

    ``device`` returns the device of a name or raises EstimatorError with near names; ``files_named`` returns the
    names of the files with a name or alias; ``devices`` returns every readable device.
    """

    device: Callable[[str], DeviceSpec]
    files_named: Callable[[str], list[str]]
    devices: Callable[[], list[DeviceSpec]]

    def siblings(self, spec: DeviceSpec) -> list[DeviceSpec]:
        """Other devices of the architecture that share no module with this one ("ampere" is any ampere-…)."""
        return [
            other for other in self.devices() if _same_family(spec, other) and not _all_names(spec) & _all_names(other)
        ]


Findings = Iterator[Finding]
Lint = Callable[[Any, Catalogue], Findings]  # named after the function; the first line of its docstring is its help


def _same_family(one: DeviceSpec, other: DeviceSpec) -> bool:
    words = [re.findall(r"[a-z0-9]+", (spec.architecture or "").lower()) for spec in (one, other)]
    common = min(map(len, words))
    return common > 0 and words[0][:common] == words[1][:common]


def _all_names(spec: DeviceSpec) -> set[str]:
    """All names of a device and the name of its module, in lower case."""
    module = (spec.part_of.device,) if spec.part_of else ()
    return {name.lower() for name in (spec.name, *spec.aliases, *module)}


def near(value: float, expected: float, tolerance: float) -> bool:
    """Whether a value is within a relative tolerance of the expected one."""
    return abs(value / expected - 1) <= tolerance
