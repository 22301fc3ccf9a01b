"""Refuse rows of different conditions in one table, whether it is in memory or streamed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from estimator.core.errors import EstimatorError
from estimator.core.schema import CONV_COLUMNS, DEFAULTS, GEMM_COLUMNS, MATRIX, RECURRENT_COLUMNS
from estimator.core.units import and_more

SPREAD_LIMIT = 1.5  # ratio of the times of one shape above which a note is made
SHAPE_COLUMNS = [
    "op_class", "operator", "precision", *(column.name for column in (*GEMM_COLUMNS, *CONV_COLUMNS)), "row_length",
    "sparsity", *(column.name for column in RECURRENT_COLUMNS), "ranks", "bytes", "flop", "cache",
]  # fmt: skip
KIND_COLUMNS = ["op_class", "precision", "cache", "kernel", "sparse"]  # rows of one kind must have the same conditions
CONDITION_COLUMNS = ["library", "clock", "threads", "accumulate"]
ROWS_PER_PART = 20_000  # processed at once
RowsOfEqualShape = tuple[npt.NDArray[np.intp], npt.NDArray[np.uint64], npt.NDArray[np.float64], npt.NDArray[np.int32]]


def distinct_conditions(rows: pd.DataFrame) -> pd.DataFrame:
    """The distinct kinds of row in MEASUREMENTS with their conditions, as text; '' where unknown."""
    values_by_name = {name: rows[name] for name in ("op_class", "precision", *CONDITION_COLUMNS)}
    values_by_name |= {"kernel": op_kernel(rows), "cache": _cache(rows)}
    columns = {name: values.to_numpy(dtype=object, na_value="") for name, values in values_by_name.items()}
    columns["sparse"] = np.where(rows["sparsity"] > 0, "sparse", "")
    distinct = dict.fromkeys(zip(*(columns[name] for name in (*KIND_COLUMNS, *CONDITION_COLUMNS)), strict=True))
    return pd.DataFrame(list(distinct), columns=[*KIND_COLUMNS, *CONDITION_COLUMNS], dtype="string[python]")


def op_kernel(rows: pd.DataFrame) -> pd.Series:
    """The kernel of each op; missing for matrix work, where ``kernel`` is an algorithm chosen by shape."""
    return rows["kernel"].mask(rows["op_class"].isin(MATRIX))


def _cache(rows: pd.DataFrame) -> pd.Series:
    """The cache state; matrix work without one is warm, as in the model."""
    return rows["cache"].mask(rows["op_class"].isin(MATRIX) & rows["cache"].isna(), "warm")


class Conditions:
    """The conditions seen so far: one set per kind of row, one padding per shape (20 bytes per row)."""

    def __init__(self) -> None:
        self.seen = pd.DataFrame(columns=[*KIND_COLUMNS, *CONDITION_COLUMNS], dtype="string[python]")
        self.paddings: dict[str, int] = {}
        self.shapes: list[npt.NDArray[np.uint64]] = []
        self.codes: list[npt.NDArray[np.int32]] = []
        self.times: list[npt.NDArray[np.float64]] = []

    def add(self, rows: pd.DataFrame, where: str) -> None:
        """Add MEASUREMENTS. Raises EstimatorError where one kind of row has different conditions."""
        conditions = distinct_conditions(rows)
        self.seen = pd.concat([self.seen, conditions]).drop_duplicates() if len(self.seen) else conditions
        self._refuse_mixed(where)
        texts = rows["padding"].fillna("")
        for text in texts.unique():
            self.paddings.setdefault(str(text), len(self.paddings))
        self.shapes.append(_hashes(rows[SHAPE_COLUMNS].assign(op=op_kernel(rows), cache=_cache(rows))))
        self.times.append(rows["time_s"].to_numpy(dtype=float))
        self.codes.append(texts.map(self.paddings).to_numpy(dtype=np.int32))

    def _refuse_mixed(self, where: str) -> None:
        if not self.seen.duplicated(KIND_COLUMNS).any():
            return
        counts = self.seen.groupby(KIND_COLUMNS)[CONDITION_COLUMNS].nunique()
        for condition in CONDITION_COLUMNS:
            mixed = counts.index[counts[condition] > 1]
            if len(mixed):
                kind = dict(zip(KIND_COLUMNS, mixed[0], strict=True))
                is_kind = (self.seen[KIND_COLUMNS] == pd.Series(kind)).all(axis=1)
                first, second, *_ = (value or "(not said)" for value in self.seen.loc[is_kind, condition].unique())
                raise EstimatorError(
                    f"{where}: {kind['precision']} {kind['op_class']} was measured with {condition} '{first}' and "
                    f"'{second}'; unlike conditions do not merge, so keep one {condition} per file"
                )

    def finish(self, where: str) -> None:
        """Raise EstimatorError where one shape has different paddings."""
        for order, shapes, _, codes in self._rows_of_equal_shape() if len(self.paddings) > 1 else ():
            differs = (np.diff(shapes) == 0) & (np.diff(codes) != 0)
            if differs.any():
                position = int(differs.argmax())
                pair = sorted(zip(order[position : position + 2] + 1, codes[position : position + 2], strict=True))
                rows, names = [row for row, _ in pair], [[*self.paddings][code] or "none" for _, code in pair]
                raise EstimatorError(
                    f"{where}: rows {rows[0]} and {rows[1]} are one shape with padding '{names[0]}' and '{names[1]}'; "
                    "unlike conditions do not merge, so keep one padding per shape"
                )

    def repeat_notes(self, where: str) -> Iterator[str]:
        """A note on rows with the same shape and time as an earlier row."""
        count, first = 0, np.iinfo(np.intp).max
        for order, shapes, times, _ in self._rows_of_equal_shape():
            repeated = order[1:][(np.diff(shapes) == 0) & (np.diff(times) == 0)]
            count, first = count + len(repeated), int(repeated.min(initial=first))
        if count:
            rows_text = f"{where}: row {first + 1}{and_more(count)}"
            yield f"{rows_text}: the very shape and time of a row before; check that nothing is given twice"

    def spread_notes(self, where: str) -> Iterator[str]:
        """A note on the shape whose times differ most."""
        spread_count, worst = 0, (1.0, 0, 0)
        for order, shapes, times, _ in self._rows_of_equal_shape():
            starts = np.flatnonzero(np.diff(shapes, prepend=shapes[:1] - 1))
            ends = np.append(starts, len(shapes))[1:] - 1
            ratio = times[ends] / times[starts]
            spread_count += int((ratio > SPREAD_LIMIT).sum())
            most = int(ratio.argmax())
            first, second = sorted(order[[starts[most], ends[most]]] + 1)
            worst = max(worst, (float(ratio[most]), first, second), key=lambda entry: entry[0])
        if spread_count:
            more = f" (so are those of {spread_count - 1} more)" if spread_count > 1 else ""
            yield (
                f"{where}: rows {worst[1]} and {worst[2]} are one shape and {worst[0]:.4g} x apart{more}; "
                "check which of them holds"
            )

    def _rows_of_equal_shape(self) -> Iterator[RowsOfEqualShape]:
        """Position, shape, time and padding of the rows that share their shape, ordered by shape, then by time.

        Shapes are processed in parts by their remainder, so that a large table is never copied whole.
        """
        starts = np.cumsum([0, *map(len, self.shapes)])
        parts = 1 + int(starts[-1]) // ROWS_PER_PART
        for part in range(parts):
            selected = [np.flatnonzero(shapes % np.uint64(parts) == part) for shapes in self.shapes]
            shapes, times, codes = (_select(column, selected) for column in (self.shapes, self.times, self.codes))
            order = np.lexsort((times, shapes))
            is_equal = np.diff(shapes[order]) == 0
            order = order[np.append(is_equal, False) | np.insert(is_equal, 0, False)] if len(order) else order
            if len(order):
                rows = np.concatenate([start + rows for start, rows in zip(starts, selected, strict=False)])
                yield rows[order], shapes[order], times[order], codes[order]


def _select(column: Sequence[npt.NDArray[Any]], rows: Sequence[npt.NDArray[np.intp]]) -> npt.NDArray[Any]:
    return np.concatenate([values[some] for values, some in zip(column, rows, strict=True)])


def _hashes(shapes: pd.DataFrame) -> npt.NDArray[np.uint64]:
    """One hash per shape; missing values and defaults add nothing to it."""
    out = np.zeros(len(shapes), dtype=np.uint64)
    for position, (name, values) in enumerate(shapes.items()):
        default = DEFAULTS.get(str(name), np.nan)
        if values.array.isna().all():
            continue
        if values.dtype == "string":
            known, filled = values.notna().to_numpy(), values.to_numpy(dtype=object, na_value="")
        else:
            filled = values.to_numpy(dtype=float, na_value=default)
            known = ~np.isnan(filled) & (filled != default)
        if known.any():
            out += np.where(known, pd.util.hash_array(filled) * np.uint64(2 * position + 1), np.uint64(0))
    return out
