"""The lints of the catalogue by name, and the waivers that silence them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

from estimator.core.errors import suggestion
from estimator.core.types import DeviceSpec, Sourced, SystemSpec
from estimator.devices.lints import memory, names, peaks, plausible, siblings, systems
from estimator.devices.lints.finding import Finding, Lint, Rest
from estimator.devices.specs.values import sourced_values

__all__ = ["Finding", "Rest", "findings", "helps"]

BOTH: tuple[Lint, ...] = (names.missing_source, names.duplicate_alias, names.unknown_device, plausible.plausible)
OF_DEVICES: tuple[Lint, ...] = (
    peaks.peak_arithmetic, peaks.sparse_or_dense, peaks.tensor_below_vector, peaks.clock_order, memory.memory_type,
    names.link_directions, names.part_of_module, siblings.sibling,
)  # fmt: skip
OF_SYSTEMS: tuple[Lint, ...] = (systems.rpeak,)
STALE = "stale-waiver"
STALE_HELP = "Every waiver silences something, and names lints that there are."
WAIVER = re.compile(r"^\s*([a-z]+(?:-[a-z]+)*(?:\s*,\s*[a-z]+(?:-[a-z]+)*)*)\s*:")


def name_of(lint: Lint) -> str:
    """The name that waivers and faults call a lint by."""
    return lint.__name__.replace("_", "-")


def helps() -> dict[str, str]:
    """One line on each lint by its name."""
    lines = {name_of(lint): (lint.__doc__ or "").splitlines()[0] for lint in (*BOTH, *OF_DEVICES, *OF_SYSTEMS)}
    return lines | {STALE: STALE_HELP}


def findings(spec: DeviceSpec | SystemSpec, rest: Rest) -> Iterator[tuple[str, Finding]]:
    """What the lints find in a device or system and no waiver silences, each with the lint's name."""
    lints = (*BOTH, *(OF_DEVICES if isinstance(spec, DeviceSpec) else OF_SYSTEMS))
    found = ((name_of(lint), finding) for lint in lints for finding in lint(spec, rest))
    waived = {field: value for field, value in sourced_values(spec) if value.waiver}
    return _unwaived(found, waived)


def _unwaived(found: Iterable[tuple[str, Finding]], waived: Mapping[str, Sourced]) -> Iterator[tuple[str, Finding]]:
    used: set[str] = set()
    for lint, finding in found:
        silencing = {
            field for field in finding.fields if field in waived and _silences(waived[field], lint, field in used)
        }
        used |= silencing
        if not silencing:
            yield lint, finding
    for field, value in waived.items():
        unknown = [name for name in named_lints(value.waiver or "") if name not in helps()]
        if unknown or field not in used:
            yield STALE, Finding(_stale(field, unknown), (field,))


def named_lints(waiver: str) -> list[str]:
    """The lints before the colon of ``"peak-arithmetic, plausible: reason"``; none where a waiver is a reason alone."""
    match = WAIVER.match(waiver)
    return re.split(r"\s*,\s*", match.group(1)) if match else []


def _silences(value: Sourced, lint: str, used: bool) -> bool:
    """A waiver silences the lints that it names, or without any name the first fault of its value."""
    lints = named_lints(value.waiver or "")
    return lint in lints if lints else not used


def _stale(field: str, unknown: list[str]) -> str:
    if unknown:
        known = suggestion(unknown[0], helps()) or f" Lints are {', '.join(helps())}."
        return f"the waiver of {field} names '{unknown[0]}', which is no lint.{known}"
    return f"the waiver of {field} silences nothing; delete it"
