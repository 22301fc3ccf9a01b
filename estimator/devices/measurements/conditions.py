"""Rows of unlike conditions never merge silently: one index for tables in memory and for files that stream."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from estimator.core.errors import EstimatorError
from estimator.core.schema import CONV_COLUMNS, DEFAULTS, GEMM_COLUMNS, MATRIX
from estimator.devices.measurements.suspicious_rows import and_more

APART = 1.5  # times by which rows of one shape may differ before that is told
SHAPE = [
    "op_class", "operator", "precision", *(column.name for column in (*GEMM_COLUMNS, *CONV_COLUMNS)), "row_length",
    "sparsity", "cell", "hidden", "sequences", "timesteps", "ranks", "bytes", "flop", "cache",
]  # fmt: skip
KIND = ["op_class", "precision", "cache", "kernel", "sparse"]  # what one set of conditions holds for
CONDITIONS = ["library", "clock", "threads", "accumulate"]
ROWS_OF_A_PART = 20_000  # in which the rows of one shape are looked for
OneShape = tuple[npt.NDArray[np.intp], npt.NDArray[np.uint64], npt.NDArray[np.float64], npt.NDArray[np.int32]]


def kinds(rows: pd.DataFrame) -> pd.DataFrame:
    """The kinds of row among MEASUREMENTS with their conditions, as text; '' where one is not said."""
    found = {name: rows[name] for name in ("op_class", "precision", *CONDITIONS)}
    found |= {"kernel": op_kernel(rows), "cache": _cache(rows)}
    columns = {name: values.to_numpy(dtype=object, na_value="") for name, values in found.items()}
    columns["sparse"] = np.where(rows["sparsity"] > 0, "sparse", "")
    distinct = dict.fromkeys(zip(*(columns[name] for name in (*KIND, *CONDITIONS)), strict=True))
    return pd.DataFrame(list(distinct), columns=[*KIND, *CONDITIONS], dtype="string[python]")


def op_kernel(rows: pd.DataFrame) -> pd.Series:
    """What ``kernel`` says of the op; of matrix work it is an algorithm, chosen by shape."""
    return rows["kernel"].mask(rows["op_class"].isin(MATRIX))


def _cache(rows: pd.DataFrame) -> pd.Series:
    """Where the operands lay; those of matrix work are warm unless said otherwise, as the model takes them."""
    return rows["cache"].mask(rows["op_class"].isin(MATRIX) & rows["cache"].isna(), "warm")


class Conditions:
    """The conditions seen so far: one set per kind of row, one padding per shape (20 bytes of memory a row)."""

    def __init__(self) -> None:
        self.seen = pd.DataFrame(columns=[*KIND, *CONDITIONS], dtype="string[python]")
        self.paddings: dict[str, int] = {}
        self.shapes: list[npt.NDArray[np.uint64]] = []
        self.codes: list[npt.NDArray[np.int32]] = []
        self.times: list[npt.NDArray[np.float64]] = []

    def add(self, rows: pd.DataFrame, where: str) -> None:
        """Take MEASUREMENTS in. Raises EstimatorError where one kind of row was measured under unlike conditions."""
        found = kinds(rows)
        self.seen = pd.concat([self.seen, found]).drop_duplicates() if len(self.seen) else found
        self._refuse_mixed(where)
        texts = rows["padding"].fillna("")
        for text in texts.unique():
            self.paddings.setdefault(str(text), len(self.paddings))
        self.shapes.append(_hashes(rows[SHAPE].assign(op=op_kernel(rows), cache=_cache(rows))))
        self.times.append(rows["time_s"].to_numpy(dtype=float))
        self.codes.append(texts.map(self.paddings).to_numpy(dtype=np.int32))

    def _refuse_mixed(self, where: str) -> None:
        if not self.seen.duplicated(KIND).any():
            return
        counts = self.seen.groupby(KIND)[CONDITIONS].nunique()
        for condition in CONDITIONS:
            mixed = counts.index[counts[condition] > 1]
            if len(mixed):
                kind = dict(zip(KIND, mixed[0], strict=True))
                alike = (self.seen[KIND] == pd.Series(kind)).all(axis=1)
                first, second, *_ = (value or "(not said)" for value in self.seen.loc[alike, condition].unique())
                raise EstimatorError(
                    f"{where}: {kind['precision']} {kind['op_class']} was measured with {condition} '{first}' and "
                    f"'{second}'; unlike conditions do not merge, so keep one {condition} per file"
                )

    def finish(self, where: str) -> None:
        """Raise EstimatorError where one shape was measured with unlike paddings."""
        for order, shapes, _, codes in self._of_one_shape() if len(self.paddings) > 1 else ():
            unlike = (np.diff(shapes) == 0) & (np.diff(codes) != 0)
            if unlike.any():
                position = int(unlike.argmax())
                pair = sorted(zip(order[position : position + 2] + 1, codes[position : position + 2], strict=True))
                rows, names = [row for row, _ in pair], [[*self.paddings][code] or "none" for _, code in pair]
                raise EstimatorError(
                    f"{where}: rows {rows[0]} and {rows[1]} are one shape with padding '{names[0]}' and '{names[1]}'; "
                    "unlike conditions do not merge, so keep one padding per shape"
                )

    def repeats(self, where: str) -> Iterator[str]:
        """A sentence on rows that have the very shape and time of a row before."""
        count, first = 0, np.iinfo(np.intp).max
        for order, shapes, times, _ in self._of_one_shape():
            again = order[1:][(np.diff(shapes) == 0) & (np.diff(times) == 0)]
            count, first = count + len(again), int(again.min(initial=first))
        if count:
            said = f"{where}: row {first + 1}{and_more(count)}"
            yield f"{said}: the very shape and time of a row before; check that nothing is given twice"

    def apart(self, where: str) -> Iterator[str]:
        """A sentence on the shape whose times lie farthest apart."""
        many, worst = 0, (1.0, 0, 0)
        for order, shapes, times, _ in self._of_one_shape():
            starts = np.flatnonzero(np.diff(shapes, prepend=shapes[:1] - 1))
            ends = np.append(starts, len(shapes))[1:] - 1
            ratio = times[ends] / times[starts]
            many += int((ratio > APART).sum())
            most = int(ratio.argmax())
            first, second = sorted(order[[starts[most], ends[most]]] + 1)
            worst = max(worst, (float(ratio[most]), first, second), key=lambda found: found[0])
        if many:
            others = f" (so are those of {many - 1} more)" if many > 1 else ""
            yield (
                f"{where}: rows {worst[1]} and {worst[2]} are one shape and {worst[0]:.4g} x apart{others}; "
                "check which of them holds"
            )

    def _of_one_shape(self) -> Iterator[OneShape]:
        """Position, shape, time and padding of the rows that share their shape, ordered by shape, then by time.

        Shapes come in parts by their remainder, so that no copy of all rows of a large table is ever held.
        """
        starts = np.cumsum([0, *map(len, self.shapes)])
        parts = 1 + int(starts[-1]) // ROWS_OF_A_PART
        for part in range(parts):
            chosen = [np.flatnonzero(shapes % np.uint64(parts) == part) for shapes in self.shapes]
            shapes, times, codes = (_chosen(column, chosen) for column in (self.shapes, self.times, self.codes))
            order = np.lexsort((times, shapes))
            same = np.diff(shapes[order]) == 0
            order = order[np.append(same, False) | np.insert(same, 0, False)] if len(order) else order
            if len(order):
                rows = np.concatenate([start + rows for start, rows in zip(starts, chosen, strict=False)])
                yield rows[order], shapes[order], times[order], codes[order]


def _chosen(column: Sequence[npt.NDArray[Any]], rows: Sequence[npt.NDArray[np.intp]]) -> npt.NDArray[Any]:
    return np.concatenate([values[some] for values, some in zip(column, rows, strict=True)])


def _hashes(shapes: pd.DataFrame) -> npt.NDArray[np.uint64]:
    """One number for each shape, to which values that are missing or what a missing one means add nothing."""
    out = np.zeros(len(shapes), dtype=np.uint64)
    for position, (name, values) in enumerate(shapes.items()):
        default = DEFAULTS.get(str(name), np.nan)
        if values.array.isna().all():
            continue
        if values.dtype == "string":
            known, plain = values.notna().to_numpy(), values.to_numpy(dtype=object, na_value="")
        else:
            plain = values.to_numpy(dtype=float, na_value=default)
            known = ~np.isnan(plain) & (plain != default)
        if known.any():
            out += np.where(known, pd.util.hash_array(plain) * np.uint64(2 * position + 1), np.uint64(0))
    return out
