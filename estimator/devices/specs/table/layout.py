"""Columns, and the layout of a table of the catalogue."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from estimator.core import library
from estimator.core.units import in_operations
from estimator.devices.specs.table.cells import Get

PEAK = "PRECISION"  # placeholder for the precision in the name of a family
UNIT_SIZE = {  # the units of the tables; a size is shown in the unit that it was written in
    "TFLOP/s": 1e12, "PFLOP/s": 1e15, "GB/s": 1e9, "TB/s": 1e12, "MHz": 1e6, "W": 1.0, "MW": 1e6, "µs": 1e-6,
    "FLOP/B": 1.0, "B/FLOP": 1.0, "GFLOP/s/W": 1e9,
}  # fmt: skip
DEFAULT_UNIT = {"FLOP/s": "TFLOP/s", "B/s": "GB/s", "Hz": "MHz", "s": "µs", "FLOP/s/W": "GFLOP/s/W"}  # of an SI unit


@dataclass(frozen=True)
class Column:
    """One column: its meaning, its getter, and for numbers the SI unit."""

    name: str
    meaning: str
    get: Get
    unit: str = "1"
    heading: str = ""
    kind: Literal["text", "plain", "number"] = "number"  # plain: a number without a source
    family: str = ""  # common name of the columns that exist once per precision
    derived: bool = False
    in_unit: str = ""  # of its cells, where it differs from the default
    precision: str = ""  # of the arithmetic that it counts

    @property
    def _cell_unit(self) -> str:
        return self.in_unit or DEFAULT_UNIT.get(self.unit, self.unit)

    @property
    def shown(self) -> str:
        """The unit of its cells; empty where there is none, or each cell has its own."""
        return in_operations(self._cell_unit, self.precision) if self._cell_unit in UNIT_SIZE else ""

    @property
    def scale(self) -> float:
        """The SI size of the unit of its cells."""
        return UNIT_SIZE.get(self._cell_unit, 1.0)

    @property
    def si(self) -> str:
        """The SI unit of its numbers, with OP in place of FLOP for integers."""
        return in_operations(self.unit, self.precision)


@dataclass(frozen=True)
class Layout:
    """One catalogue as rows and columns: how rows are read, and every column by name.

    ``default`` names the columns of a table in order of importance: a narrow terminal has room for the first ones only.
    """

    what: str
    about: str  # a remark for readers of the table
    load: Callable[[str], Any]  # a row by name
    load_all: Callable[[], Sequence[Any]]
    check: Callable[[str | None], tuple[int, Sequence[str]]]  # of one named file, or all: number of files, faults
    columns: dict[str, Column]
    default: tuple[str, ...]

    def families(self) -> dict[str, Column]:
        """The columns by name; those that exist once per precision appear once, as ``PRECISION``."""
        by_family: dict[str, Column] = {}
        for column in self.columns.values():
            by_family.setdefault(column.family or column.name, column)
        return by_family

    def column(self, name: str) -> Column:
        """The column of a name. Raises EstimatorError with near names."""
        if name not in self.columns:
            raise library.unknown("column", name, self.columns, f"{self.what} --columns help")
        return self.columns[name]

    def choose(self, names: Sequence[str]) -> list[Column]:
        """The columns of these names, the rows' own name in front. Raises EstimatorError with near names."""
        return [self.column(name) for name in dict.fromkeys(("name", *(name.strip() for name in names)))]

    @property
    def compared(self) -> list[Column]:
        """The columns of a comparison; peaks are those of each path."""
        return [
            column
            for column in self.columns.values()
            if column.name not in ("name", "aliases") and column.family != PEAK
        ]
