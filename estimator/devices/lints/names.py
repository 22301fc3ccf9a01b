"""Lints of sources, aliases, links, and parts of a module."""

from __future__ import annotations

from collections import Counter

from estimator.core.errors import EstimatorError
from estimator.core.types import DeviceSpec, Sourced, SystemSpec
from estimator.devices.lints.finding import Catalogue, Finding, Findings, near
from estimator.devices.specs.values import sourced_values

TOLERANCE = 0.03
SHARED = ("memory_bandwidth", "memory_capacity", "compute_units", "last_level_cache")  # split among a module's parts


def missing_source(spec: DeviceSpec | SystemSpec, catalogue: Catalogue) -> Findings:
    """Every number says where it is from; one that does not say how it is known is marked as unverified."""
    for field, value in sourced_values(spec):
        if not value.source:
            form = f'{{value: {value}, status: read, source: "data sheet, p. 2"}}'
            yield Finding(f"{field} has no source; say where it is from and how it is known: write {form}", (field,))


def duplicate_alias(spec: DeviceSpec | SystemSpec, catalogue: Catalogue) -> Findings:
    """No name or alias, in any case, leads to two files."""
    counts = Counter(alias.lower() for alias in spec.aliases)
    for alias in spec.aliases:
        others = [name for name in catalogue.files_named(alias) if name != spec.name]
        if others:
            yield Finding(f"the alias '{alias}' also names {', '.join(others)}; delete it in one file", ("aliases",))
        if counts[alias.lower()] > 1:
            yield Finding(f"the alias '{alias}' stands twice; delete one", ("aliases",))
            counts[alias.lower()] = 1


def link_directions(spec: DeviceSpec, catalogue: Catalogue) -> Findings:
    """A link's total is both directions of all neighbours; one has no more than all, the slowest no more than one."""
    link = spec.link
    if link is None:
        return
    one_way, both_ways, neighbour = link.per_direction, link.total, link.per_neighbour
    if one_way and both_ways and not near(both_ways.value, 2 * one_way.value, TOLERANCE):
        is_one_way = near(both_ways.value, one_way.value, TOLERANCE)
        hint = "it; is the total of both directions written one way?" if is_one_way else "it; mend one"
        yield Finding(
            f"link.total is {both_ways} and link.per_direction {one_way}; expected twice {hint}",
            ("link.per_direction", "link.total"),
        )
    for field, limit in (
        ("link.per_direction", one_way and one_way.value),
        ("link.total", both_ways and both_ways.value / 2),
    ):
        if neighbour and limit and neighbour.value > limit * (1 + TOLERANCE):
            yield Finding(
                f"link.per_neighbour is {neighbour}, more than all neighbours together in {field} (one way); mend one",
                ("link.per_neighbour", field),
            )
    slowest, most = link.slowest_neighbour, neighbour or one_way
    if slowest and most and slowest.value > most.value:
        field = "link.per_neighbour" if neighbour else "link.per_direction"
        yield Finding(
            f"link.slowest_neighbour is {slowest}, more than {field} of {most}; mend one",
            ("link.slowest_neighbour", field),
        )


def part_of_module(spec: DeviceSpec, catalogue: Catalogue) -> Findings:
    """A module has its equal parts' peaks, units, bandwidth and capacity together, within 3 %."""
    part = spec.part_of
    if part is None:
        return
    try:
        module = catalogue.device(part.device)
    except EstimatorError:
        return  # reported by unknown-device
    if module.name == spec.name:
        yield Finding("part_of names this device itself; name the module that it is a part of", ("part_of",))
        return
    module_values = dict(sourced_values(module))
    for field, value in sourced_values(spec):
        module_value = module_values.get(field)
        if (
            module_value
            and field.startswith(("peak.", *SHARED))
            and not near(module_value.value, part.parts * value.value, TOLERANCE)
        ):
            yield Finding(
                f"{field} is {value} and that of {module.name} {module_value}; expected {part.parts} parts to make the "
                f"module{_hint(value, module_value)}; mend one",
                (field, "part_of"),
            )


def _hint(value: Sourced, module_value: Sourced) -> str:
    return (
        ", and here both are the same: is it the module's number?"
        if near(value.value, module_value.value, TOLERANCE)
        else ""
    )


def unknown_device(spec: DeviceSpec | SystemSpec, catalogue: Catalogue) -> Findings:
    """The device of a system, and the module of a part, are in the catalogue or beside the file."""
    device_name = spec.device if isinstance(spec, SystemSpec) else spec.part_of and spec.part_of.device
    if not device_name:
        return
    try:
        catalogue.device(device_name)
    except EstimatorError as error:
        sentence = str(error).splitlines()[0]
        yield Finding(sentence, ("device",) if isinstance(spec, SystemSpec) else ("part_of.device",))
