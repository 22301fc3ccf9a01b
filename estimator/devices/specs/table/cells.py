"""Cells of the catalogue's tables: numbers of a device or system, and numbers derived from them.

A *getter* takes one row's subject, a :class:`DeviceSpec` or a :class:`Machine`, and returns its cell.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, cast

from estimator.core.errors import EstimatorError, within
from estimator.core.types import DeviceSpec, Sourced, SystemSpec
from estimator.devices.specs import catalogue

UNSUPPORTED = "unsupported"  # the cell of a number for which the hardware has no path
Cell = Sourced | float | str | None  # a number with its source, a plain number, a text, or None: unknown
Get = Callable[[Any], Cell]


@dataclass(frozen=True)
class Machine:
    """A system and its device, which is read when first used."""

    spec: SystemSpec

    @cached_property
    def _read(self) -> tuple[DeviceSpec | None, tuple[str, ...]]:
        try:
            with within(self.name):
                return catalogue.load_device(self.spec.device), ()
        except EstimatorError as error:
            return None, error.faults

    @property
    def device(self) -> DeviceSpec | None:
        """The device of the system's nodes; None where it cannot be read."""
        return self._read[0]

    @property
    def faults(self) -> tuple[str, ...]:
        """Why the device cannot be read, a sentence each; none where it can."""
        return self._read[1]

    @property
    def name(self) -> str:
        """The system's name."""
        return self.spec.name


Subject = DeviceSpec | Machine


def spec_of(subject: Subject) -> DeviceSpec | SystemSpec:
    """The catalogue's entry that a row of a table is about."""
    return subject.spec if isinstance(subject, Machine) else subject


def value(cell: Cell) -> float | str | None:
    """The SI number or lower-case text by which a cell is compared; None where it is neither."""
    if isinstance(cell, Sourced):
        return cell.value
    return None if cell == UNSUPPORTED else cell.casefold() if isinstance(cell, str) else cell


def field(path: str) -> Get:
    """Getter of a dotted path of the subject; None where any part is absent."""

    def get(subject: Any) -> Cell:
        for name in path.split("."):
            subject = getattr(subject, name, None)
        return cast(Cell, subject)

    return get


def peak(precision: str, path: str = "matrix") -> Get:
    """Getter of a device's dense peak in a precision: of one path, or (``matrix``) that of matrix products."""

    def get(device: DeviceSpec) -> Cell:
        peaks = device.peak_of(precision)
        return getattr(peaks, path) or (None if peaks.supported else UNSUPPORTED)

    return get


def derived(unit: str, formula: str, compute: Callable[..., float], *inputs: Get) -> Get:
    """Getter of a number computed from others; it is unverified if any of them is."""

    def get(subject: Any) -> Cell:
        cells = [get_input(subject) for get_input in inputs]
        if UNSUPPORTED in cells:
            return UNSUPPORTED
        numbers = [cell for cell in cells if isinstance(cell, Sourced)]
        if len(numbers) < len(cells):
            return None
        status = next((cell.status for cell in numbers if cell.unverified), "derived")
        value = compute(*(cell.value for cell in numbers))
        return Sourced(value=value, unit=unit, status=status, source=formula)

    return get


def quotient(unit: str, formula: str, numerator: Get, denominator: Get) -> Get:
    """One number over another."""
    return derived(unit, formula, lambda a, b: a / b, numerator, denominator)


def ridge_point(peak: Get) -> Get:
    """Intensity [FLOP/B] above which arithmetic binds: peak / memory_bandwidth (Williams et al., CACM 52(4), 2009)."""
    return quotient("FLOP/B", "peak / memory_bandwidth", peak, field("memory_bandwidth"))


def bytes_per_flop(peak: Get) -> Get:
    """Machine balance [B/FLOP], the ridge point's inverse."""
    return quotient("B/FLOP", "memory_bandwidth / peak", field("memory_bandwidth"), peak)


def per_watt(peak: Get) -> Get:
    """Peak per power limit [FLOP/s/W]."""
    return quotient("FLOP/s/W", "peak / power_limit", peak, field("power_limit"))


def total_of_machine(unit: str, quantity: str, of_device: Get) -> Get:
    """Getter of the total of a machine's devices: nodes · devices_per_node · value of the device."""

    def of_machine(machine: Machine) -> Cell:
        return of_device(machine.device) if machine.device else None

    formula = f"nodes x devices_per_node x {quantity} of the device"
    counts = field("spec.nodes"), field("spec.devices_per_node")
    return derived(unit, formula, lambda *factors: math.prod(factors), *counts, of_machine)


def aliases(subject: Subject) -> Cell:
    """Its other names."""
    return ", ".join(spec_of(subject).aliases) or None


def announced(subject: Subject) -> Cell:
    """``yes`` where its numbers are those of an announcement, be it of a machine's device."""
    specs = (subject.spec, subject.device) if isinstance(subject, Machine) else (subject,)
    return "yes" if any(spec and spec.announced for spec in specs) else None


def part_of(device: DeviceSpec) -> Cell:
    """The share of a module that a device is."""
    return f"1/{device.part_of.parts} of {device.part_of.device}" if device.part_of else None


def measured(device: DeviceSpec) -> Cell:
    """The library's files of measurements of a device."""
    return ", ".join(path.name for path in catalogue.measurements_paths(device.name)) or None
