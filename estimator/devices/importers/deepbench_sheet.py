"""Reader of DeepBench's result sheets (xlsx): tables under header rows, wherever they stand on a sheet.

A header row has the columns of an op class; the table ends at a row without dimensions. Cells beside words such as
'CUDA Version' give the library; the precision stands beside that word or in the sheet's name.
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
from estimator.devices.importers.columns import AddNote, read_table
from estimator.devices.importers.declared import Declared

FORMAT = "DeepBench result sheets (xlsx)"
MAGIC = b"PK\x03\x04"
MOST_UNZIPPED = 64 << 20  # [B]
MOST_CELLS = 5_000_000  # of one sheet; all are held in memory
PRECISIONS = (  # text of a sheet → precision and accumulator; the first match counts
    (r"16 bit inputs.*32 bit (addition|accumulation)|fp16.*mixed|mixed.*fp16|ps(eu|ue|u)do.*fp16", ("fp16", "fp32")),
    (r"int ?8", ("int8", None)),
    (r"bf16|bfloat16", ("bf16", None)),
    (r"fp16|float16|half", ("fp16", None)),
    (r"fp32|float32|float|single", ("fp32", None)),
    (r"fp64|float64|double", ("fp64", None)),
)
# 'GEMM, Conv: Int8 …' names the precision of these only
PRODUCTS_ONLY = re.compile(r"\s*gemm\s*(,|and|&)\s*conv\w*\s*:", re.IGNORECASE)

Cells = list[str]


def recognises(head: bytes) -> bool:
    """Whether the head is that of a zip file, as workbooks are."""
    return head.startswith(MAGIC)


def read(path: Path, declared: Declared, add_note: AddNote) -> Iterator[pd.DataFrame]:
    """Read the rows of every table on every sheet. Raises EstimatorError where there is none or one is unclear."""
    has_table = False
    for sheet, rows in _sheets(path):
        where = f"{path}: sheet '{sheet}'"
        facts = _sheet_facts(rows)
        for first, headers, body in _tables(rows):
            has_table = True
            index = pd.RangeIndex(first, first + len(body))
            cells = pd.DataFrame(body, columns=headers, index=index, dtype="string[python]")
            table = read_table(_with_missing(cells), where, add_note)
            described = _with_sheet_facts(table, facts, sheet, path)
            described.attrs["where"] = where
            yield described
    if not has_table:
        raise EstimatorError(f"{path}: found no table on its sheets; expected header rows such as M, N, K, Time (msec)")


def _sheets(path: Path) -> Iterator[tuple[str, list[Cells]]]:
    """Every sheet's name and its rows as text. Raises EstimatorError where the workbook is damaged or too large."""
    import python_calamine

    try:
        _refuse_large(path)
        with python_calamine.load_workbook(str(path)) as book:
            for name in book.sheet_names:
                rows = book.get_sheet_by_name(name).to_python(skip_empty_area=False)
                yield name, [[_cell_text(cell) for cell in row] for row in rows]
    except (python_calamine.CalamineError, zipfile.BadZipFile, zlib.error, OSError, ValueError, RuntimeError) as error:
        raise EstimatorError(f"{path}: this workbook cannot be read ({error}); save it again") from None


def _refuse_large(path: Path) -> None:
    """Raise EstimatorError where the unzipped workbook or the cells of a sheet would fill the memory."""
    with zipfile.ZipFile(path) as container:
        if sum(item.file_size for item in container.infolist()) > MOST_UNZIPPED:
            raise EstimatorError(f"{path}: unzips to more than {MOST_UNZIPPED >> 20} MiB; save the result sheets alone")
        for name in container.namelist():
            if name.startswith("xl/worksheets/") and _cell_span(container.read(name)) > MOST_CELLS:
                raise EstimatorError(f"{path}: {name} spans more than {MOST_CELLS} cells; save the result sheets alone")


def _cell_span(sheet: bytes) -> int:
    """Rows times columns of the area that a sheet's XML spans."""
    cells = [(letters, int(digits)) for letters, digits in re.findall(rb"""\br=["']([A-Z]*)(\d+)""", sheet)]
    columns = {reduce(lambda sum_, letter: 26 * sum_ + letter - 64, letters, 0) for letters, _ in cells}
    return max(columns, default=0) * max((row for _, row in cells), default=0)


def _cell_text(cell: Any) -> str:
    return f"{cell:.15g}" if isinstance(cell, float) else str(cell).strip()


def _tables(rows: list[Cells]) -> Iterator[tuple[int, Cells, list[Cells]]]:
    """Number of the first row, headers and rows of each table; columns without header are left out."""
    position = 0
    while position < len(rows):
        headers = rows[position]
        kind = names.op_class_of(headers)
        position += 1
        if kind is None:
            continue
        used = [i for i, header in enumerate(headers) if header]
        needed = [i for i in used if names.column_of(headers[i], names.TABLES[kind][0]) in names.TABLES[kind][1]]
        first = position
        while position < len(rows) and _is_row(rows[position], needed):
            position += 1
        yield first, [headers[i] for i in used], [[row[i] for i in used] for row in rows[first:position]]


def _is_row(row: Cells, needed: list[int]) -> bool:
    """Whether a row belongs to a table: more than one cell, and a number among the needed columns."""
    return sum(map(bool, row)) > 1 and any(re.fullmatch(r"[\d.]+", row[i]) for i in needed)


def _with_missing(cells: pd.DataFrame) -> pd.DataFrame:
    """Empty cells as NA, except for times: an empty time is a problem that was not run."""
    return cells.apply(lambda values: values if names.time_of(str(values.name)) else values.replace("", pd.NA))


def _sheet_facts(rows: list[Cells]) -> dict[str, str]:
    """The cells beside words such as 'CUDA Version' and 'Precision'."""
    filled = [[cell for cell in row if cell] for row in rows]
    pairs = [(row[0], row[1]) for row in filled if len(row) == 2]
    versions = [f"{name}={value}" for name, value in pairs if "version" in name.lower() or "driver" in name.lower()]
    precision = next((value for name, value in pairs if "precision" in name.lower()), "")
    return {"library": "; ".join(versions), "precision": precision}


def _with_sheet_facts(table: pd.DataFrame, facts: dict[str, str], sheet: str, path: Path) -> pd.DataFrame:
    """The rows with library, precision and source of their sheet."""
    columns: dict[str, str | None] = {"source": f"{path.name}, sheet {sheet}", "library": facts["library"] or None}
    if "precision" not in table:
        text = facts["precision"] or sheet
        is_other_class = PRODUCTS_ONLY.match(text) and not table["op_class"].isin(["gemm", "convolution"]).all()
        precision, accumulate = (None, None) if is_other_class else _parse_precision(text)
        columns |= {"precision": precision, "accumulate": accumulate}
    return table.assign(**{name: value for name, value in columns.items() if value and name not in table})


def _parse_precision(text: str) -> tuple[str | None, str | None]:
    return next((formats for pattern, formats in PRECISIONS if re.search(pattern, text, re.IGNORECASE)), (None, None))
