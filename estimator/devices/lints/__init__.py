"""The lints of the catalogue by name, and the waivers that silence them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

from estimator.core.errors import suggestion
from estimator.core.types import DeviceSpec, Sourced, SystemSpec
from estimator.devices.lints import memory, names, peaks, plausible, siblings, systems
from estimator.devices.lints.finding import Catalogue, Finding, Lint
from estimator.devices.specs.values import sourced_values

__all__ = ["Catalogue", "Finding", "findings", "help_by_lint"]

COMMON_LINTS: tuple[Lint, ...] = (
    names.missing_source,
    names.duplicate_alias,
    names.unknown_device,
    plausible.plausible,
)
DEVICE_LINTS: tuple[Lint, ...] = (
    peaks.peak_arithmetic, peaks.sparse_or_dense, peaks.tensor_below_vector, peaks.clock_order, memory.memory_type,
    names.link_directions, names.part_of_module, siblings.sibling,
)  # fmt: skip
SYSTEM_LINTS: tuple[Lint, ...] = (systems.rpeak,)
STALE = "stale-waiver"
STALE_HELP = "Every waiver silences something, and names lints that there are."
WAIVER = re.compile(r"^\s*([a-z]+(?:-[a-z]+)*(?:\s*,\s*[a-z]+(?:-[a-z]+)*)*)\s*:")


def lint_name(lint: Lint) -> str:
    """The name of a lint in waivers and faults."""
    return lint.__name__.replace("_", "-")


def help_by_lint() -> dict[str, str]:
    """One line of help on each lint, by name."""
    lines = {
        lint_name(lint): (lint.__doc__ or "").splitlines()[0] for lint in (*COMMON_LINTS, *DEVICE_LINTS, *SYSTEM_LINTS)
    }
    return lines | {STALE: STALE_HELP}


def findings(spec: DeviceSpec | SystemSpec, catalogue: Catalogue) -> Iterator[tuple[str, Finding]]:
    """Yield the findings on a device or system that no waiver silences, each with its lint's name."""
    lints = (*COMMON_LINTS, *(DEVICE_LINTS if isinstance(spec, DeviceSpec) else SYSTEM_LINTS))
    named = ((lint_name(lint), finding) for lint in lints for finding in lint(spec, catalogue))
    waived = {field: value for field, value in sourced_values(spec) if value.waiver}
    return _unwaived(named, waived)


def _unwaived(findings: Iterable[tuple[str, Finding]], waived: Mapping[str, Sourced]) -> Iterator[tuple[str, Finding]]:
    used: set[str] = set()
    for lint, finding in findings:
        silencing = {
            field for field in finding.fields if field in waived and _silences(waived[field], lint, field in used)
        }
        used |= silencing
        if not silencing:
            yield lint, finding
    for field, value in waived.items():
        unknown = [name for name in named_lints(value.waiver or "") if name not in help_by_lint()]
        if unknown or field not in used:
            yield STALE, Finding(_describe_stale(field, unknown), (field,))


def named_lints(waiver: str) -> list[str]:
    """The lints named in a waiver such as ``"peak-arithmetic, plausible: reason"``; none in a bare reason."""
    match = WAIVER.match(waiver)
    return re.split(r"\s*,\s*", match.group(1)) if match else []


def _silences(value: Sourced, lint: str, used: bool) -> bool:
    """Whether a waiver silences a lint: one that it names; without any name, only the first fault of its value."""
    lints = named_lints(value.waiver or "")
    return lint in lints if lints else not used


def _describe_stale(field: str, unknown: list[str]) -> str:
    if unknown:
        known = suggestion(unknown[0], help_by_lint()) or f" Lints are {', '.join(help_by_lint())}."
        return f"the waiver of {field} names '{unknown[0]}', which is no lint.{known}"
    return f"the waiver of {field} silences nothing; delete it"
