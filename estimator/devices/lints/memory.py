"""Limits of each memory type, and the lint that checks a device against them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from estimator.core import units
from estimator.core.types import DeviceSpec
from estimator.devices.lints.finding import Catalogue, Finding, Findings, near

GB, MS = 1e9, 1e-3


class Memory(NamedTuple):
    """A memory type: year of its first product, and the range of each quantity on one device."""

    year: int
    bandwidth: tuple[float, float]  # GB/s
    capacity: tuple[float, float]  # GB
    sweep: tuple[float, float]  # ms, to read all of it
    why: str


MEMORIES = {
    "GDDR3": Memory(2004, (8, 250), (0.1, 8), (2, 100), "64-512 bit of 1-2.5 Gb/s"),
    "GDDR5": Memory(2008, (16, 700), (0.25, 64), (2, 250), "64-512 bit of 3.2-9 Gb/s, boards of two"),
    "GDDR5X": Memory(2016, (150, 700), (3, 48), (8, 150), "192-384 bit of 10-12 Gb/s"),
    "GDDR6": Memory(2018, (60, 1_600), (2, 128), (7, 250), "64-512 bit of 12-20 Gb/s"),
    "GDDR6X": Memory(2020, (400, 1_300), (8, 64), (9, 100), "192-384 bit of 19-24 Gb/s"),
    "GDDR7": Memory(2025, (200, 2_600), (6, 256), (8, 200), "128-512 bit of 28-40 Gb/s"),
    "HBM": Memory(2015, (100, 40_000), (1, 2_000), (4, 100), "stacks of 128 GB/s (2015) to 2.8 TB/s (2026)"),
    "HBM2": Memory(2016, (120, 3_000), (2, 128), (8, 80), "JESD235A: stacks of 1024 bit at 1-2.4 Gb/s, 2-8 GB"),
    "HBM2e": Memory(2019, (250, 5_600), (8, 256), (12, 100), "JESD235D: 1024 bit at 2.8-3.6 Gb/s, 8-24 GB"),
    "HBM3": Memory(2022, (500, 10_000), (8, 384), (10, 80), "JESD238: 1024 bit at 5.2-6.4 Gb/s, 16-24 GB"),
    "HBM3e": Memory(2023, (800, 16_000), (16, 768), (10, 80), "stacks of 1024 bit at 7.2-9.8 Gb/s, 16-48 GB"),
    "HBM4": Memory(2025, (1_500, 60_000), (24, 2_000), (5, 60), "JESD270-4: 2048 bit at 6.4-13 Gb/s"),
    "HBM4e": Memory(2026, (2_000, 120_000), (32, 4_000), (5, 60), "HBM4 with faster and taller stacks"),
    "MCDRAM": Memory(2016, (300, 600), (4, 32), (15, 80), "Knights Landing: eight devices in the package"),
    "HMC": Memory(2013, (100, 700), (1, 64), (5, 300), "cubes of 160-320 GB/s"),
    "LPDDR3": Memory(2012, (3, 60), (0.5, 32), (40, 2_000), "32-256 bit of 1.3-2.1 Gb/s"),
    "LPDDR4": Memory(2014, (6, 150), (1, 64), (40, 2_000), "32-256 bit of 2.4-4.3 Gb/s"),
    "LPDDR4X": Memory(2016, (6, 150), (1, 128), (40, 2_000), "32-256 bit of 3.2-4.3 Gb/s"),
    "LPDDR5": Memory(2019, (10, 1_000), (2, 640), (40, 2_500), "32-1024 bit of 5.5-6.4 Gb/s"),
    "LPDDR5X": Memory(2021, (15, 2_000), (4, 2_000), (40, 3_000), "32-1024 bit of 7.5-10.7 Gb/s"),
    "DDR2": Memory(2003, (3, 60), (0.1, 512), (30, 40_000), "1-4 channels of 64 bit at 0.4-1.07 GT/s"),
    "DDR3": Memory(2007, (5, 110), (0.25, 1_600), (30, 40_000), "1-4 channels of 64 bit at 0.8-2.13 GT/s"),
    "DDR4": Memory(2014, (10, 450), (2, 9_000), (30, 60_000), "1-16 channels of 64 bit at 1.6-3.2 GT/s"),
    "DDR5": Memory(2021, (25, 2_000), (4, 17_000), (30, 60_000), "1-24 channels of 64 bit at 4-8.8 GT/s"),
    "SRAM": Memory(2016, (1_000, 1e8), (0.05, 100), (3e-4, 0.2), "a word or more per core and clock, on the chip"),
}
BY_WORD = {name.lower(): name for name in MEMORIES} | {"ddr3l": "DDR3", "hbm1": "HBM"}
WORD = re.compile(r"[a-z0-9]+")
FAMILY = re.compile(r"(?:hbm|gddr|lpddr|ddr|mrdimm)(?=\d|\b)", re.IGNORECASE)
NEWEST = {"hbm": "HBM4e", "gddr": "GDDR7", "lpddr": "LPDDR5X", "ddr": "DDR5", "mrdimm": "DDR5"}
NEWER = 4  # times the limits of the newest listed type, for a type newer than the list
CHANNELS = re.compile(r"\b(?:DDR\dL?|MRDIMM)-(\d{3,5})\s+(\d{1,2})\s*ch", re.IGNORECASE)
CHANNEL_BYTES = 8  # of a DDR channel, per transfer


def memory_of(spec: DeviceSpec) -> str | None:
    """The first memory type that the device's ``memory_type`` names; None where none is known."""
    words = WORD.findall((spec.memory_type or "").lower())
    return next((BY_WORD[word] for word in words if word in BY_WORD), None)


