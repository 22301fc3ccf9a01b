"""TRUTH, and how the table of a public data set becomes rows of it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from estimator.core import csv_files
from estimator.core.errors import EstimatorError
from estimator.core.operators import operators, with_operators
from estimator.core.schema import MEASUREMENTS, Column

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

OPERATORS = {"ln": "layer_norm", "where": "select"}  # where a data set calls one by another name


def with_operator(rows: pd.DataFrame) -> pd.DataFrame:
    """TRUTH with the operator of each row: that which the data set's own name of its op means, else its class's."""
    op = rows["op"].replace(OPERATORS)
    return with_operators(rows.assign(operator=op.where(op.isin(operators().keys()))))


GROUP = ["data_set", "device"]
KEYS = [*GROUP, "family", "op_class", "precision", "path"]  # what errors are told by


def published(path: Path, names: Mapping[str, str]) -> pd.DataFrame:
    """A public table (CSV or parquet) with the columns that ``names`` (ours → theirs) picks, and ``time_s`` [s] from
    their ``time_ms``; NaN where they give none.

    Raises EstimatorError where the file cannot be read or lacks a column.
    """
    import pandas as pd

    found = _parquet(path) if path.suffix == ".parquet" else csv_files.read_csv(path)
    lacking = [theirs for theirs in (*names.values(), "time_ms") if theirs not in found]
    if lacking:
        raise EstimatorError(f"{path}: the column '{lacking[0]}' is missing; check that this is the public table")
    rows = pd.DataFrame({ours: found[theirs] for ours, theirs in names.items()})
    return rows.assign(time_s=pd.to_numeric(found["time_ms"], errors="coerce").astype(float) * 1e-3)


def _parquet(path: Path) -> pd.DataFrame:
    import pandas as pd

    try:
        return pd.read_parquet(path)
    except ImportError:
        raise EstimatorError(f"{path}: parquet needs pyarrow; install it: pip install 'fom-estimator[fit]'") from None
    except (ValueError, OSError) as error:
        reason = str(error).splitlines()[0].rstrip(".")
        raise EstimatorError(f"{path}: cannot be read as parquet ({reason}); fetch the file again") from None
