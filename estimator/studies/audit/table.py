"""A table that somebody published, as printed: times, ratios and means, to be audited (part of ``study.yaml``)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

from pydantic import BeforeValidator, Field

from estimator.core import units, yaml_files
from estimator.core.errors import suggestion
from estimator.core.types import File, Layout, Optimizer, Precision, Texts, Whole
from estimator.core.yaml_files import Faults
from estimator.studies.audit.printed import PrintedNumber, PrintedTime
from estimator.studies.audit.types import Mark

Share = Annotated[float, BeforeValidator(lambda text: units.parse(text, "1")), Field(gt=0, le=1)]


class Rules(File):
    """The limits by which a printed time is marked, beside the time that is predicted for the device's own kernels."""

    reproduced: Share = 0.25  # the prediction is at most this far from what is printed
    data_bound: float = Field(default=3.0, gt=1)  # printed over predicted from here on, with a reason
    busy: Share = 0.5  # a device that is busy for less of the time waits for its data


class Column(File):
    """A machine of the table: the devices it may be, the likeliest first, and its peak over the baseline's."""

    devices: Texts = ()
    layout: Layout = "none"
    peak: PrintedNumber | None = None


class Statement(File):
    """What the study states of some times of a row: a reason, and a mark, which the numbers must bear out."""

    of: Texts
    mark: Mark | None = None
    reason: str


class Row(File):
    """One row: what was run, and the time of an epoch and the ratio of the baseline's time to it by column."""

    profile: str
    samples: Whole | None = None
    validation_samples: Whole | None = None  # whose forward passes at its end the printed time of an epoch holds
    batch_size: PrintedNumber | None = None
    parameters: PrintedNumber | None = None
    parameters_of: tuple[Whole, ...] = ()  # widths of the dense layers that the printed count is of, if not of all
    untrained: Whole | None = None  # moving means and the like, which the profile does not count and the table does
    optimizer: Optimizer | None = None  # whose update the printed runs made, where the profile's framework has another
    times: dict[str, PrintedTime]
    ratios: dict[str, PrintedNumber] = Field(default={})
    busy: dict[str, Share] = Field(default={})
    stated: tuple[Statement, ...] = ()


class LikeRows(File):
    """Rows whose steps do the same work, so that their printed times can be held against each other."""

    rows: tuple[str, ...] = Field(min_length=2)
    reason: str


class Table(File):
    """One published table."""

    title: str
    source: str
    baseline: str
    precision: Precision = "fp32"  # that the rows ran in, and peaks must be of
    rules: Rules = Rules()
    columns: dict[str, Column] = Field(min_length=2)
    rows: dict[str, Row] = Field(min_length=1)
    means: tuple[dict[str, PrintedNumber], ...] = ()  # each printed by one rule, which its source does not give
    alike: tuple[LikeRows, ...] = ()


def table_faults(table: Table, at: yaml_files.Location) -> Faults:
    """What a table's keys name and it does not hold."""
    if table.baseline not in table.columns:
        yield (*at, "baseline"), _unknown(table.baseline, "column", table.columns)
    for name, row in table.rows.items():
        yield from _row_faults(table, row, (*at, "rows", name))
    for i, mean in enumerate(table.means):
        if not mean:
            yield (*at, "means", i), "names no column; delete it, or give the means that are printed together"
        ratios = {column: row for row in table.rows.values() for column in row.ratios}
        for column in mean.keys() - ratios.keys():
            yield (*at, "means", i), _unknown(column, "column with ratios", ratios)
    for i, like in enumerate(table.alike):
        for name in set(like.rows) - table.rows.keys():
            yield (*at, "alike", i), _unknown(name, "row", table.rows)


def _row_faults(table: Table, row: Row, at: yaml_files.Location) -> Faults:
    given: dict[str, Mapping[str, object]] = {"times": row.times, "ratios": row.ratios, "busy": row.busy}
    for key, by_column in given.items():
        for column in by_column.keys() - table.columns.keys():
            yield (*at, key), _unknown(column, "column", table.columns)
    for column in row.ratios:
        for timeless in {column, table.baseline} - row.times.keys():
            yield (*at, "ratios", column), f"the ratio of {column} has no time of {timeless} to be checked by; add it"
    for i, stated in enumerate(row.stated):
        for column in set(stated.of) - row.times.keys():
            yield (*at, "stated", i), _unknown(column, "column with a time", row.times)


def _unknown(name: str, what: str, known: Mapping[str, object]) -> str:
    return f"'{name}' is no {what} of the table; expected one of {', '.join(known)}.{suggestion(name, known)}"
