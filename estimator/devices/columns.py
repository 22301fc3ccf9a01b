"""The columns of the catalogue's tables, declared once as data: tables, filters, sorting, CSV, comparison, help."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product
from typing import Any, Literal

from estimator.core.types import ITEMSIZE, DeviceSpec, Sourced, SystemSpec
from estimator.devices import catalogue
from estimator.devices.cells import (
    Cell,
    Get,
    Machine,
    Subject,
    aliases,
    bytes_per_flop,
    derived,
    field,
    in_all,
    measured,
    part_of,
    peak,
    per_watt,
    quotient,
    ridge_point,
    spec_of,
)

PATHS = ("vector", "tensor")
SCALE = {  # the units of the tables; a size is shown in the unit that it was written in
    "TFLOP/s": 1e12, "PFLOP/s": 1e15, "GB/s": 1e9, "TB/s": 1e12, "MHz": 1e6, "W": 1.0, "MW": 1e6, "µs": 1e-6,
    "FLOP/B": 1.0, "B/FLOP": 1.0, "GFLOP/s/W": 1e9,
}  # fmt: skip
USUAL = {"FLOP/s": "TFLOP/s", "B/s": "GB/s", "Hz": "MHz", "s": "µs", "FLOP/s/W": "GFLOP/s/W"}  # of an SI unit


@dataclass(frozen=True)
class Column:
    """One column: what it means, how a row gives it, and for numbers their SI unit."""

    name: str
    meaning: str
    get: Get
    unit: str = "1"
    heading: str = ""
    kind: Literal["text", "plain", "number"] = "number"  # plain: a number that bears no source of its own
    family: str = ""  # the names of all columns of its kind, where there is one for each precision
    derived: bool = False
    in_unit: str = ""  # of its cells, where that is not the usual one

    @property
    def shown(self) -> str:
        """The unit of its cells; empty where each says its own, or where there is none."""
        unit = self.in_unit or USUAL.get(self.unit, self.unit)
        return unit if unit in SCALE else ""

    @property
    def scale(self) -> float:
        """The SI size of the unit of its cells."""
        return SCALE.get(self.shown, 1.0)


@dataclass(frozen=True)
class Layout:
    """One catalogue as rows and columns: how rows are read, and every column by name.

    ``default`` names the columns of a table in order of importance: a narrow terminal has room for the first ones only.
    """

    what: str
    about: str  # what the reader of a table must know of it
    load: Callable[[str], Any]  # a row by name
    load_all: Callable[[], Sequence[Any]]
    check: Callable[[str | None], tuple[int, Sequence[str]]]  # of one named file, or of all: how many, their faults
    columns: dict[str, Column]
    default: tuple[str, ...]

    def families(self) -> dict[str, Column]:
        """The columns by name, those that there is one of for each precision once, as ``PRECISION``."""
        return {column.family or column.name: column for column in self.columns.values()}

    @property
    def compared(self) -> list[Column]:
        """The columns of a comparison: a peak stands there by its path."""
        return [c for c in self.columns.values() if c.name not in ("name", "aliases") and c.family != PEAK]


def _text(name: str, meaning: str, get: Get | None = None, heading: str = "") -> Column:
    return Column(name, meaning, get or field(name), "", heading, "text")


def _plain(name: str, meaning: str, get: Get | None = None, heading: str = "") -> Column:
    return Column(name, meaning, get or field(name), "1", heading, "plain")


def _count(name: str, meaning: str, test: Callable[[Sourced], object]) -> Column:
    def count(subject: Subject) -> Cell:
        return sum(bool(test(value)) for _, value in catalogue.sourced_values(spec_of(subject)))

    return Column(name, meaning, count, kind="plain", derived=True)


PEAK = "PRECISION"
BALANCES = (
    ("ridge_point", "ridge", "FLOP/B", "FLOP per byte at which compute and memory bind alike", ridge_point),
    ("bytes_per_flop", "balance", "B/FLOP", "memory bandwidth over peak", bytes_per_flop),
    ("per_watt", "per watt", "FLOP/s/W", "peak over power limit", per_watt),
)


def _device_peaks() -> Iterator[Column]:
    for precision in ITEMSIZE:
        meaning = "dense peak of matrix products, on the tensor path where there is one"
        yield Column(precision, meaning, peak(precision), "FLOP/s", family=PEAK)
    for precision, path in product(ITEMSIZE, PATHS):
        family, meaning = f"{PEAK}_{path}", f"dense peak of the {path} path"
        yield Column(f"{precision}_{path}", meaning, peak(precision, path), "FLOP/s", family=family)


def balances(precision: str, path: str = "matrix") -> Iterator[Column]:
    """What a device's peak in a precision and on a path gives beside its bandwidth and its power."""
    for name, heading, unit, meaning, of in BALANCES:
        get, title, family = of(peak(precision, path)), f"{heading} {precision}", f"{name}_{PEAK}"
        yield Column(f"{name}_{precision}", meaning, get, unit, title, family=family, derived=True)


def _system_peaks() -> Iterator[Column]:
    for precision, (path, end) in product(ITEMSIZE, {"matrix": "", **{path: f"_{path}" for path in PATHS}}.items()):
        meaning = f"all devices' dense {path} peak, nodes x devices x peak; this is not Rpeak"
        get, family = in_all("FLOP/s", "peak", peak(precision, path)), f"{PEAK}{end}"
        yield Column(f"{precision}{end}", meaning, get, "FLOP/s", "", family=family, derived=True, in_unit="PFLOP/s")


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
    Column("memory_capacity", "memory of all devices", in_all("B", "memory_capacity", field("memory_capacity")), "B",
           "memory", derived=True),
    Column("memory_bandwidth", "of all devices", in_all("B/s", "memory_bandwidth", field("memory_bandwidth")), "B/s",
           "bandwidth", derived=True, in_unit="TB/s"),
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
