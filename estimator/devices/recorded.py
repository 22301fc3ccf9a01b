"""The device of the catalogue that a profiler recorded: by its name, else by the numbers that the driver gave.

A driver counts memory in whole GiB where data sheets write GB, and keeps a part to itself; so capacities agree only
roughly. Boards of one chip may differ by clock or bandwidth alone; where these are not recorded, several may match.
"""

from __future__ import annotations

import math

from estimator.core.types import DeviceNumbers, DeviceSpec, Profile, Sourced
from estimator.devices.specs.catalogue import all_devices, source_device

MEMORY = (0.90, 1.11)  # recorded over listed capacity: what is kept back, and GiB that are listed as GB
CLOCK = (0.98, 1.02)
BANDWIDTH = (0.97, 1.03)


def recorded_devices(profile: Profile) -> tuple[DeviceSpec, ...]:
    """The devices that a profile may have been taken on: one that is named, else all whose numbers match."""
    named = source_device(profile.device or profile.device_recorded)
    if named or profile.device or profile.device_numbers is None:
        return (named,) if named else ()
    return _matching(profile.device_numbers)


def _matching(numbers: DeviceNumbers) -> tuple[DeviceSpec, ...]:
    """The devices with these numbers; those whose bandwidth matches, if any does."""
    matching = [device for device in all_devices() if _matches(device, numbers)]
    nearest = [device for device in matching if _within(numbers.bandwidth, device.memory_bandwidth, BANDWIDTH)]
    return tuple(nearest or matching)


def _matches(device: DeviceSpec, numbers: DeviceNumbers) -> bool:
    """Whether a device has these compute units and, as far as they are known, this memory, clock and vendor."""
    units, vendor = device.compute_units, numbers.vendor or device.vendor
    same_chip = units is not None and units.value == numbers.compute_units and vendor == device.vendor
    clock = device.boost_clock or device.base_clock
    same_memory = _within(numbers.memory, device.memory_capacity, MEMORY)
    return same_chip and not device.is_processor and same_memory and _within(numbers.clock, clock, CLOCK)


def _within(recorded: float, listed: Sourced | None, ends: tuple[float, float]) -> bool:
    """Whether a recorded number is between these multiples of the listed one; also where it was not recorded."""
    if math.isnan(recorded):
        return True
    return listed is not None and ends[0] <= recorded / listed.value <= ends[1]
