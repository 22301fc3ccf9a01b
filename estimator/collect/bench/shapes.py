"""The rows of shapes.csv."""

from __future__ import annotations

import csv
import math
from collections.abc import Sequence
from pathlib import Path

from estimator.collect.bench.types import FaultError, Row

MAX_SIZE = 2**48  # more than any machine has


class Shape:
    """One row of the table of shapes, and its position."""

    def __init__(self, cells: Row, where: str) -> None:
        self.cells, self.where = cells, where

    def text(self, name: str, default: str = "") -> str:
        """A cell, or the default where it is empty."""
        return (self.cells.get(name) or "").strip() or default

    def choice(self, name: str, known: Sequence[str], default: str = "") -> str:
        """A cell that is one of those known, or the default where it is empty. Raises FaultError."""
        cell = self.text(name, default)
        if cell not in (default, *known):
            raise FaultError(f"{self.where}: {name} is {cell}; write one of {', '.join(known)}")
        return cell

    def number(self, name: str, default: int | None = None, least: int = 1) -> int:
        """A cell as a whole number. Raises FaultError."""
        cell = self.text(name, "" if default is None else str(default))
        try:
            value = float(cell)
        except ValueError:
            value = math.nan
        if not (least <= value < MAX_SIZE and value % 1 == 0):
            hint = f"write a whole number of at least {least}, and below {MAX_SIZE}"
            raise FaultError(f"{self.where}: {name} is {cell or 'missing'}; {hint}")
        return int(value)


def read_shapes(path: Path) -> list[Shape]:
    """The rows of a table of shapes. Raises FaultError."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            rows: list[Row] = list(csv.DictReader(file, strict=True))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise FaultError(f"{path}: cannot be read ({error}); expected the table of shapes") from None
    if not rows:
        raise FaultError(f"{path}: there are no shapes; expected a line of column names and a row for each shape")
    too_long = next((number for number, row in enumerate(rows, 1) if None in row), None)
    if too_long:
        raise FaultError(f"{path}: row {too_long} has more cells than there are columns; mend it")
    return [Shape(row, f"{path}: row {number}") for number, row in enumerate(rows, 1)]
