"""Lints of what a file says about itself and about others: sources, aliases, links, parts of a module."""

from __future__ import annotations

from collections import Counter

from estimator.core.errors import EstimatorError
from estimator.core.types import DeviceSpec, Sourced, SystemSpec
from estimator.devices.lints.finding import Finding, Findings, Rest, near
from estimator.devices.specs.values import sourced_values

SLACK = 0.03
SHARED = ("memory_bandwidth", "memory_capacity", "compute_units", "last_level_cache")  # split among a module's parts


def missing_source(spec: DeviceSpec | SystemSpec, rest: Rest) -> Findings:
    """Every number says where it is from; one that does not say how it is known is marked as unverified."""
    for field, value in sourced_values(spec):
        if not value.source:
            yield Finding(f"{field} has no source; say where it is from and how it is known", (field,))


def duplicate_alias(spec: DeviceSpec | SystemSpec, rest: Rest) -> Findings:
    """No name or alias, in any case, leads to two files."""
    counts = Counter(alias.lower() for alias in spec.aliases)
    for alias in spec.aliases:
        others = [name for name in rest.bearers(alias) if name != spec.name]
        if others:
            yield Finding(f"the alias '{alias}' also names {', '.join(others)}; delete it in one file", ("aliases",))
        if counts[alias.lower()] > 1:
            yield Finding(f"the alias '{alias}' stands twice; delete one", ("aliases",))
            counts[alias.lower()] = 1


def link_directions(spec: DeviceSpec, rest: Rest) -> Findings:
    """A link's total is both directions of all neighbours; one neighbour's share is not above all of them."""
    link = spec.link
    if link is None:
        return
    one, both, neighbour = link.per_direction, link.total, link.per_neighbour
    if one and both and not near(both.value, 2 * one.value, SLACK):
        same = "it; is the total of both directions written one way?" if near(both.value, one.value, SLACK) else ""
        yield Finding(
            f"link.total is {both} and link.per_direction {one}; expected twice {same or 'it; mend one'}",
            ("link.per_direction", "link.total"),
        )
    for field, whole in (("link.per_direction", one and one.value), ("link.total", both and both.value / 2)):
        if neighbour and whole and neighbour.value > whole * (1 + SLACK):
            yield Finding(
                f"link.per_neighbour is {neighbour}, more than all neighbours together in {field} (one way); mend one",
                ("link.per_neighbour", field),
            )


def part_of_module(spec: DeviceSpec, rest: Rest) -> Findings:
    """A module has its equal parts' peaks, units, bandwidth and capacity together, within 3 %."""
    part = spec.part_of
    if part is None:
        return
    try:
        module = rest.device(part.device)
    except EstimatorError:
        return  # told by unknown-device
    if module.name == spec.name:
        yield Finding("part_of names this device itself; name the module that it is a part of", ("part_of",))
        return
    wholes = dict(sourced_values(module))
    for field, value in sourced_values(spec):
        whole = wholes.get(field)
        if whole and field.startswith(("peak.", *SHARED)) and not near(whole.value, part.parts * value.value, SLACK):
            yield Finding(
                f"{field} is {value} and that of {module.name} {whole}; expected {part.parts} parts to make the module"
                f"{_hint(value, whole)}; mend one",
                (field, "part_of"),
            )


def _hint(value: Sourced, whole: Sourced) -> str:
    return ", and here both are the same: is it the module's number?" if near(value.value, whole.value, SLACK) else ""


def unknown_device(spec: DeviceSpec | SystemSpec, rest: Rest) -> Findings:
    """The device of a system, and the module of a part, are in the catalogue or beside the file."""
    named = spec.device if isinstance(spec, SystemSpec) else spec.part_of and spec.part_of.device
    if not named:
        return
    try:
        rest.device(named)
    except EstimatorError as error:
        sentence = str(error).splitlines()[0]
        yield Finding(sentence, ("device",) if isinstance(spec, SystemSpec) else ("part_of.device",))