def _memory_limits(spec: DeviceSpec) -> tuple[str, Memory] | None:
    """Name and limits of the device's memory type; wide limits for a type newer than the list."""
    name, family = memory_of(spec), FAMILY.search(spec.memory_type or "")
    if name:
        return name, MEMORIES[name]
    if not family:
        return None
    newest = NEWEST[family.group().lower()]
    last = MEMORIES[newest]
    bandwidth, capacity = ((low, NEWER * high) for low, high in (last.bandwidth, last.capacity))
    sweep = last.sweep[0] / NEWER, NEWER * last.sweep[1]
    return f"what follows {newest}", Memory(0, bandwidth, capacity, sweep, last.why)


def memory_type(spec: DeviceSpec, catalogue: Catalogue) -> Findings:
    """Bandwidth, capacity and the time to read all of it are what memory of this type and year can have."""
    if spec.memory_type is None:
        return
    known = _memory_limits(spec)
    if known is None:
        yield Finding(
            f"memory_type is '{spec.memory_type}'; expected one of {', '.join(MEMORIES)} or a successor; write that "
            "first, or waive memory-type on memory_bandwidth or memory_capacity",
            ("memory_type", "memory_bandwidth", "memory_capacity"),
        )
        return
    name, memory = known
    if spec.year is not None and spec.year < memory.year:
        yield Finding(f"year is {spec.year}; {name} came in {memory.year}; mend the year or memory_type", ("year",))
    for fields, value, unit, limits in _checked_values(spec, memory):
        if not limits[0] <= value <= limits[1]:
            low, shown, high = (units.show(v, unit, 3) for v in (limits[0], value, limits[1]))
            yield Finding(
                f"{' / '.join(fields)} is {shown}; expected {low} to {high} of {name} ({memory.why}); mend it", fields
            )
    yield from _channels(spec)


def _checked_values(
    spec: DeviceSpec, memory: Memory
) -> Iterator[tuple[tuple[str, ...], float, str, tuple[float, ...]]]:
    """Fields, SI value, unit and SI range of bandwidth, capacity and their quotient, where they are known."""
    bandwidth, capacity = spec.memory_bandwidth, spec.memory_capacity
    if bandwidth:
        yield ("memory_bandwidth",), bandwidth.value, "B/s", tuple(GB * end for end in memory.bandwidth)
    if capacity:
        yield ("memory_capacity",), capacity.value, "B", tuple(GB * end for end in memory.capacity)
    if bandwidth and capacity:
        sweep = capacity.value / bandwidth.value
        yield ("memory_capacity", "memory_bandwidth"), sweep, "s", tuple(MS * end for end in memory.sweep)


def _channels(spec: DeviceSpec) -> Findings:
    """DDR4-2666 6ch is 2666 MT/s × 8 B × 6 = 128 GB/s."""
    match = CHANNELS.search(spec.memory_type or "")
    if match and spec.memory_bandwidth:
        rate, channels = map(int, match.groups())
        product = rate * 1e6 * CHANNEL_BYTES * channels
        if not near(spec.memory_bandwidth.value, product, 0.03):
            yield Finding(
                f"memory_bandwidth is {spec.memory_bandwidth}; {match.group()} give {units.show(product, 'B/s', 4)}; "
                "mend the one that is wrong",
                ("memory_bandwidth",),
            )
