"""Plausible ranges of numbers and quotients for accelerators, processors and machines of 2008 to 2028.

Each range, or another one of the same number, is narrower than a factor of a thousand, so that a wrong prefix is found.
A row limits ``of`` ÷ ``per``; names are dotted fields and those that ``plausible.py`` adds; ``*`` matches any part.
"""

from __future__ import annotations

from typing import NamedTuple


class Range(NamedTuple):
    """``low`` ≤ ``of`` ÷ ``per`` ≤ ``high`` in SI units; ``unit`` is the unit shown."""

    of: str
    per: str | None
    low: float
    high: float
    unit: str
    why: str


UNCERTAINTIES = (
    Range("uncertainty of *", None, 1.5e-3, 3, "1", "figures are printed to two to four digits"),
    Range(
        "measured uncertainty of *", None, 4e-4, 3, "1", "measured to 0.05 % at best, known to a factor of 4 at worst"
    ),
)
ANY_DEVICE = (
    Range("year", None, 2005, 2030, "year", "devices that train neural networks"),
    Range("pcie_lanes", None, 1, 32, "lanes", "a bus has 1 to 32 lanes"),
    Range("part_of.parts", None, 2, 256, "parts", "a module has two or more parts"),
    *UNCERTAINTIES,
    Range("base_clock", None, 2e8, 6.5e9, "Hz", "chips run at 0.2 to 6.5 GHz"),
    Range("boost_clock", None, 2e8, 6.5e9, "Hz", "chips run at 0.2 to 6.5 GHz"),
    Range("clock of *", None, 2e8, 6.5e9, "Hz", "chips run at 0.2 to 6.5 GHz"),
    Range("implied clock of *", None, 2e8, 6.5e9, "Hz", "chips run at 0.2 to 6.5 GHz"),
    Range("base_clock", "boost_clock", 0.15, 1.05, "1", "no chip boosts by more than a few times its base clock"),
    Range("clock of *", "boost_clock", 0.25, 1.05, "1", "a peak holds between vector base clock and boost clock"),
    Range("implied flop_per_clock of *", None, 0.9, 2e6, "FLOP", "a unit does from one to 2 x 512 x 512 per clock"),
    Range("implied units of *", None, 0.95, 1e7, "1", "there is at least one unit, and no wafer has ten million"),
    Range("flop_per_clock of *", None, 0.05, 2e6, "FLOP", "a unit does up to 2 x 512 x 512 per clock"),
    Range("launch_latency", None, 2e-7, 2e-4, "s", "a kernel starts within microseconds"),
    Range("link.*", None, 1e9, 2e13, "B/s", "one lane pair to a rack-scale switch"),
    Range("peak.fp64.vector", "peak.fp32.vector", 1 / 66, 1.03, "1", "fp64 runs at 1/64 to all of the fp32 rate"),
    Range("peak.fp16.vector", "peak.fp32.vector", 1 / 66, 4.2, "1", "fp16 runs at 1/64 to 4 times the fp32 rate"),
    Range("peak.bf16.vector", "peak.fp32.vector", 1 / 66, 4.2, "1", "bf16 runs at 1/64 to 4 times the fp32 rate"),
    Range("peak.int8.vector", "peak.fp32.vector", 0.2, 8.4, "1", "byte dot products do up to 8 x the fp32 rate"),
    Range("peak.fp64.tensor", "peak.fp64.vector", 0.02, 8.4, "1", "matrix units do 1 to 8 x the vector rate"),
    Range("peak.fp32.tensor", "peak.fp32.vector", 0.02, 8.4, "1", "matrix units do 1 to 8 x the vector rate"),
    Range("peak.tf32.tensor", "peak.fp32.vector", 0.9, 33, "1", "matrix units do 1 to 32 x the fp32 vector rate"),
    Range("peak.bf16.tensor", "peak.fp32.vector", 0.9, 200, "1", "matrix units do 1 to 200 x the fp32 vector rate"),
    Range("peak.fp16.tensor", "peak.fp32.vector", 0.9, 200, "1", "matrix units do 1 to 200 x the fp32 vector rate"),
    Range("peak.fp8.tensor", "peak.fp32.vector", 0.9, 400, "1", "matrix units do 1 to 400 x the fp32 vector rate"),
    Range("peak.int8.tensor", "peak.fp32.vector", 0.4, 400, "1", "matrix units do 0.4 to 400 x the fp32 vector rate"),
    Range("peak.fp4.tensor", "peak.fp32.vector", 0.9, 800, "1", "matrix units do 1 to 800 x the fp32 vector rate"),
)  # fmt: skip
MAIN_MEMORY = (  # devices whose memory is DRAM
    Range("compute_units", None, 1, 4096, "1", "chips have one to some thousand units"),
    Range("power_limit", None, 1, 4e3, "W", "a chip with DRAM takes 1 W to 4 kW"),
    Range("peak.fp32.vector", "power_limit", 5e8, 6e11, "FLOP/s per W", "processors of 2008 to small cards of 2025"),
    Range("memory_bandwidth", "power_limit", 1e8, 2.5e10, "B/s per W", "DDR2 of 2008 to HBM4"),
    Range("peak.fp64.vector", "memory_bandwidth", 0.1, 80, "FLOP per B", "ridge points of fp64"),
    Range("peak.fp32.vector", "memory_bandwidth", 0.8, 400, "FLOP per B", "ridge points of fp32"),
    Range("peak.tf32.tensor", "memory_bandwidth", 10, 1500, "FLOP per B", "ridge points of matrix units"),
    Range("peak.bf16.tensor", "memory_bandwidth", 10, 2500, "FLOP per B", "ridge points of matrix units"),
    Range("peak.fp16.tensor", "memory_bandwidth", 10, 2500, "FLOP per B", "ridge points of matrix units"),
    Range("peak.fp8.tensor", "memory_bandwidth", 20, 5000, "FLOP per B", "ridge points of matrix units"),
    Range("peak.int8.*", "memory_bandwidth", 10, 5000, "FLOP per B", "ridge points of byte products"),
    Range("peak.fp4.tensor", "memory_bandwidth", 40, 12000, "FLOP per B", "ridge points of matrix units"),
    Range("peak.bf16.tensor", None, 1e12, 3e16, "FLOP/s", "matrix units of a chip do 1 TFLOP/s to 30 PFLOP/s"),
    Range("peak.fp16.tensor", None, 1e12, 3e16, "FLOP/s", "matrix units of a chip do 1 TFLOP/s to 30 PFLOP/s"),
    Range("last_level_cache", "memory_bandwidth", 1e-6, 3.5e-3, "s", "a cache is refilled in 1 us to 3.5 ms"),
    Range("last_level_cache", "compute_units", 1.6e4, 1e8, "B", "16 kB to 100 MB of cache stand behind each unit"),
    Range("last_level_cache", "memory_capacity", 1e-6, 0.1, "1", "memory is many times its cache"),
    Range("link.per_direction", "memory_bandwidth", 0.005, 2, "1", "links are slower than memory, but not by orders"),
    Range("link.total", "memory_bandwidth", 0.01, 4, "1", "links are slower than memory, but not by orders"),
)  # fmt: skip
UNKNOWN_MEMORY = (
    *MAIN_MEMORY,
    Range("memory_bandwidth", None, 1e9, 1e14, "B/s", "one channel of 2008 to a module of HBM4"),
    Range("peak.fp32.vector", None, 1e9, 1e15, "FLOP/s", "one core of 2008 to a module of 2028"),
)
ON_CHIP = (  # devices that compute from SRAM alone
    Range("compute_units", None, 1, 1e7, "1", "chips and wafers have up to a million cores"),
    Range("memory_capacity", "compute_units", 4e3, 2e7, "B", "4 kB to 20 MB of SRAM belong to a core"),
    Range("power_limit", None, 1, 1e5, "W", "an accelerator chip to a wafer"),
    Range("memory_bandwidth", "power_limit", 2e10, 1e13, "B/s per W", "SRAM gives 20 GB/s to 10 TB/s per watt"),
    Range("peak.fp32.vector", "memory_bandwidth", 0.02, 20, "FLOP per B", "ridge points over SRAM"),
    Range("peak.bf16.tensor", "memory_bandwidth", 0.05, 50, "FLOP per B", "ridge points over SRAM"),
    Range("peak.fp16.tensor", "memory_bandwidth", 0.05, 50, "FLOP per B", "ridge points over SRAM"),
    Range("peak.int8.tensor", "memory_bandwidth", 0.05, 100, "FLOP per B", "ridge points over SRAM"),
    Range("peak.fp8.tensor", "memory_bandwidth", 0.05, 100, "FLOP per B", "ridge points over SRAM"),
)  # fmt: skip
PCI_EXPRESS = {1: 2003, 2: 2007, 3: 2010, 4: 2017, 5: 2021, 6: 2024, 7: 2026}  # generation → year of the first product
UNITS_PER_DEVICE = {  # word for a compute unit → the most of them in one device
    "sm": 1024, "smm": 64, "smx": 64, "cu": 1024, "xe": 1024, "core": 2048,
    "mxu": 64, "tensorcore": 64, "neuroncore": 64, "mme": 64, "tpc": 256, "pcu": 4096,
}  # fmt: skip
SYSTEM = (
    Range("year", None, 2005, 2030, "year", "machines that train neural networks"),
    Range("years after the device", None, -1, 10, "years", "a machine is built of devices that there are"),
    Range("nodes", None, 1, 1e6, "1", "no machine has a million nodes"),
    Range("devices_per_node", None, 1, 256, "1", "a node has one device to a rack of them"),
    Range("linked_devices", "devices_per_node", 1, 1e6, "1", "a node's devices are linked first"),
    Range("linked_devices", "devices", 1e-6, 1, "1", "links join no more devices than the machine has"),
    *UNCERTAINTIES,
    Range("power", "devices", 30, 2.9e4, "W", "a node's power is 30 W to 29 kW per device"),
    Range("rmax", "power", 1e8, 3e11, "FLOP/s per W", "0.1 to 300 GFLOP/s per watt, Green500 of 2008 to 2028"),
    Range("rmax", "rpeak", 0.1, 1, "1", "HPL reaches part of the peak"),
    Range("latency", None, 1e-8, 1e-3, "s", "a short message crosses a network within 1 ms"),
    Range("injection_bandwidth", None, 1.2e8, 1e13, "B/s", "one gigabit port to a rack of NICs"),
    Range("injection_bandwidth", "devices_per_node", 2e7, 1e12, "B/s", "a NIC port per node to several per device"),
    Range("injection_bandwidth", "memory bandwidth of a node", 1e-3, 1, "1", "networks are slower than memory"),
    Range("taper", None, 1, 50, "1", "the core carries a fiftieth of what nodes send, or more"),
    Range("rpeak", "devices", 5e9, 1e15, "FLOP/s", "a processor of 2008 to an accelerator of 2028"),
    Range("power", "power limits of the devices", 0.3, 10, "1", "devices take most of a machine's power"),
)  # fmt: skip
