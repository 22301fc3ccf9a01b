"""Reader of DeepBench logs: the tables that gemm_bench, conv_bench, rnn_bench, sparse_bench and the all-reduce print.

NVIDIA, AMD and ARM print a header line and one line per problem; Intel prints ``SGEMM(N,N,m,n,k) 77.4 usec`` lines.
Other lines (a banner, the shell) are skipped.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import groupby, islice
from operator import itemgetter
from pathlib import Path
from typing import TextIO

import pandas as pd

from estimator.core import csv_files, files
from estimator.core.errors import EstimatorError
from estimator.core.units import and_more
from estimator.devices.importers import names
from estimator.devices.importers.columns import AddNote, read_table
from estimator.devices.importers.declared import Declared

FORMAT = "DeepBench log (gemm, conv, rnn, sparse, all-reduce; NVIDIA, AMD, ARM, Intel)"
LONGEST_LINE = 1 << 16  # [characters]; a longer line is read in pieces
SIGNATURE = re.compile(rb"\bm\s+n\s+k\s+a_t|\bw\s+h\s+c\s+n\s+k\b|\btype\s+hidden\b|# of floats|GEMM\([NT],[NT],", re.I)
HEADER = re.compile(r"# of floats|bytes transferred|[^\s(]+(?:\s*\([numµ]?s(?:ec)?\))?", re.IGNORECASE)
UNIT = re.compile(r"\s*\(([numµ]?s(?:ec)?)\)", re.IGNORECASE)
INTEL = re.compile(r"\s*(\w*)GEMM\(([NT]),([NT]),(\d+),(\d+),(\d+)\)\s+(\S+)\s+(\w+)\s+(\S+)\s+([TG]Flop)/sec\s*", re.I)
INTEL_PRECISIONS = {"S": "fp32", "D": "fp64", "H": "fp16"}
CONTEXT = {  # lines before a table with values for all its rows
    "ranks": re.compile(r"\s*Num Ranks:\s*(\d+)\s*", re.I),
    "kernel": re.compile(r"\s*(\S.*All-?Reduce)\s*", re.I),
}
KERNEL_COUNT = re.compile(r"\s*Total kernels:\s*(\d{1,15})\s*", re.IGNORECASE)
UNSUPPORTED = re.compile(r"not supported", re.IGNORECASE)
ROW_START = re.compile(r"\s*([-+.\d]*\d|vanilla|lstm|gru|rnn)\s", re.IGNORECASE)


@dataclass(frozen=True)
class Table:
    """The header of one table, and values for all its rows."""

    headers: tuple[str, ...]
    constants: tuple[tuple[str, str], ...] = ()


Row = tuple[Table, int, list[str]]  # table, line number, cells


def recognises(head: bytes) -> bool:
    """Whether the head contains a header line or one of Intel's lines."""
    return SIGNATURE.search(head) is not None


def read(path: Path, declared: Declared, add_note: AddNote) -> Iterator[pd.DataFrame]:
    """Read the rows of every table in frames of bounded size; the index is their line.

    Raises EstimatorError for a row cut short, for fewer rows than the log counts, and for logs of different programs in
    one file.
    """
    with files.open_text(path) as file:
        for table, rows in groupby(_read_rows(file, path, add_note), key=itemgetter(0)):
            while chunk := list(islice(rows, csv_files.ROWS_AT_ONCE)):
                yield _make_frame(table, chunk, path, declared, add_note)


def _make_frame(table: Table, rows: list[Row], path: Path, declared: Declared, add_note: AddNote) -> pd.DataFrame:
    index = pd.Index([line - 1 for _, line, _ in rows])
    cells = pd.DataFrame([row for *_, row in rows], columns=list(table.headers), index=index, dtype="string[python]")
    cells = cells.assign(**dict(table.constants))
    frame = read_table(cells, str(path), add_note, rounded=True)
    if "precision" not in frame and not declared.precision:
        add_note(f"{path}: the log names no precision and is taken to be fp32; --precision says otherwise")
        return frame.assign(precision="fp32")
    return frame


