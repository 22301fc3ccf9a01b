"""Reader of DeepBench logs: the tables that gemm_bench, conv_bench, rnn_bench, sparse_bench and the all-reduce print.

NVIDIA, AMD and ARM print a header line and one line per problem; Intel prints ``SGEMM(N,N,m,n,k) 77.4 usec`` lines.
What stands before, between and after the tables (a banner, the shell) is passed over.
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
from estimator.devices.importers import names
from estimator.devices.importers.columns import Tell, read_table
from estimator.devices.importers.declared import Declared
from estimator.devices.measurements.suspicious_rows import and_more

FORMAT = "DeepBench log (gemm, conv, rnn, sparse, all-reduce; NVIDIA, AMD, ARM, Intel)"
LONGEST_LINE = 1 << 16  # what is longer is read as several [characters]
MARK = re.compile(rb"\bm\s+n\s+k\s+a_t|\bw\s+h\s+c\s+n\s+k\b|\btype\s+hidden\b|# of floats|GEMM\([NT],[NT],", re.I)
HEADER = re.compile(r"# of floats|bytes transferred|[^\s(]+(?:\s*\([numµ]?s(?:ec)?\))?", re.IGNORECASE)
UNIT = re.compile(r"\s*\(([numµ]?s(?:ec)?)\)", re.IGNORECASE)
INTEL = re.compile(r"\s*(\w*)GEMM\(([NT]),([NT]),(\d+),(\d+),(\d+)\)\s+(\S+)\s+(\w+)\s+(\S+)\s+([TG]Flop)/sec\s*", re.I)
INTEL_PRECISIONS = {"S": "fp32", "D": "fp64", "H": "fp16"}
CONTEXT = {  # lines before a table that say what holds of its rows
    "ranks": re.compile(r"\s*Num Ranks:\s*(\d+)\s*", re.I),
    "kernel": re.compile(r"\s*(\S.*All-?Reduce)\s*", re.I),
}
COUNT = re.compile(r"\s*Total kernels:\s*(\d{1,15})\s*", re.IGNORECASE)
UNSUPPORTED = re.compile(r"not supported", re.IGNORECASE)
ROW = re.compile(r"\s*([-+.\d]*\d|vanilla|lstm|gru|rnn)\s", re.IGNORECASE)


@dataclass(frozen=True)
class Table:
    """The header of one table, and what holds of all its rows."""

    headers: tuple[str, ...]
    constants: tuple[tuple[str, str], ...] = ()


Row = tuple[Table, int, list[str]]  # with its line


def recognises(head: bytes) -> bool:
    """Whether one of the header lines, or one of Intel's lines, stands in the head."""
    return MARK.search(head) is not None


def read(path: Path, said: Declared, tell: Tell) -> Iterator[pd.DataFrame]:
    """The rows of every table, some thousand at a time; the index is their line.

    Raises EstimatorError at a row cut short, where fewer rows stand there than the log counts, and where logs of unlike
    programs stand in one file.
    """
    with files.open_text(path) as file:
        for table, rows in groupby(_rows(file, path, tell), key=itemgetter(0)):
            while part := list(islice(rows, csv_files.ROWS_AT_ONCE)):
                yield _frame(table, part, path, said, tell)


def _frame(table: Table, rows: list[Row], path: Path, said: Declared, tell: Tell) -> pd.DataFrame:
    index = pd.Index([line - 1 for _, line, _ in rows])
    cells = pd.DataFrame([row for *_, row in rows], columns=list(table.headers), index=index, dtype="string[python]")
    cells = cells.assign(**dict(table.constants))
    found = read_table(cells, str(path), tell, rounded=True)
    if "precision" not in found and not said.precision:
        tell(f"{path}: the log names no precision and is taken to be fp32; --precision says otherwise")
        return found.assign(precision="fp32")
    return found


