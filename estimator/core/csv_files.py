"""CSV files of any size, read in bounded memory, so that every fault names its line."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator
from contextlib import nullcontext
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

import numpy as np

from estimator.core.errors import EstimatorError
from estimator.core.files import open_text

if TYPE_CHECKING:
    import pandas as pd

ROWS_AT_ONCE = 20_000  # held in memory
OTHER_SUFFIXES = (".yaml", ".yml", ".json", ".html", ".xlsx", ".pdf", ".pb", ".gz")  # of files that are no CSV
LONGEST_ROW = 1 << 20  # [characters]


def read_csv(path: Path, text: str | None = None, *, may_be_empty: bool = True) -> pd.DataFrame:
    """The cells of a CSV (or its ``text``) as text, missing ones NA.

    Raises EstimatorError at a row of wrong length, and where there must be rows and are none.
    """
    import pandas as pd

    table = pd.concat(list(csv_frames(path, text)))
    if table.empty and not may_be_empty:
        raise EstimatorError(f"{path}: the file has no rows; expected at least one below the column names")
    return table


def csv_frames(path: Path, text: str | None = None) -> Iterator[pd.DataFrame]:
    """Yield the cells in frames of ROWS_AT_ONCE rows, at least one frame, so that memory stays bounded.

    The index counts the rows of the file from 0. Raises EstimatorError at a row of wrong length, or longer than
    LONGEST_ROW.
    """
    if text is None and path.suffix.lower() in OTHER_SUFFIXES:
        raise EstimatorError(f"{path}: this is a {path.suffix} file by its name; expected a table as CSV, so give that")
    with open_text(path) if text is None else nullcontext(io.StringIO(text)) as file:
        records = _records(file, path)
        header = _header(next(records, (1, []))[1], path)
        body = _check_length(((number, row) for number, row in records if any(row)), len(header), path)
        first = 0
        while rows := list(islice(body, ROWS_AT_ONCE)):
            yield _cells(rows, header, first)
            first += len(rows)
        if not first:
            yield _cells([], header, 0)


def _records(file: TextIO, path: Path) -> Iterator[tuple[int, list[str]]]:
    """Yield the records of a CSV with the line on which each ends; none may be longer than LONGEST_ROW."""
    read = 0

    def lines() -> Iterator[str]:
        nonlocal read
        while line := file.readline(LONGEST_ROW + 1):
            read += len(line)
            if read > LONGEST_ROW:
                raise EstimatorError(
                    f"{path}:{reader.line_num + 1}: found a row of more than {LONGEST_ROW} characters, expected a "
                    "table's row; check what this file is"
                )
            yield line

    reader = csv.reader(lines())
    try:
        for row in reader:
            yield reader.line_num, row
            read = 0
    except csv.Error as error:
        raise EstimatorError(f"{path}: this is no CSV ({error}); check what this file is") from None


def _header(row: list[str], path: Path) -> list[str]:
    """The column names. Raises EstimatorError where they are missing, repeated, or not separated by commas."""
    header = [name.strip() for name in row]
    if not any(header):
        raise EstimatorError(f"{path}: the file is empty; expected a line of column names")
    separator = next((mark for mark in ";\t|" if len(header) == 1 and mark in header[0]), None)
    if separator:
        raise EstimatorError(
            f"{path}:1: the columns are separated by {separator!r}; expected commas, so save it as CSV again"
        )
    repeated = {name for name in header if header.count(name) > 1}
    if repeated:
        raise EstimatorError(f"{path}:1: the column '{min(repeated)}' stands twice; delete one")
    return header


def _check_length(records: Iterable[tuple[int, list[str]]], length: int, path: Path) -> Iterator[list[str]]:
    for number, row in records:
        if len(row) != length:
            raise EstimatorError(f"{path}:{number}: found {len(row)} cells, expected {length}; mend the row")
        yield row


def _cells(rows: list[list[str]], header: list[str], first: int) -> pd.DataFrame:
    import pandas as pd

    columns = zip(*rows, strict=True) if rows else ([] for _ in header)
    cells = {}
    for name, column in zip(header, columns, strict=True):
        texts = np.empty(len(rows), dtype=object)
        texts[:] = [cell.strip() or pd.NA for cell in column]
        cells[name] = pd.array(texts, dtype="string[python]")  # from a list this takes three times as long
    return pd.DataFrame(cells, index=pd.RangeIndex(first, first + len(rows)))
