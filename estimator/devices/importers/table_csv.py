"""Reader of CSV tables: our own schema, and other tables by the names of their columns."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pandas as pd

from estimator.core import csv_files
from estimator.devices.importers import names
from estimator.devices.importers.columns import AddNote, read_table
from estimator.devices.importers.declared import Declared, first_line

FORMAT = "CSV with columns such as op_class, precision, m, n, k, time_s"


def recognises(head: bytes) -> bool:
    """Whether the first line names columns of a table of measurements."""
    headers = [header.strip(' "') for header in first_line(head).split(",")]
    has_op_class = "op_class" in {names.column_of(header) for header in headers}
    return len(headers) > 1 and (has_op_class or names.op_class_of(headers) is not None)


def read(path: Path, declared: Declared, add_note: AddNote) -> Iterator[pd.DataFrame]:
    """The table in frames of bounded size."""
    for cells in csv_files.csv_frames(path):
        yield read_table(cells, str(path), add_note)
