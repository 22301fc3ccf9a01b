"""Reader of the generic op table, one CSV row per op, for tools that have no reader of their own.

``time_s`` and one of ``op_type``, ``op_class`` are required; all other columns of WORK are optional.
All amounts except ``batch, m, n, k`` and the convolution dimensions are per step, over all calls.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np
import pandas as pd

from estimator.core import csv_files
from estimator.core.errors import EstimatorError
from estimator.core.schema import WORK
from estimator.core.types import Flags, Profile, Workload
from estimator.core.units import and_more
from estimator.profiles import canonical
from estimator.profiles.dump import Dump, decode_head

FORMAT = "op table (CSV with time_s and op_type or op_class)"
VIEWS = False
COMMENTS = re.compile(r"\A(#.*\n|\s*\n)+")  # above the column names
COLUMNS_NAMED = 12  # in an error
KINDS = "op_type", "op_class", "operator", "kernel"  # columns that tell what kind of work an op is
TOTAL_SLACK = 0.01  # by which rounding may take a total from the sum of its rows


def recognises(head: bytes) -> bool:
    """Whether the first line names the columns of an op table."""
    return _is_complete(_header(decode_head(head) or ""))


def reason(head: bytes) -> str | None:
    """What a table of ops lacks to be read as one; None for other files."""
    text = decode_head(head) or ""
    header = _header(text)
    if _is_complete(name.lower() for name in header):
        return "this is a table of ops whose column names have capitals; write them small, such as op_type and time_s"
    if text.startswith("#") and _is_complete(name.lower() for name in _header(COMMENTS.sub("", text))):
        return (
            "this is a table of ops below comments; expected the column names on the first line, so delete the comments"
        )
    if not {"op", "op_type", "op_class", "time_s"} & set(header):
        return None
    columns = ", ".join(header[:COLUMNS_NAMED]) + (", …" if len(header) > COLUMNS_NAMED else "")
    if "time_s" not in header:
        return f"this is a table of ops without time_s; its columns are {columns}; add time_s, in seconds"
    return f"this is a table of ops without op_type; its columns are {columns}; add op_type or op_class"


def read(dumps: list[Dump], workload: Workload) -> Profile:
    """Read one op table. Raises EstimatorError that lists every fault by row."""
    path = dumps[0].path
    rows = csv_files.read_csv(path, dumps[0].text(), may_be_empty=False)
    _refuse_zero_times(rows, path)
    kind = rows["op_type"] if "op_type" in rows else rows["op_class"]
    rows["op"] = rows["op"].fillna(kind) if "op" in rows else kind
    ops = canonical.to_ops(WORK.conform(rows, str(path)), str(path))
    of_no_kind = ops[list(KINDS)].isna().all(axis=1).to_numpy()
    _refuse_total(ops, of_no_kind, path)
    warnings = tuple(_warn_of_no_kind(ops, of_no_kind))
    return Profile(ops=ops, workload=workload, device=None, format="op table", warnings=warnings)


def _refuse_total(ops: pd.DataFrame, of_no_kind: Flags, path: Path) -> None:
    """Raise EstimatorError where a row of no kind takes the time of all others together: it would count them twice."""
    times = ops["time_s"].to_numpy()
    others = times.sum() - times
    totals = of_no_kind & (others > 0) & (np.abs(times - others) <= TOTAL_SLACK * others)
    if totals.any():
        row = int(totals.argmax())
        raise EstimatorError(
            f"{path}: row {row + 1}: '{ops['op'].iloc[row]}' states neither op_type nor op_class, and takes as long as "
            "all other rows together, as their total does; delete it, or state its op_type"
        )


def _warn_of_no_kind(ops: pd.DataFrame, of_no_kind: Flags) -> Iterator[str]:
    """A warning of rows of no kind."""
    if of_no_kind.any():
        first = int(of_no_kind.argmax())
        rows = f"row {first + 1} ('{ops['op'].iloc[first]}'){and_more(int(of_no_kind.sum()))}"
        yield f"{rows}: neither op_type nor op_class is stated, so that no kind of work is known; state one"


def _refuse_zero_times(rows: pd.DataFrame, path: Path) -> None:
    times = pd.to_numeric(rows["time_s"], errors="coerce")
    zero = (times == 0).to_numpy(dtype=bool, na_value=False)
    if "calls" in rows:
        zero &= ~(pd.to_numeric(rows["calls"], errors="coerce") == 0).to_numpy(dtype=bool, na_value=False)
    if zero.any():
        row = int(zero.argmax()) + 1
        raise EstimatorError(f"{path}: row {row}: time_s is 0; expected above 0, or calls 0 for an op that never ran")


def _is_complete(names: Iterable[str]) -> bool:
    """Whether these are the columns that an op table needs."""
    known = set(names)
    return "time_s" in known and bool({"op_type", "op_class"} & known)


def _header(text: str) -> list[str]:
    """The names of the columns that the first line gives."""
    return [name.strip() for name in re.split(r"[,;\t|]", text.split("\n", 1)[0])]
