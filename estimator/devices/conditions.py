"""Rows of unlike conditions never merge silently: one index for tables in memory and for files that stream."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
import pandas as pd

from estimator.core.errors import EstimatorError
from estimator.core.schema import CONV_COLUMNS, GEMM_COLUMNS, MATRIX
from estimator.devices.odd_rows import and_more

APART = 1.5  # times by which rows of one shape may differ before that is told
SHAPE = [
    "op_class", "precision", *(column.name for column in (*GEMM_COLUMNS, *CONV_COLUMNS)), "sparsity", "cell", "hidden",
    "sequences", "timesteps", "ranks", "bytes", "flop", "cache",
]  # fmt: skip
KIND = ["op_class", "precision", "cache", "kernel", "sparse"]  # what one set of conditions holds for
CONDITIONS = ["library", "clock", "threads", "accumulate"]


def kinds(rows: pd.DataFrame) -> pd.DataFrame:
    """The kinds of row among MEASUREMENTS with their conditions, as text; '' where one is not said."""
    found = rows[[*KIND[:-1], *CONDITIONS]].assign(
        kernel=_op(rows),
        sparse=np.where(rows["sparsity"] > 0, "sparse", ""),
    )
    return found.drop_duplicates().astype("string[python]").fillna("")[[*KIND, *CONDITIONS]]


def _op(rows: pd.DataFrame) -> pd.Series:
    """What ``kernel`` says of the op; of matrix work it is an algorithm, chosen by shape."""
    return rows["kernel"].mask(rows["op_class"].isin(MATRIX))


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
        self.seen = pd.concat([self.seen, kinds(rows)]).drop_duplicates()
        self._refuse_mixed(where)
        texts = rows["padding"].fillna("")
        for text in texts.unique():
            self.paddings.setdefault(str(text), len(self.paddings))
        self.shapes.append(_hashes(rows[SHAPE].assign(op=_op(rows))))
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
        if len(self.paddings) < 2:
            return
        shapes, codes = np.concatenate(self.shapes), np.concatenate(self.codes)
        order = np.argsort(shapes, kind="stable")
        unlike = (np.diff(shapes[order]) == 0) & (np.diff(codes[order]) != 0)
        if unlike.any():
            position = int(unlike.argmax())
            names = [text or "none" for text in self.paddings]
            first, second = (names[codes[order[i]]] for i in (position, position + 1))
            raise EstimatorError(
                f"{where}: rows {order[position] + 1} and {order[position + 1] + 1} are one shape with padding "
                f"'{first}' and '{second}'; unlike conditions do not merge, so keep one padding per shape"
            )

    def repeats(self, where: str) -> Iterator[str]:
        """A sentence on rows that have the very shape and time of a row before."""
        order, shapes, times = self._of_one_shape()
        again = order[1:][(np.diff(shapes) == 0) & (np.diff(times) == 0)]
        if len(again):
            first = f"{where}: row {again.min() + 1}{and_more(len(again))}"
            yield f"{first}: the very shape and time of a row before; check that nothing is given twice"

    def apart(self, where: str) -> Iterator[str]:
        """A sentence on the shape whose times lie farthest apart."""
        order, shapes, times = self._of_one_shape()
        starts = np.flatnonzero(np.diff(shapes, prepend=shapes[:1] - 1))
        ends = np.append(starts, len(shapes))[1:] - 1
        ratio = times[ends] / times[starts]
        many = int((ratio > APART).sum())
        if many:
            worst = int(ratio.argmax())
            rows = sorted(order[[starts[worst], ends[worst]]] + 1)
            others = f" (so are those of {many - 1} more)" if many > 1 else ""
            yield (
                f"{where}: rows {rows[0]} and {rows[1]} are one shape and {ratio[worst]:.4g} x apart{others}; "
                "check which of them holds"
            )

    def _of_one_shape(self) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.uint64], npt.NDArray[np.float64]]:
        """Position, shape and time of the rows that share their shape, ordered by shape, then by time."""
        shapes = np.concatenate(self.shapes)
        order = np.argsort(shapes, kind="stable")
        same = np.diff(shapes[order]) == 0
        order = order[np.append(same, False) | np.insert(same, 0, False)] if len(order) else order
        shapes, times = shapes[order], np.concatenate(self.times)[order]
        by_time = np.lexsort((times, shapes))
        return order[by_time], shapes[by_time], times[by_time]


def _hashes(shapes: pd.DataFrame) -> npt.NDArray[np.uint64]:
    """One number for each shape, to which missing values and the columns that hold nothing else add nothing."""
    out = np.zeros(len(shapes), dtype=np.uint64)
    for position, name in enumerate(shapes):
        values = shapes[name]
        known = values.notna().to_numpy()
        if known.any():
            text = values.dtype == "string"
            plain = values.fillna("" if text else 0).to_numpy(dtype=object if text else float)
            out += np.where(known, pd.util.hash_array(plain) * np.uint64(2 * position + 1), np.uint64(0))
    return out
