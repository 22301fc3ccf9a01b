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
    headings = ["device", "vendor", "year", *PRECISIONS, "memory [GB]", "bandwidth [GB/s]", "power limit [W]"]
    return table(headings, (_device(device) for device in catalogue.all_devices()), right=headings[2:])


def _device(device: DeviceSpec) -> list[str]:
    peaks = [_number(device.peak_of(precision).matrix, 1e12) for precision in PRECISIONS]
    memory = (_number(number, 1e9) for number in (device.memory_capacity, device.memory_bandwidth))
    text = [code(device.name), cell(device.vendor or ""), str(device.year or "")]
    return [*text, *peaks, *memory, _number(device.power_limit)]


def systems() -> str:
    """Every system of the catalogue."""
    text = ["system", "site", "year", "nodes", "device", "per node", "interconnect"]
    headings = [*text, "injection [GB/s]", "power [MW]", "Rmax [PFLOP/s]"]
    right = ["year", "nodes", "per node", *headings[-3:]]
    return table(headings, (_system(system) for system in catalogue.all_systems()), right)


def _system(system: SystemSpec) -> list[str]:
    text = [code(system.name), cell(system.site or ""), str(system.year or ""), _number(system.nodes)]
    of_nodes = [code(system.device), _number(system.devices_per_node), cell(system.interconnect or "")]
    rates = ((system.injection_bandwidth, 1e9), (system.power, 1e6), (system.rmax, 1e15))
    return [*text, *of_nodes, *(_number(number, unit) for number, unit in rates)]


def _number(number: Sourced | None, unit: float = 1.0) -> str:
    """A number in a unit, to four digits; nothing where it is unknown."""
    if number is None:
        return ""
    shown = units.significant(number.value / unit, 4)
    return (shown.rstrip("0").rstrip(".") if "." in shown else shown) + (" ?" if number.unverified else "")


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
