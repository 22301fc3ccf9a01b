"""Reader of DeepBench's result sheets (xlsx): tables under header rows, wherever they stand on a sheet.

A header row is one whose words tell an op class; its rows follow until one has no dimensions. What stands beside words
such as 'CUDA Version' is the library; the precision stands beside that word, or in the sheet's name.
"""

from __future__ import annotations

import re
import zipfile
import zlib
from collections.abc import Iterator
from functools import reduce
from pathlib import Path
from typing import Any

import pandas as pd

from estimator.core.errors import EstimatorError
from estimator.devices.importers import names
from estimator.devices.importers.columns import Tell, read_table
from estimator.devices.importers.declared import Declared

FORMAT = "DeepBench result sheets (xlsx)"
MAGIC = b"PK\x03\x04"
MOST_UNZIPPED = 64 << 20  # [B]
MOST_CELLS = 5_000_000  # of one sheet, which are held in memory
PRECISIONS = (  # what a sheet says → precision, and what it sums in; the first that fits
    (r"16 bit inputs.*32 bit (addition|accumulation)|fp16.*mixed|mixed.*fp16|ps(eu|ue|u)do.*fp16", ("fp16", "fp32")),
    (r"int ?8", ("int8", None)),
    (r"bf16|bfloat16", ("bf16", None)),
    (r"fp16|float16|half", ("fp16", None)),
    (r"fp32|float32|float|single", ("fp32", None)),
    (r"fp64|float64|double", ("fp64", None)),
)
ONLY = re.compile(r"\s*gemm\s*(,|and|&)\s*conv\w*\s*:", re.IGNORECASE)  # 'GEMM, Conv: Int8 …' says nothing of others

Cells = list[str]


def recognises(head: bytes) -> bool:
    """Whether this is a workbook's container."""
    return head.startswith(MAGIC)


def read(path: Path, said: Declared, tell: Tell) -> Iterator[pd.DataFrame]:
    """The rows of every table on every sheet. Raises EstimatorError where there is none, or one that is unclear."""
    found = False
    for sheet, rows in _sheets(path):
        where = f"{path}: sheet '{sheet}'"
        facts = _facts(rows)
        for first, headers, body in _tables(rows):
            found = True
            index = pd.RangeIndex(first, first + len(body))
            cells = pd.DataFrame(body, columns=headers, index=index, dtype="string[python]")
            table = read_table(_filled(cells), where, tell)
            described = _described(table, facts, sheet, path)
            described.attrs["where"] = where
            yield described
    if not found:
        raise EstimatorError(f"{path}: found no table on its sheets; expected header rows such as M, N, K, Time (msec)")


def _sheets(path: Path) -> Iterator[tuple[str, list[Cells]]]:
    """Every sheet's name and its rows as text. Raises EstimatorError where the workbook is damaged or too large."""
    import python_calamine

    try:
        _refuse_large(path)
        with python_calamine.load_workbook(str(path)) as book:
            for name in book.sheet_names:
                rows = book.get_sheet_by_name(name).to_python(skip_empty_area=False)
                yield name, [[_text(cell) for cell in row] for row in rows]
    except (python_calamine.CalamineError, zipfile.BadZipFile, zlib.error, OSError, ValueError, RuntimeError) as error:
        raise EstimatorError(f"{path}: this workbook cannot be read ({error}); save it again") from None


def _refuse_large(path: Path) -> None:
    """Raise EstimatorError where the workbook unzips to too much, or a sheet spans cells that would fill memory."""
    with zipfile.ZipFile(path) as container:
        if sum(item.file_size for item in container.infolist()) > MOST_UNZIPPED:
            raise EstimatorError(f"{path}: unzips to more than {MOST_UNZIPPED >> 20} MiB; save the result sheets alone")
        for name in container.namelist():
            if name.startswith("xl/worksheets/") and _span(container.read(name)) > MOST_CELLS:
                raise EstimatorError(f"{path}: {name} spans more than {MOST_CELLS} cells; save the result sheets alone")


def _span(sheet: bytes) -> int:
    """Rows times columns from the first cell to the farthest that a sheet's XML names."""
    cells = [(letters, int(digits)) for letters, digits in re.findall(rb"""\br=["']([A-Z]*)(\d+)""", sheet)]
    columns = {reduce(lambda sum_, letter: 26 * sum_ + letter - 64, letters, 0) for letters, _ in cells}
    return max(columns, default=0) * max((row for _, row in cells), default=0)


def _text(cell: Any) -> str:
    return f"{cell:.15g}" if isinstance(cell, float) else str(cell).strip()


def _tables(rows: list[Cells]) -> Iterator[tuple[int, Cells, list[Cells]]]:
    """The number of the first row, the headers and the rows of each table; columns without a header are left out."""
    position = 0
    while position < len(rows):
        headers = rows[position]
        kind = names.kind_of(headers)
        position += 1
        if kind is None:
            continue
        used = [i for i, header in enumerate(headers) if header]
        needed = [i for i in used if names.column_of(headers[i], names.KINDS[kind][0]) in names.KINDS[kind][1]]
        first = position
        while position < len(rows) and _is_row(rows[position], needed):
            position += 1
        yield first, [headers[i] for i in used], [[row[i] for i in used] for row in rows[first:position]]


def _is_row(row: Cells, needed: list[int]) -> bool:
    """Whether a row goes on with a table: more than a title, with a number among what tells the op class."""
    return sum(map(bool, row)) > 1 and any(re.fullmatch(r"[\d.]+", row[i]) for i in needed)


def _filled(cells: pd.DataFrame) -> pd.DataFrame:
    """Missing cells as NA, but for times: a blank time is a problem that was not run."""
    return cells.apply(lambda values: values if names.time_of(str(values.name)) else values.replace("", pd.NA))


def _facts(rows: list[Cells]) -> dict[str, str]:
    """What stands in the cell beside words such as 'CUDA Version' and 'Precision'."""
    filled = [[cell for cell in row if cell] for row in rows]
    pairs = [(row[0], row[1]) for row in filled if len(row) == 2]
    versions = [f"{name}={value}" for name, value in pairs if "version" in name.lower() or "driver" in name.lower()]
    precision = next((value for name, value in pairs if "precision" in name.lower()), "")
    return {"library": "; ".join(versions), "precision": precision}


def _described(table: pd.DataFrame, facts: dict[str, str], sheet: str, path: Path) -> pd.DataFrame:
    """The rows with the library, the precision and the source that their sheet says."""
    more: dict[str, str | None] = {"source": f"{path.name}, sheet {sheet}", "library": facts["library"] or None}
    if "precision" not in table:
        text = facts["precision"] or sheet
        unsaid = ONLY.match(text) and not table["op_class"].isin(["gemm", "convolution"]).all()
        precision, sums = (None, None) if unsaid else _precision(text)
        more |= {"precision": precision, "accumulate": sums}
    return table.assign(**{name: value for name, value in more.items() if value and name not in table})


def _precision(text: str) -> tuple[str | None, str | None]:
    return next((found for pattern, found in PRECISIONS if re.search(pattern, text, re.IGNORECASE)), (None, None))
