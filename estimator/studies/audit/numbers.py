"""Numbers of a table with their derivation, as its checks share them."""

from __future__ import annotations

import numpy as np

from estimator.core import units
from estimator.core.types import Number, pair_id
from estimator.rollup import chain
from estimator.studies.audit.printed import Printed
from estimator.studies.audit.table import Table
from estimator.studies.audit.types import Cell


def given_number(at: str, label: str, printed: Printed, source: str, unit: str) -> Number:
    """What a cell of the table prints, as an input of what follows from it."""
    return chain.given(f"{at}/printed", label, printed.value, unit, "device", source)


def given_time(name: str, table: Table, cell: Cell) -> Number:
    """The printed time of a cell [s], as an input of what follows from it."""
    row, column = cell
    printed = table.rows[row].times[column]
    return given_number(pair_id((name, *cell)), f"{column}'s printed time", printed, table.source, "s")


def quotient(id: str, label: str, over: Number, under: Number) -> Number:
    """One number over another."""
    samples = np.asarray(over.samples / under.samples)
    return Number(id, label, samples, "1", "device", f"{over.label} / {under.label}", (over.id, under.id))


def format_seconds(value: float) -> str:
    """A time as the table writes them: seconds, and below one the smaller units."""
    return units.show(value, "s", 3) if value < 1 else f"{units.significant(value, 3)} s"
