"""The columns of the catalogue's tables, declared once as data: tables, filters, sorting, CSV, comparison, help."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from itertools import product

from estimator.core.types import ITEMSIZE, DeviceSpec, Sourced, SystemSpec
from estimator.devices.specs import catalogue
from estimator.devices.specs.table.cells import (
    Cell,
    Get,
    Machine,
    Subject,
    aliases,
    announced,
    bytes_per_flop,
    derived,
    field,
    measured,
    part_of,
    peak,
    per_watt,
    quotient,
    ridge_point,
    spec_of,
    total_of_machine,
)
from estimator.devices.specs.table.layout import PEAK, Column, Layout
from estimator.devices.specs.values import sourced_values

PATHS = ("vector", "tensor")
ANNOUNCED = "yes: its numbers are those of an announcement, not of what was delivered"


def _text(name: str, meaning: str, get: Get | None = None, heading: str = "") -> Column:
    return Column(name, meaning, get or field(name), "", heading, "text")


def _plain(name: str, meaning: str, get: Get | None = None, heading: str = "") -> Column:
    return Column(name, meaning, get or field(name), "1", heading, "plain")


def _count(name: str, meaning: str, test: Callable[[Sourced], object]) -> Column:
    def count(subject: Subject) -> Cell:
        return sum(bool(test(value)) for _, value in sourced_values(spec_of(subject)))

    return Column(name, meaning, count, kind="plain", derived=True)


BALANCES = (
    ("ridge_point", "ridge", "FLOP/B", "FLOP per byte at which compute and memory bind alike", ridge_point),
    ("bytes_per_flop", "balance", "B/FLOP", "memory bandwidth over peak", bytes_per_flop),
    ("per_watt", "per watt", "FLOP/s/W", "peak over power limit", per_watt),
)


def _device_peaks() -> Iterator[Column]:
    for precision in ITEMSIZE:
        meaning = "dense peak of matrix products, on the tensor path where there is one"
        yield Column(precision, meaning, peak(precision), "FLOP/s", family=PEAK, precision=precision)
    for precision, path in product(ITEMSIZE, PATHS):
        name, family, meaning = f"{precision}_{path}", f"{PEAK}_{path}", f"dense peak of the {path} path"
        yield Column(name, meaning, peak(precision, path), "FLOP/s", family=family, precision=precision)


def balances(precision: str, path: str = "matrix") -> Iterator[Column]:
    """Columns of a device's peak relative to its bandwidth and power."""
    for name, heading, unit, meaning, make_getter in BALANCES:
        get, column_heading, family = make_getter(peak(precision, path)), f"{heading} {precision}", f"{name}_{PEAK}"
        yield Column(
            f"{name}_{precision}", meaning, get, unit, column_heading, "number", family, True, precision=precision
        )


def _system_peaks() -> Iterator[Column]:
    for precision, (path, suffix) in product(ITEMSIZE, {"matrix": "", **{path: f"_{path}" for path in PATHS}}.items()):
        meaning = f"all devices' dense {path} peak, nodes x devices x peak; this is not Rpeak"
        get = total_of_machine("FLOP/s", "peak", peak(precision, path))
        yield Column(
            f"{precision}{suffix}", meaning, get, "FLOP/s", "", "number", f"{PEAK}{suffix}", True, "PFLOP/s", precision
        )


