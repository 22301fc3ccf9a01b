"""Predict the time of each row of a table of shapes on one device, without a profile."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd

from estimator.core import csv_files
from estimator.core.errors import EstimatorError, suggestion, within
from estimator.core.notes import sentences
from estimator.core.operators import CAST, with_operators
from estimator.core.schema import MATRIX, SHAPED_BY, SHAPES, STREAMING, complete
from estimator.core.types import DeviceSpec, Integers, RunPlan, Workload
from estimator.core.units import and_more
from estimator.devices import announcements, load_device, target_warnings
from estimator.devices.assumed_units import with_assumed_units
from estimator.devices.board import with_limit
from estimator.devices.measurements import read_measurements, with_measured
from estimator.devices.sides import siblings_of
from estimator.model import TargetDevice, assumptions
from estimator.model.prediction import predict_ops
from estimator.work import count_work

SAMPLES_AT_ONCE = 500_000  # draws × rows held in memory; a few caches full, as fresh memory costs more than arithmetic
ANSWER_COLUMNS = ["time_s", "low_s", "high_s", "bound", "method"]
NEEDED_COLUMNS = {
    **{op_class: list(needed) for op_class, needed in SHAPED_BY.items()},
    **{op_class: ["bytes"] for op_class in STREAMING},
}
# the work of one call of other classes, for which dimensions are not enough
WORK_COLUMNS = {"attention": ("flop", "bytes"), "collective": ("operator", "ranks", "bytes")}


def predict_shapes(path: str | Path, plan: RunPlan) -> tuple[pd.DataFrame, tuple[str, ...]]:
    """Predict each row of a SHAPES CSV: time [s] of one call, its interval, bound and method; with notes.

    The notes are warnings about columns, the device and its measurements, then assumptions.

    Raises EstimatorError where a row lacks what its op class needs, or the device lacks its precision.
    """
    path = Path(path)
    cells, table = _read(path)
    target = with_assumed_units(with_limit(load_device(plan.target)))
    measurements, impossible = read_measurements(target, plan.measurements, plan.target, alone=True)
    target = with_measured(target, measurements)
    workload = Workload(name=path.stem, precision="fp32")
    work = _work(table, workload, path)
    siblings = tuple if plan.measurements else siblings_of(target, alone=True)
    predict = partial(predict_ops, target=TargetDevice(target, measurements, siblings), plan=plan)
    lacking = _rows_without_peak(work, target)
    if len(lacking):
        with within(f"{path}: row {lacking[0] + 1}"):
            predict(work.iloc[lacking[:1]], at_once=1)  # raises, naming the precisions that the device has
    predicted = _predict_by_cache(work, partial(predict, at_once=max(1, SAMPLES_AT_ONCE // (1 + plan.draws))))
    times = predicted.drop(columns="time_s").rename(columns={"target_time_s": "time_s"})[ANSWER_COLUMNS]
    rows = pd.concat([table[[name for name in cells if name not in ANSWER_COLUMNS]], times], axis=1)
    about_device = *sentences(announcements(target)), *target_warnings(plan.target, target)
    missing = _notes_on_missing_columns(table[rows["time_s"].isna()], path)
    notes = *_notes_on_unread_columns(cells, path), *missing, *about_device, *impossible
    return rows, (*notes, *sentences(assumptions(predicted, target, measurements)))


def _work(table: pd.DataFrame, workload: Workload, path: Path) -> pd.DataFrame:
    """One call of each shape, as WORK."""
    untimed = table[SHAPES.names()].drop(columns=["time_s", "time_low_s", "time_high_s"])
    narrow_format = untimed["precision"].where(untimed["operator"].eq(CAST).fillna(False))
    casts = {"from_precision": narrow_format.where(narrow_format.isna(), "fp32"), "to_precision": narrow_format}
    ops = untimed.assign(op=untimed["op_class"], op_type=untimed["kernel"], calls=1.0, **casts)
    return count_work(ops, workload, where=str(path)).work


def _predict_by_cache(work: pd.DataFrame, predict: Callable[..., pd.DataFrame]) -> pd.DataFrame:
    """Predict each row with the cache state that it asks for; by default warm, as benchmarks time it."""
    cold = work["cache"].eq("cold").fillna(False).to_numpy(dtype=bool)
    tables = [predict(work[rows], cache=cache) for cache, rows in (("warm", ~cold), ("cold", cold)) if rows.any()]
    return pd.concat(tables).sort_index()


def read_shapes(path: str | Path) -> tuple[pd.DataFrame, tuple[str, ...]]:
    """Read a SHAPES CSV, with a note on columns that are not read.

    Raises EstimatorError where there are no rows, or one lacks what its op class needs.
    """
    cells, table = _read(Path(path))
    return table, _notes_on_unread_columns(cells, path)


def _read(path: Path) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The cells as written, and as SHAPES."""
    cells = csv_files.read_csv(path, may_be_empty=False)
    table = with_operators(SHAPES.conform(cells, str(path)))
    _refuse_incomplete(table, path)
    return cells, table


def _notes_on_unread_columns(cells: pd.DataFrame, path: str | Path) -> tuple[str, ...]:
    """A note on unknown columns, which may be misspelt."""
    names = [name for name in cells if name not in (*SHAPES.names(), *ANSWER_COLUMNS)]
    suggestions = dict.fromkeys(suggestion(name, SHAPES.names()) for name in names)
    return (f"{path}: columns that are not read: {', '.join(names)}.{''.join(suggestions)}",) if names else ()


def _notes_on_missing_columns(table: pd.DataFrame, path: Path) -> Iterator[str]:
    """A note for each op class of which these rows, of unknown times, lack the columns that tell their work."""
    table = table.assign(operator=table["operator"].mask(table["operator"].eq(table["op_class"])))  # it tells no more
    for op_class, needed in WORK_COLUMNS.items():
        unknown = table.index[table["op_class"].eq(op_class) & ~complete(table, needed)]
        if len(unknown):
            rows = f"row {unknown[0] + 1}{and_more(len(unknown))}"
            missing = ", ".join(name for name in needed if pd.isna(table.loc[unknown[0], name]))
            yield f"{path}: {rows}: nothing is predicted, as {op_class} needs {', '.join(needed)}; add {missing}"


def _rows_without_peak(work: pd.DataFrame, target: DeviceSpec) -> Integers:
    """Positions of the matrix products and convolutions in whose precision the device has no known peak."""
    missing_precisions = [precision for precision in work["precision"].unique() if not target.peak_of(precision).matrix]
    rows = work["op_class"].isin(MATRIX) & work["precision"].isin(missing_precisions)
    return np.flatnonzero(rows.to_numpy(dtype=bool))


def _refuse_incomplete(table: pd.DataFrame, path: Path) -> None:
    for op_class, needed in NEEDED_COLUMNS.items():
        incomplete = (table["op_class"] == op_class).to_numpy() & table[needed].isna().any(axis=1).to_numpy()
        if incomplete.any():
            row = int(np.flatnonzero(incomplete)[0])
            missing = ", ".join(name for name in needed if pd.isna(table[name].iloc[row]))
            raise EstimatorError(f"{path}: row {row + 1}: {op_class} needs {', '.join(needed)}; add {missing}")