def _read_rows(file: TextIO, path: Path, add_note: AddNote) -> Iterator[Row]:
    table, row_count, line = None, 0, "\n"
    skipped_lines: list[int] = []
    context: dict[str, str] = {}
    styles: dict[str, str] = {}
    for line_number, line in enumerate(iter(lambda: file.readline(LONGEST_LINE), ""), start=1):
        where = f"{path}:{line_number}"
        if intel_row := _parse_intel_line(line, where):
            _refuse_other_program(styles, *_transpose_style(*intel_row), where)
            yield intel_row[0], line_number, intel_row[1]
        elif header := _parse_header(line, where):
            table, row_count = replace(header, constants=(*header.constants, *context.items())), 0
            _refuse_other_program(styles, *_program_style(table), where)
        elif new_context := {name: match[1] for name, pattern in CONTEXT.items() if (match := pattern.fullmatch(line))}:
            table, context = None, context | new_context
        elif match := KERNEL_COUNT.fullmatch(line):
            _refuse_fewer(row_count, int(match[1]), where)
        elif table and (row := _parse_row(line, table.headers, where)):
            row_count += 1
            _refuse_other_program(styles, *_transpose_style(table, row), where)
            yield table, line_number, row
        else:
            skipped_lines += [line_number] if table and line.strip() else []
    if skipped_lines:
        add_note(f"{path}:{skipped_lines[0]}{and_more(len(skipped_lines))}: no row, though a table began; passed over")
    if not line.endswith("\n"):
        add_note(f"{path}:{line_number}: the last line has no end: what stands there may be cut short")


def _parse_header(line: str, where: str) -> Table | None:
    """The table that a header line begins; a single unit in the line holds for all its times."""
    headers = HEADER.findall(line)
    names_only = [UNIT.sub("", header) for header in headers]
    if names.op_class_of(names_only) is None:
        return None
    units = {unit.lower() for unit in UNIT.findall(line)}
    if len(units) != 1:
        listed = f"the units {', '.join(sorted(units))}" if units else "no unit"
        raise EstimatorError(f"{where}: found {listed} beside the times, expected one, such as '(usec)'")
    with_units = tuple(f"{header} ({min(units)})" if names.time_of(header) else header for header in names_only)
    is_gemmlowp = any(header.upper() == "GOPS" for header in names_only) and "precision" not in names_only
    return Table(with_units, (("precision", "int8"),) if is_gemmlowp else ())


def _parse_row(line: str, headers: tuple[str, ...], where: str) -> list[str] | None:
    """The cells of a row; None where the line is no row. Raises EstimatorError where it is cut short."""
    cells = UNSUPPORTED.sub("unsupported", line).split()
    if not ROW_START.match(line) and len(cells) != len(headers):
        return None
    if names.column_of(headers[-1]) == "kernel":  # a kernel's name may hold spaces
        cells[len(headers) - 1 :] = [" ".join(cells[len(headers) - 1 :])] if len(cells) >= len(headers) else []
    if "unsupported" in cells:
        cells += ["unsupported"] * (len(headers) - len(cells))
    if len(cells) != len(headers):
        raise EstimatorError(f"{where}: found {len(cells)} cells, expected {len(headers)}; mend the row, or delete it")
    return cells


def _parse_intel_line(line: str, where: str) -> tuple[Table, list[str]] | None:
    """The row of an Intel line; None where the line is none."""
    if not re.search(r"GEMM\(", line):
        return None
    match = INTEL.fullmatch(line)
    if not match:
        expected = "SGEMM(N,N,1760,16,1760) 77.4 usec 1281.4 GFlop/sec"
        raise EstimatorError(f"{where}: found {line.strip()[:60]!r}, expected a line such as '{expected}'; mend it")
    letter, *row, unit, rate, rate_unit = match.groups()
    precision = INTEL_PRECISIONS.get(letter.upper(), letter)
    headers = ("a_t", "b_t", "m", "n", "k", f"time ({unit})", f"{rate_unit}/s", "precision")
    return Table(headers), [*row, rate, precision]


def _refuse_other_program(styles: dict[str, str], aspect: str, style: str, where: str) -> None:
    """Raise EstimatorError where one file holds logs of two programs."""
    if styles.setdefault(aspect, style) != style:
        raise EstimatorError(
            f"{where}: found {aspect} {style}, expected {styles[aspect]} as above: logs of unlike programs stand in "
            "one file; import them one by one"
        )


def _program_style(table: Table) -> tuple[str, str]:
    """The op class of a table, and how its header is written: it differs between programs."""
    units = {unit.lower() for header in table.headers for unit in UNIT.findall(header)}
    with_precision = "with" if "precision" in table.headers else "without"
    return (
        f"{names.op_class_of(list(table.headers))} tables",
        f"{with_precision} precision, in {', '.join(sorted(units))}",
    )


def _transpose_style(table: Table, row: list[str]) -> tuple[str, str]:
    """How a row writes transposes: it differs between programs."""
    numeric = "a_t" in table.headers and row[table.headers.index("a_t")].isdigit()
    return f"{'transposes' if 'a_t' in table.headers else 'nothing'}", "as 0 and 1" if numeric else "as n and t"


def _refuse_fewer(row_count: int, expected: int, where: str) -> None:
    if row_count < expected:
        raise EstimatorError(
            f"{where}: the log counts {expected} kernels, found {row_count} rows above; copy the log again"
        )
