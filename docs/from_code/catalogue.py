"""The catalogue of devices and systems: their main numbers, and where each number is from."""

from __future__ import annotations

from collections.abc import Iterator

from estimator.core import units
from estimator.core.types import DeviceSpec, Sourced, SystemSpec
from estimator.devices.lints import help_by_lint
from estimator.devices.specs import catalogue
from estimator.devices.specs.values import sourced_values
from from_code.markdown import cell, code, table

PRECISIONS = ("fp64", "fp32", "bf16", "fp16", "fp8")
Spec = DeviceSpec | SystemSpec


def devices() -> str:
    """Every device of the catalogue; a number that nobody read again in its source has a question mark."""
    headings = ["device", "vendor", "year", *PRECISIONS, "memory", "bandwidth", "power limit"]
    return table(headings, (_device(device) for device in catalogue.all_devices()), right=headings[2:])


def _device(device: DeviceSpec) -> list[str]:
    peaks = [_number(device.peak_of(precision).matrix) for precision in PRECISIONS]
    numbers = (device.memory_capacity, device.memory_bandwidth, device.power_limit)
    return [code(device.name), cell(device.vendor or ""), str(device.year or ""), *peaks, *map(_number, numbers)]


def systems() -> str:
    """Every system of the catalogue."""
    headings = ["system", "site", "year", "nodes", "device", "per node", "interconnect", "injection", "power", "Rmax"]
    right = ["year", "nodes", "per node", "injection", "power", "Rmax"]
    return table(headings, (_system(system) for system in catalogue.all_systems()), right)


def _system(system: SystemSpec) -> list[str]:
    text = [code(system.name), cell(system.site or ""), str(system.year or ""), _number(system.nodes)]
    of_nodes = [code(system.device), _number(system.devices_per_node), cell(system.interconnect or "")]
    return [*text, *of_nodes, *map(_number, (system.injection_bandwidth, system.power, system.rmax))]


def _number(number: Sourced | None) -> str:
    if number is None:
        return ""
    return units.show(number.value, number.unit, 4).replace(" ", " ") + (" ?" if number.unverified else "")


def sources() -> str:
    """Where the numbers of each device and system are from."""
    specs: tuple[Spec, ...] = (*catalogue.all_devices(), *catalogue.all_systems())
    return table(["of", "known by", "source", "numbers"], (row for spec in specs for row in _sources(spec)))


def _sources(spec: Spec) -> Iterator[list[str]]:
    by_source: dict[tuple[str, str], list[str]] = {}
    for field, number in sourced_values(spec):
        by_source.setdefault((number.status or "", number.source or spec.source or ""), []).append(field)
    for (status, source), fields in by_source.items():
        yield [code(spec.name), cell(status), cell(source), ", ".join(map(code, fields))]


def lints() -> str:
    """What ``--check`` looks for."""
    rows = ([code(name), cell(line)] for name, line in help_by_lint().items())
    return table(["lint", "what it holds a file to"], rows)
