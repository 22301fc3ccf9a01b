"""What a column is, and what a table of the catalogue is made of."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from estimator.core import library
from estimator.core.units import in_operations
from estimator.devices.specs.table.cells import Get

PEAK = "PRECISION"  # stands in the name of a family for each precision
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
    precision: str = ""  # whose arithmetic it counts

    @property
    def _in_flop(self) -> str:
        return self.in_unit or USUAL.get(self.unit, self.unit)

    @property
    def shown(self) -> str:
        """The unit of its cells; empty where each says its own, or where there is none."""
        return in_operations(self._in_flop, self.precision) if self._in_flop in SCALE else ""

    @property
    def scale(self) -> float:
        """The SI size of the unit of its cells."""
        return SCALE.get(self._in_flop, 1.0)

    @property
    def si(self) -> str:
        """The SI unit of its numbers, OP for FLOP where they are integers'."""
        return in_operations(self.unit, self.precision)


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
        found: dict[str, Column] = {}
        for column in self.columns.values():
            found.setdefault(column.family or column.name, column)
        return found

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
        """The columns of a comparison: a peak stands there by its path."""
        return [c for c in self.columns.values() if c.name not in ("name", "aliases") and c.family != PEAK]
