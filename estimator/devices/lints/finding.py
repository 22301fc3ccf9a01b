"""What a lint takes and gives."""

from __future__ import annotations

import re
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
    devices, or of the systems, that bear a name or alias; ``devices`` gives every device that can be read.
    """

    device: Callable[[str], DeviceSpec]
    bearers: Callable[[str], list[str]]
    devices: Callable[[], list[DeviceSpec]]

    def siblings(self, spec: DeviceSpec) -> list[DeviceSpec]:
        """The other devices of an architecture, of which neither is a part of the other ("ampere" is any ampere-…)."""
        return [other for other in self.devices() if _same_family(spec, other) and not _names(spec) & _names(other)]


Findings = Iterator[Finding]
Lint = Callable[[Any, Rest], Findings]  # named after the function; the first line of its docstring is its help


def _same_family(one: DeviceSpec, other: DeviceSpec) -> bool:
    words = [re.findall(r"[a-z0-9]+", (spec.architecture or "").lower()) for spec in (one, other)]
    common = min(map(len, words))
    return common > 0 and words[0][:common] == words[1][:common]


def _names(spec: DeviceSpec) -> set[str]:
    """Every name of a device, and that of the module it is a part of, in lower case."""
    module = (spec.part_of.device,) if spec.part_of else ()
    return {name.lower() for name in (spec.name, *spec.aliases, *module)}


def near(found: float, expected: float, within: float) -> bool:
    """Whether a number is within a share of what is expected."""
    return abs(found / expected - 1) <= within
