"""TRUTH, and the conversion of public tables to it."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from estimator.core import csv_files
from estimator.core.errors import EstimatorError
from estimator.core.operators import operators, with_operators
from estimator.core.schema import MEASUREMENTS
from estimator.core.table import Column

if TYPE_CHECKING:
    import pandas as pd

TRUTH = MEASUREMENTS.extend(
    "TRUTH",
    Column("data_set", "text", "public data set and kind of kernel"),
    Column("stack", "text", "public data set: on one device its rows were timed alike, by one software stack"),
    Column("op", "text", "the data set's own name of a memory-bound op"),
    Column("family", "text", "architecture of the device: what is left out at once"),
    Column("path", "text", "units that the arithmetic runs on", choices=("vector", "tensor")),
    Column("peak", "number", "peak of those units; empty for a memory-bound op", "FLOP/s", above=0),
    Column("ideal_s", "number", "roofline time of the listed shape: max(W/P, Q/B)", "s", above=0),
)

OPERATORS = {"ln": "layer_norm", "where": "select"}  # a data set's name → ours


def with_operator(rows: pd.DataFrame) -> pd.DataFrame:
    """TRUTH with the operator of each row, by the data set's name of the op, else by op class."""
    op = rows["op"].replace(OPERATORS)
    return with_operators(rows.assign(operator=op.where(op.isin(operators().keys()))))


GROUP = ["data_set", "device"]
KEYS = [*GROUP, "family", "op_class", "precision", "path"]  # columns by which errors are reported
EVERY_DEVICE = "every device"  # in place of a device, where the errors of all rows are pooled


@dataclass(frozen=True)
class PublishedRows:
    """Rows of public tables that can be judged, and notes on those left out."""

    rows: pd.DataFrame = field(repr=False)
    notes: tuple[str, ...] = ()


def lacking(folder: Path, names: Sequence[str], *, one_suffices: bool = False) -> str:
    """Which of these tables a folder lacks, in words; empty where it has all of them, or one that suffices."""
    absent = [name for name in names if not (folder / name).is_file()]
    if one_suffices:
        return f"neither {' nor '.join(names)}" if absent == [*names] else ""
    return f"no {absent[0]}" if absent else ""


def published(path: Path, names: Mapping[str, str]) -> pd.DataFrame:
    """Read a public table (CSV or parquet): the columns of ``names`` (ours → theirs), and ``time_s`` [s].

    ``time_s`` is that of their ``time_ms``; NaN where there is none.

    Raises EstimatorError where the file cannot be read or lacks a column.
    """
    import pandas as pd

    table = read_columns(path, (*names.values(), "time_ms"))
    rows = pd.DataFrame({our_name: table[their_name] for our_name, their_name in names.items()})
    return rows.assign(time_s=pd.to_numeric(table["time_ms"], errors="coerce").astype(float) * 1e-3)


def read_columns(path: Path, names: Iterable[str]) -> pd.DataFrame:
    """Read a public table: CSV, gzip or parquet. Raises EstimatorError where it cannot be read or lacks a column."""
    readers = {".parquet": _parquet, ".gz": _compressed}
    table = readers.get(path.suffix, csv_files.read_csv)(path)
    if missing := [name for name in names if name not in table]:
        raise EstimatorError(f"{path}: the column '{missing[0]}' is missing; check that this is the public table")
    return table


def as_numbers(table: pd.DataFrame, path: Path, *names: str, counts: bool = False) -> pd.DataFrame:
    """The table with these columns as numbers, NaN where a cell is empty.

    Raises EstimatorError where a cell holds no finite number above zero, or of at least zero where they are ``counts``.
    ``path``: where the table was read.
    """
    import numpy as np
    import pandas as pd

    columns = {name: pd.to_numeric(table[name], errors="coerce") for name in names}
    for name, numbers in columns.items():
        is_number = (numbers < np.inf) & (numbers >= 0 if counts else numbers > 0)
        wrong = table[name][(table[name].fillna("") != "") & ~is_number.fillna(False)]
        if len(wrong):
            expected = f"a number {'from' if counts else 'above'} 0"
            sentence = f"{name} is '{wrong.iloc[0]}'; expected {expected}; check that this is the public table"
            raise EstimatorError(f"{path}: {sentence}")
    return table.assign(**columns)


def _compressed(path: Path) -> pd.DataFrame:
    import gzip

    try:
        return csv_files.read_csv(path, gzip.decompress(path.read_bytes()).decode("utf-8"))
    except (gzip.BadGzipFile, EOFError, zlib.error, UnicodeDecodeError) as error:
        raise EstimatorError(f"{path}: cannot be read as gzip ({error}); fetch the file again") from None


def _parquet(path: Path) -> pd.DataFrame:
    import pandas as pd

    try:
        return pd.read_parquet(path)
    except ImportError:
        raise EstimatorError(f"{path}: parquet needs pyarrow; install it: pip install 'fom-estimator[fit]'") from None
    except (ValueError, OSError) as error:
        reason = str(error).splitlines()[0].rstrip(".")
        raise EstimatorError(f"{path}: cannot be read as parquet ({reason}); fetch the file again") from None
