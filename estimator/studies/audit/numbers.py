"""Numbers of a table with their derivation, shared by its checks."""

from __future__ import annotations

import numpy as np

from estimator.core import units
from estimator.core.types import Number, pair_id
from estimator.rollup import chain
from estimator.studies.audit.printed import Printed
from estimator.studies.audit.table import Table
from estimator.studies.audit.types import Cell


def given_number(id_prefix: str, label: str, printed: Printed, source: str, unit: str) -> Number:
    """A printed number as an input of a derivation."""
    return chain.given(f"{id_prefix}/printed", label, printed.value, unit, "device", source)


def given_time(name: str, table: Table, cell: Cell) -> Number:
    """The printed time of a cell [s] as an input of a derivation."""
    row, column = cell
    printed = table.rows[row].times[column]
    return given_number(pair_id((name, *cell)), f"{column}'s printed time", printed, table.source, "s")


def quotient(id: str, label: str, numerator: Number, denominator: Number) -> Number:
    """The quotient of two numbers."""
    samples = np.asarray(numerator.samples / denominator.samples)
    return Number(
        id, label, samples, "1", "device", f"{numerator.label} / {denominator.label}", (numerator.id, denominator.id)
    )


def format_seconds(value: float) -> str:
    """Format a time in seconds; below one in smaller units."""
    return units.show(value, "s", 3) if value < 1 else f"{units.significant(value, 3)} s"