_COUNTS = (
    _count("numbers", "how many numbers the file gives", bool),
    _count("unverified", "how many of them are unverified", lambda value: value.unverified),
    _count("waivers", "how many of them waive a lint", lambda value: value.waiver),
)
_DEVICE_COLUMNS = (
    _text("name", "the device; its file's name", heading="device"),
    _text("vendor", "who makes it"),
    _text("architecture", "devices of one architecture are judged together"),
    _plain("year", "of its introduction"),
    _text("announced", ANNOUNCED, announced),
    _text("part_of", "the module or board that it is one of several equal parts of", part_of),
    _text("specifications", "known; incomplete: a peak or the bandwidth is not; unknown", heading="specs"),
    *_device_peaks(),
    _text("memory_type", "such as HBM3", heading="type"),
    Column("memory_capacity", "memory of the device", field("memory_capacity"), "B", "memory"),
    Column("memory_bandwidth", "of that memory", field("memory_bandwidth"), "B/s", "bandwidth"),
    Column("last_level_cache", "the largest cache", field("last_level_cache"), "B", "cache"),
    _text("compute_unit", "what one is called: SM, CU, core", heading="unit"),
    Column("compute_units", "how many it has", field("compute_units"), "1", "units"),
    Column("base_clock", "guaranteed clock", field("base_clock"), "Hz"),
    Column("boost_clock", "highest clock", field("boost_clock"), "Hz"),
    Column("power_limit", "thermal design power, board power", field("power_limit"), "W", "power"),
    Column("launch_latency", "time to start an op", field("launch_latency"), "s"),
    _text("link_name", "links to other devices", field("link.name")),
    Column("link_per_direction", "all links one way", field("link.per_direction"), "B/s", "link"),
    Column("link_per_neighbour", "links to one neighbour, one way", field("link.per_neighbour"), "B/s"),
    Column("link_slowest_neighbour", "links to the slowest one, one way", field("link.slowest_neighbour"), "B/s"),
    Column("link_total", "all links, both ways together", field("link.total"), "B/s"),
    _plain("pcie_generation", "of the host's bus", heading="PCIe"),
    *(column for kind in zip(*map(balances, ITEMSIZE), strict=True) for column in kind),
    _text("aliases", "other names", aliases),
    _text("measurements", "the table of measured ops that the library holds of it", measured),
    *_COUNTS,
)
_SYSTEM_COLUMNS = (
    _text("name", "the system; its file's name", heading="system"),
    _text("site", "where it stands", field("spec.site")),
    _plain("year", "of its installation", field("spec.year")),
    _text("announced", ANNOUNCED, announced),
    _text("device", "what its nodes are made of", field("spec.device")),
    Column("nodes", "how many", field("spec.nodes")),
    Column("devices_per_node", "how many", field("spec.devices_per_node"), heading="per node"),
    Column("devices", "nodes x devices_per_node",
           derived("1", "nodes x devices_per_node", lambda a, b: a * b, field("spec.nodes"),
                   field("spec.devices_per_node")), derived=True),
    _text("host", "processors of a node", field("spec.host")),
    _text("interconnect", "between the nodes", field("spec.interconnect")),
    _text("topology", "of the interconnect", field("spec.topology")),
    Column("injection_bandwidth", "per node, one way", field("spec.injection_bandwidth"), "B/s", "injection"),
    Column("power", "of the whole system", field("spec.power"), "W", in_unit="MW"),
    Column("rmax", "measured by HPL (TOP500)", field("spec.rmax"), "FLOP/s", "Rmax", in_unit="PFLOP/s"),
    Column("rpeak", "as the TOP500 prints it", field("spec.rpeak"), "FLOP/s", "Rpeak", in_unit="PFLOP/s"),
    Column("hpl_efficiency", "Rmax / Rpeak", quotient("1", "rmax / rpeak", field("spec.rmax"), field("spec.rpeak")),
           heading="Rmax/Rpeak", derived=True),
    Column("rmax_per_watt", "Rmax / power",
           quotient("FLOP/s/W", "rmax / power", field("spec.rmax"), field("spec.power")), "FLOP/s/W", "Rmax/W",
           derived=True),
    *_system_peaks(),
    Column("memory_capacity", "memory of all devices",
           total_of_machine("B", "memory_capacity", field("memory_capacity")),
           "B", "memory", derived=True),
    Column("memory_bandwidth", "of all devices", total_of_machine("B/s", "memory_bandwidth", field("memory_bandwidth")),
           "B/s", "bandwidth", derived=True, in_unit="TB/s"),
    _text("aliases", "other names", aliases),
    *_COUNTS,
)  # fmt: skip
DEVICES = Layout(
    "devices",
    "peaks are dense, of matrix products; links one way",
    catalogue.load_device,
    catalogue.all_devices,
    partial(catalogue.check, DeviceSpec),
    {column.name: column for column in _DEVICE_COLUMNS},
    ("name", "year", "fp32", "bf16", "memory_bandwidth", "memory_capacity", "fp64", "power_limit", "fp16", "fp8",
     "link_per_direction", "ridge_point_bf16", "tf32", "int8", "memory_type", "last_level_cache", "unverified",
     "fp4", "vendor"),
)  # fmt: skip
SYSTEMS = Layout(
    "systems",
    "peaks by precision are nodes x devices x dense peak, which is not Rpeak",
    lambda name: Machine(catalogue.load_system(name)),
    lambda: [Machine(spec) for spec in catalogue.all_systems()],
    partial(catalogue.check, SystemSpec),
    {column.name: column for column in _SYSTEM_COLUMNS},
    ("name", "year", "device", "nodes", "devices_per_node", "rmax", "injection_bandwidth", "power", "rpeak",
     "hpl_efficiency", "rmax_per_watt", "bf16", "memory_capacity", "fp64", "unverified"),
)  # fmt: skip