def _rows(file: TextIO, path: Path, tell: Tell) -> Iterator[Row]:
    table, counted, line = None, 0, "\n"
    passed_over: list[int] = []
    context: dict[str, str] = {}
    programs: dict[str, str] = {}
    for number, line in enumerate(iter(lambda: file.readline(LONGEST_LINE), ""), start=1):
        where = f"{path}:{number}"
        if intel := _intel(line, where):
            _refuse_unlike(programs, *_transposes(*intel), where)
            yield intel[0], number, intel[1]
        elif header := _header(line, where):
            table, counted = replace(header, constants=(*header.constants, *context.items())), 0
            _refuse_unlike(programs, *_program(table), where)
        elif said := {name: match[1] for name, pattern in CONTEXT.items() if (match := pattern.fullmatch(line))}:
            table, context = None, context | said
        elif match := COUNT.fullmatch(line):
            _refuse_fewer(counted, int(match[1]), where)
        elif table and (row := _row(line, table.headers, where)):
            counted += 1
            _refuse_unlike(programs, *_transposes(table, row), where)
            yield table, number, row
        else:
            passed_over += [number] if table and line.strip() else []
    if passed_over:
        tell(f"{path}:{passed_over[0]}{and_more(len(passed_over))}: no row, though a table began; passed over")
    if not line.endswith("\n"):
        tell(f"{path}:{number}: the last line has no end: what stands there may be cut short")


def _header(line: str, where: str) -> Table | None:
    """The table that a line begins; one unit in the line is that of all its times."""
    headers = HEADER.findall(line)
    kind = names.kind_of([UNIT.sub("", header) for header in headers])
    if kind is None:
        return None
    units = {unit.lower() for unit in UNIT.findall(line)}
    if len(units) != 1:
        found = f"the units {', '.join(sorted(units))}" if units else "no unit"
        raise EstimatorError(f"{where}: found {found} beside the times, expected one, such as '(usec)'")
    bare = [UNIT.sub("", header) for header in headers]
    timed = tuple(f"{header} ({min(units)})" if names.time_of(header) else header for header in bare)
    is_gemmlowp = any(header.upper() == "GOPS" for header in bare) and "precision" not in bare
    return Table(timed, (("precision", "int8"),) if is_gemmlowp else ())


def _row(line: str, headers: tuple[str, ...], where: str) -> list[str] | None:
    """The cells of a row; None where the line is none. Raises EstimatorError where it is cut short."""
    words = UNSUPPORTED.sub("unsupported", line).split()
    if not ROW.match(line) and len(words) != len(headers):
        return None
    if names.column_of(headers[-1]) == "kernel":  # its name may hold spaces
        words[len(headers) - 1 :] = [" ".join(words[len(headers) - 1 :])] if len(words) >= len(headers) else []
    if "unsupported" in words:
        words += ["unsupported"] * (len(headers) - len(words))
    if len(words) != len(headers):
        raise EstimatorError(f"{where}: found {len(words)} cells, expected {len(headers)}; mend the row, or delete it")
    return words


def _intel(line: str, where: str) -> tuple[Table, list[str]] | None:
    """The row in one of Intel's lines."""
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


def _refuse_unlike(programs: dict[str, str], what: str, how: str, where: str) -> None:
    """Raise EstimatorError where one file holds what two unlike programs print."""
    if programs.setdefault(what, how) != how:
        raise EstimatorError(
            f"{where}: found {what} {how}, expected {programs[what]} as above: logs of unlike programs stand in one "
            "file; import them one by one"
        )


def _program(table: Table) -> tuple[str, str]:
    """The op class of a table, and what else its header tells of the program that printed it."""
    units = {unit.lower() for header in table.headers for unit in UNIT.findall(header)}
    named = "with" if "precision" in table.headers else "without"
    return f"{names.kind_of(list(table.headers))} tables", f"{named} precision, in {', '.join(sorted(units))}"


def _transposes(table: Table, row: list[str]) -> tuple[str, str]:
    """How a row writes transposes, which tells programs apart too."""
    numeric = "a_t" in table.headers and row[table.headers.index("a_t")].isdigit()
    return f"{'transposes' if 'a_t' in table.headers else 'nothing'}", "as 0 and 1" if numeric else "as n and t"


def _refuse_fewer(counted: int, said: int, where: str) -> None:
    if counted < said:
        raise EstimatorError(f"{where}: the log counts {said} kernels, found {counted} rows above; copy the log again")
