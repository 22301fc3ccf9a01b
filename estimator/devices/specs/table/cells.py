"""What stands in the cells of the catalogue's tables: numbers of a device or system, and what follows from them.

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

UNSUPPORTED = "unsupported"  # stands in a column of numbers where the hardware has no such path
Cell = Sourced | float | str | None  # a number with its origin, a plain number, a text; None where it is unknown
Get = Callable[[Any], Cell]


@dataclass(frozen=True)
class Machine:
    """A system and, read when it is asked for, the device that it is made of."""

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
    """What a cell is compared by: an SI number or a text in lower case; None where it holds neither."""
    if isinstance(cell, Sourced):
        return cell.value
    return None if cell == UNSUPPORTED else cell.casefold() if isinstance(cell, str) else cell


def field(path: str) -> Get:
    """What stands at a dotted path of the subject; None where any part is absent."""

    def get(subject: Any) -> Cell:
        for name in path.split("."):
            subject = getattr(subject, name, None)
        return cast(Cell, subject)

    return get


def peak(precision: str, path: str = "matrix") -> Get:
    """A device's dense peak in a precision: of one path, or (``matrix``) of the one that matrix products take."""

    def get(device: DeviceSpec) -> Cell:
        found = device.peak_of(precision)
        return getattr(found, path) or (None if found.supported else UNSUPPORTED)

    return get


def derived(unit: str, formula: str, compute: Callable[..., float], *inputs: Get) -> Get:
    """A number computed from others; it is as doubtful as the most doubtful of them."""

    def get(subject: Any) -> Cell:
        cells = [given(subject) for given in inputs]
        if UNSUPPORTED in cells:
            return UNSUPPORTED
        known = [cell for cell in cells if isinstance(cell, Sourced)]
        if len(known) < len(cells):
            return None
        status = next((cell.status for cell in known if cell.unverified), "derived")
        value = compute(*(cell.value for cell in known))
        return Sourced(value=value, unit=unit, status=status, source=formula)

    return get


def quotient(unit: str, formula: str, above: Get, below: Get) -> Get:
    """One number over another."""
    return derived(unit, formula, lambda a, b: a / b, above, below)


def ridge_point(peak: Get) -> Get:
    """Intensity [FLOP/B] above which arithmetic binds: peak / memory_bandwidth (Williams et al., CACM 52(4), 2009)."""
    return quotient("FLOP/B", "peak / memory_bandwidth", peak, field("memory_bandwidth"))


def bytes_per_flop(peak: Get) -> Get:
    """Machine balance [B/FLOP], the ridge point's inverse."""
    return quotient("B/FLOP", "memory_bandwidth / peak", field("memory_bandwidth"), peak)


def per_watt(peak: Get) -> Get:
    """Peak per power limit [FLOP/s/W]."""
    return quotient("FLOP/s/W", "peak / power_limit", peak, field("power_limit"))


def in_all(unit: str, what: str, of_device: Get) -> Get:
    """What all of a machine's devices have together: nodes · devices_per_node · the device's own."""

    def own(machine: Machine) -> Cell:
        return of_device(machine.device) if machine.device else None

    formula = f"nodes x devices_per_node x {what} of the device"
    counts = field("spec.nodes"), field("spec.devices_per_node")
    return derived(unit, formula, lambda *factors: math.prod(factors), *counts, own)


def aliases(subject: Subject) -> Cell:
    """Its other names."""
    return ", ".join(spec_of(subject).aliases) or None


def part_of(device: DeviceSpec) -> Cell:
    """The share of a module that a device is."""
    return f"1/{device.part_of.parts} of {device.part_of.device}" if device.part_of else None


def measured(device: DeviceSpec) -> Cell:
    """The files of measured ops that the library holds of a device."""
    return ", ".join(path.name for path in catalogue.measurements_paths(device.name)) or None
