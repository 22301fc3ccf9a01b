"""Schema of a published table to audit: times, ratios and means as printed (part of ``study.yaml``)."""

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
    """Limits for marking a printed time by the predicted time of the device's kernels."""

    reproduced: Share = 0.25  #: largest relative difference of prediction and printed time
    data_bound: float = Field(default=3.0, gt=1)  #: smallest ratio of printed to predicted time; it needs a reason
    busy: Share = 0.5  #: a device with a smaller busy share waits for its data


class Column(File):
    """A machine of the table: its candidate devices, the likeliest first, and its peak over the baseline's."""

    devices: Texts = ()  #: candidates for the machine, the likeliest first
    layout: Layout = "none"  #: of images in its library
    peak: PrintedNumber | None = None  #: printed, over the baseline's


class Statement(File):
    """The study's statement on some times of a row: a reason, and a mark that the numbers must confirm."""

    of: Texts  #: columns that it is about
    mark: Mark | None = None  #: that the numbers must confirm
    reason: str  #: why


class Row(File):
    """One row: what was run, and by column the epoch's time and the ratio of the baseline's time to it."""

    profile: str  #: of the same model
    samples: Whole | None = None  #: in one printed epoch
    validation_samples: Whole | None = None  #: forward passes over these end each printed epoch
    batch_size: PrintedNumber | None = None  #: as printed
    parameters: PrintedNumber | None = None  #: as printed
    parameters_of: tuple[Whole, ...] = ()  #: widths of the dense layers, where the printed count is of these alone
    untrained: Whole | None = None  #: moving means and the like, which only the table counts
    optimizer: Optimizer | None = None  #: of the printed runs, where it differs from the profile's
    times: dict[str, PrintedTime]  #: of an epoch, by column, as printed
    ratios: dict[str, PrintedNumber] = Field(default={})  #: of the baseline's time to the column's, as printed
    busy: dict[str, Share] = Field(default={})  #: printed busy share of the device, by column
    stated: tuple[Statement, ...] = ()  #: what the study says of some times


class LikeRows(File):
    """Rows whose steps do the same work, so that their printed times can be compared."""

    rows: tuple[str, ...] = Field(min_length=2)  #: names of two or more
    reason: str  #: why their steps do the same work


class Table(File):
    """One published table."""

    title: str  #: heading in the report
    source: str  #: document and place
    baseline: str  #: the column that ratios divide
    precision: Precision = "fp32"  #: of the rows and of the peaks
    rules: Rules = Rules()  #: limits for the marks
    columns: dict[str, Column] = Field(min_length=2)  #: the machines
    rows: dict[str, Row] = Field(min_length=1)  #: the benchmarks
    #: printed means; those of one entry follow one rule, unknown which
    means: tuple[dict[str, PrintedNumber], ...] = ()
    alike: tuple[LikeRows, ...] = ()  #: groups of rows whose printed times can be compared


def table_faults(table: Table, location: yaml_files.Location) -> Faults:
    """Faults: names in a table's keys that the table lacks."""
    if table.baseline not in table.columns:
        yield (*location, "baseline"), _unknown(table.baseline, "column", table.columns)
    for name, row in table.rows.items():
        yield from _row_faults(table, row, (*location, "rows", name))
    for i, mean in enumerate(table.means):
        if not mean:
            yield (*location, "means", i), "names no column; delete it, or give the means that are printed together"
        ratios = {column: row for row in table.rows.values() for column in row.ratios}
        for column in mean.keys() - ratios.keys():
            yield (*location, "means", i), _unknown(column, "column with ratios", ratios)
    for i, group in enumerate(table.alike):
        for name in set(group.rows) - table.rows.keys():
            yield (*location, "alike", i), _unknown(name, "row", table.rows)


def _row_faults(table: Table, row: Row, location: yaml_files.Location) -> Faults:
    columns_by_key: dict[str, Mapping[str, object]] = {"times": row.times, "ratios": row.ratios, "busy": row.busy}
    for key, by_column in columns_by_key.items():
        for column in by_column.keys() - table.columns.keys():
            yield (*location, key), _unknown(column, "column", table.columns)
    for column in row.ratios:
        for missing in {column, table.baseline} - row.times.keys():
            sentence = f"the ratio of {column} has no time of {missing} to be checked by; add it"
            yield (*location, "ratios", column), sentence
    for i, stated in enumerate(row.stated):
        for column in set(stated.of) - row.times.keys():
            yield (*location, "stated", i), _unknown(column, "column with a time", row.times)


def _unknown(name: str, kind: str, known: Mapping[str, object]) -> str:
    return f"'{name}' is no {kind} of the table; expected one of {', '.join(known)}.{suggestion(name, known)}"
