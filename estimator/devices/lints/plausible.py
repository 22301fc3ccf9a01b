"""The lint that checks every number against :mod:`estimator.devices.lints.ranges`."""

from __future__ import annotations

import re
from fnmatch import fnmatchcase

from estimator.core import units
from estimator.core.errors import EstimatorError
from estimator.core.types import ITEMSIZE, DeviceSpec, SystemSpec
from estimator.devices.lints import ranges
from estimator.devices.lints.finding import Catalogue, Finding, Findings
from estimator.devices.lints.memory import memory_of
from estimator.devices.lints.peaks import rates
from estimator.devices.lints.ranges import Range
from estimator.devices.specs.values import sourced_values

MEASURED_FACTOR = 5.0  # by which ranges widen for quotients with a measured rate: a busy machine has less
Numbers = dict[str, tuple[float, str]]  # dotted name → SI value, and the fields whose waivers apply


def plausible(spec: DeviceSpec | SystemSpec, catalogue: Catalogue) -> Findings:
    """Numbers and their quotients lie where those of other machines do, so that a slip in a prefix is seen."""
    if isinstance(spec, SystemSpec):
        yield from _out_of_range(_system_numbers(spec, catalogue), ranges.SYSTEM, set())
        return
    main = ranges.MAIN_MEMORY if spec.memory_type else ranges.UNKNOWN_MEMORY
    memory = ranges.ON_CHIP if memory_of(spec) == "SRAM" else main
    measured = {field for field, number in sourced_values(spec) if number.status == "measured"}
    yield from _out_of_range(_device_numbers(spec), (*ranges.ANY_DEVICE, *memory), measured)
    yield from _too_many_units(spec)
    yield from _narrow_accumulation(spec)
    yield from _early_pci_express(spec)
    if spec.specifications != "known" and spec.memory_bandwidth and any(peak.matrix for peak in spec.peak.values()):
        sentence = f"specifications is '{spec.specifications}', but a peak and memory_bandwidth are given; delete it"
        yield Finding(sentence, ("specifications",))


def _out_of_range(numbers: Numbers, table: tuple[Range, ...], measured: set[str]) -> Findings:
    for row in table:
        for name in [name for name in numbers if fnmatchcase(name, row.of)]:
            value, fields = _quotient(numbers, name, row.per)
            factor = MEASURED_FACTOR if row.per and measured.intersection(fields) else 1.0
            low, high = row.low / factor, row.high * factor
            if value is not None and not low <= value <= high:
                label = f"{name} / {row.per}" if row.per else name
                low_text, value_text, high_text = (_show(v, row.unit) for v in (low, value, high))
                yield Finding(
                    f"{label} is {value_text}; expected {low_text} to {high_text} ({row.why}); check values and units",
                    fields,
                )


def _quotient(numbers: Numbers, name: str, per: str | None) -> tuple[float | None, tuple[str, ...]]:
    value, field = numbers[name]
    if per is None:
        return value, tuple(field.split())
    if per not in numbers:
        return None, ()
    divisor, other_field = numbers[per]
    return value / divisor, (*field.split(), *other_field.split())


def _show(value: float, unit: str) -> str:
    kind, _, per = unit.partition(" per ")
    if kind not in units.KINDS:
        return f"{value:g}"
    return f"{units.show(value, kind, 3)}{' per ' * bool(per)}{per}"


def _device_numbers(spec: DeviceSpec) -> Numbers:
    numbers = _numbers(spec) | {"pcie_lanes": (float(spec.pcie_lanes), "pcie_lanes")}
    if spec.part_of:
        numbers["part_of.parts"] = float(spec.part_of.parts), "part_of.parts"
    boost = spec.boost_clock.value if spec.boost_clock else None
    count = spec.compute_units.value if spec.compute_units else None
    for _, field, rate in rates(spec):
        numbers |= _rate_numbers(rate.value, rate.clock or boost, rate.flop_per_clock, count, field)
        if rate.clock:
            numbers[f"clock of {field}"] = rate.clock, field
    return numbers


def _rate_numbers(
    rate: float, clock: float | None, per_clock: float | None, count: float | None, field: str
) -> Numbers:
    """The given FLOP per clock, or the missing factor that a peak implies."""
    numbers = {f"flop_per_clock of {field}": (per_clock, field)} if per_clock else {}
    if clock and count and not per_clock:
        numbers[f"implied flop_per_clock of {field}"] = rate / (clock * count), f"{field} compute_units"
    elif clock and per_clock and not count:
        numbers[f"implied units of {field}"] = rate / (clock * per_clock), field
    elif count and per_clock and not clock:
        numbers[f"implied clock of {field}"] = rate / (count * per_clock), f"{field} compute_units"
    return numbers


def _numbers(spec: DeviceSpec | SystemSpec) -> Numbers:
    numbers = {}
    for field, number in sourced_values(spec):
        numbers[field] = number.value, field
        if number.relative_uncertainty:
            label = "measured uncertainty" if number.status == "measured" else "uncertainty"
            numbers[f"{label} of {field}"] = number.relative_uncertainty, field
    return numbers | ({"year": (float(spec.year), "year")} if spec.year is not None else {})


def _system_numbers(spec: SystemSpec, catalogue: Catalogue) -> Numbers:
    """The system's numbers, and totals of its devices."""
    numbers = _numbers(spec)
    per_node, count = spec.devices_per_node.value, spec.nodes.value * spec.devices_per_node.value
    numbers |= {"devices": (count, "nodes devices_per_node"), "taper": (spec.taper, "taper")}
    try:
        device = catalogue.device(spec.device)
    except EstimatorError:
        return numbers  # reported by unknown-device
    if device.memory_bandwidth and memory_of(device) != "SRAM":
        numbers["memory bandwidth of a node"] = per_node * device.memory_bandwidth.value, "devices_per_node"
    if device.power_limit:
        numbers["power limits of the devices"] = count * device.power_limit.value, "nodes devices_per_node"
    if spec.year is not None and device.year is not None:
        numbers["years after the device"] = float(spec.year - device.year), "year"
    return numbers


def _too_many_units(spec: DeviceSpec) -> Findings:
    if spec.compute_units is None or memory_of(spec) == "SRAM":
        return
    words = re.findall(r"[a-z]+", (spec.compute_unit or "").lower())
    most = next((ranges.UNITS_PER_DEVICE[word] for word in words if word in ranges.UNITS_PER_DEVICE), None)
    if most and spec.compute_units.value > most:
        sentence = f"compute_units is {spec.compute_units}; expected up to {most} of '{spec.compute_unit}'; mend one"
        yield Finding(sentence, ("compute_units",))


def _narrow_accumulation(spec: DeviceSpec) -> Findings:
    for precision, field, rate in rates(spec):
        if rate.accumulate and ITEMSIZE[rate.accumulate] < ITEMSIZE[precision]:
            sentence = f"{field} accumulates in {rate.accumulate}, which is narrower than {precision}; mend it"
            yield Finding(sentence, (field,))


def _early_pci_express(spec: DeviceSpec) -> Findings:
    generation = spec.pcie_generation
    first = ranges.PCI_EXPRESS.get(generation or 0)
    if generation and (first is None or (spec.year or first) < first):
        known = f"{generation} came in {first}" if first else f"there are {', '.join(map(str, ranges.PCI_EXPRESS))}"
        yield Finding(f"pcie_generation is {generation}, but {known}; mend it or the year", ("pcie_generation",))
