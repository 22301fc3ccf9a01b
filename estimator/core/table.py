"""A table declared as data (name, dtype, unit, meaning, default of each column), and the check of frames against it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING, Literal

import numpy as np

from estimator.core.errors import EstimatorError, near_names
from estimator.core.types import Flags

if TYPE_CHECKING:
    import pandas as pd

Kind = Literal["text", "integer", "number"]
LARGEST_WHOLE = 2**53  # largest whole number up to which floats are exact
PANDAS_DTYPE = {"text": "string[python]", "integer": "Int64", "number": "float64"}


@dataclass(frozen=True)
class Column:
    """One column: meaning, unit, and valid values. Absence is NA."""

    name: str
    kind: Kind
    meaning: str
    unit: str = ""
    required: bool = False
    minimum: float | None = None
    above: float | None = None
    maximum: float | None = None
    choices: tuple[str, ...] = ()
    read: Callable[[str], str] = str.lower  # another spelling of a choice → the choice
    default: float | None = None  # the value of missing entries

    @property
    def description(self) -> str:
        """The meaning, and the default."""
        return self.meaning if self.default is None else f"{self.meaning}; {self.default:g} where missing"


@dataclass(frozen=True)
class Table:
    """A table's name and columns."""

    name: str
    columns: tuple[Column, ...]

    def extend(self, name: str, *columns: Column) -> Table:
        """A table with these columns after its own, which are no longer required, as they were checked before."""
        return Table(name, (*(replace(column, required=False) for column in self.columns), *columns))

    def names(self) -> list[str]:
        """The column names in order."""
        return [column.name for column in self.columns]

    def document(self) -> str:
        """The columns as a Markdown table."""
        rows = [f"| {c.name} | {c.kind} | {c.unit} | {c.description} |" for c in self.columns]
        return "\n".join(["| column | type | unit | meaning |", "|---|---|---|---|", *rows])

    def empty(self) -> pd.DataFrame:
        """The table without any rows."""
        return _without_rows(self).copy()

    def conform(self, frame: pd.DataFrame, where: str) -> pd.DataFrame:
        """The frame with every declared column, typed and in order, followed by its other columns.

        Raises EstimatorError with every fault: missing or unreadable values, values out of bounds.
        """
        import pandas as pd

        faults: list[str] = []
        typed: dict[str, pd.Series] = {}
        blank = {kind: pd.Series(None, index=frame.index, dtype=dtype) for kind, dtype in PANDAS_DTYPE.items()}
        given = dict(frame.items())
        for column in self.columns:
            values = given.pop(column.name, None)
            if values is None:
                if column.required:
                    faults.append(_missing(column, [str(name) for name in frame if name not in self.names()], where))
                typed[column.name] = blank[column.kind]
            elif not column.required and values.array.isna().all():  # ten times as fast as on the Series
                typed[column.name] = blank[column.kind]
            else:
                typed[column.name] = _typed(values, column, where, faults)
        if faults:
            raise EstimatorError(*faults)
        return _named_by_objects(pd.concat(typed | given, axis=1))  # takes half the time of DataFrame(typed | given)


@cache
def _without_rows(table: Table) -> pd.DataFrame:
    """As :meth:`Table.empty`; kept, as most devices were never measured. Callers must not change it."""
    import pandas as pd

    blank = {kind: pd.Series(dtype=dtype) for kind, dtype in PANDAS_DTYPE.items()}
    return _named_by_objects(pd.DataFrame({column.name: blank[column.kind] for column in table.columns}))


def _named_by_objects(frame: pd.DataFrame) -> pd.DataFrame:
    """The frame with names as Python's own strings, as in pandas 2: with those of pandas 3 a column takes twice as long
    to find.
    """
    frame.columns = frame.columns.astype(object)
    return frame


def _missing(column: Column, unknown: Sequence[str], where: str) -> str:
    """The fault of a required column that is missing; an unknown one may stand for it."""
    near = near_names(column.name, unknown)
    unit, in_its_place = f" [{column.unit}]" if column.unit else "", f" in place of '{near[0]}'" if near else ""
    return f"{where}: the column '{column.name}' is missing; add it{in_its_place} ({column.meaning}{unit})"


def _typed(values: pd.Series, column: Column, where: str, faults: list[str]) -> pd.Series:
    out, bad = _text(values, column) if column.kind == "text" else _number(values, column)
    if bad.any():
        faults.extend(_faults(values, bad, column, where))
        return out
    return out if out.dtype == PANDAS_DTYPE[column.kind] else out.astype(PANDAS_DTYPE[column.kind])


def _text(values: pd.Series, column: Column) -> tuple[pd.Series, Flags]:
    import pandas as pd

    if values.dtype != PANDAS_DTYPE["text"]:
        values = values.astype("string[python]").replace("", pd.NA)
    missing = np.asarray(values.array.isna())
    bad = missing & column.required
    others = set(values.to_numpy(dtype=object)) - {*column.choices, pd.NA} if column.choices else set()
    spellings = {word: read for word in others if (read := column.read(str(word))) in column.choices}
    if spellings:
        values, others = values.replace(spellings), others - spellings.keys()
    return values, bad | values.isin(others).to_numpy() if others else bad


def _number(values: pd.Series, column: Column) -> tuple[pd.Series, Flags]:
    import pandas as pd

    missing, typed = np.asarray(values.array.isna()), values.dtype == PANDAS_DTYPE[column.kind]
    if pd.api.types.is_numeric_dtype(values.dtype):
        numbers = values.to_numpy(dtype=float, na_value=np.nan)
    else:
        numbers = np.asarray(pd.to_numeric(values.to_numpy(dtype=object, na_value=None), errors="coerce"), dtype=float)
    bad = np.isinf(numbers) | (np.isnan(numbers) & (~missing | column.required))
    if column.minimum is not None:
        bad |= numbers < column.minimum
    if column.above is not None:
        bad |= numbers <= column.above
    if column.maximum is not None:
        bad |= numbers > column.maximum
    if column.kind == "integer":
        finite = np.where(np.isfinite(numbers), numbers, 0.0)
        bad |= (finite % 1 != 0) | (finite > LARGEST_WHOLE)
    return values if typed else pd.Series(numbers, index=values.index), bad


def _faults(values: pd.Series, bad: Flags, column: Column, where: str) -> Iterator[str]:
    missing = values.isna()
    positions = [i for i, is_bad in enumerate(bad) if is_bad]
    for position in positions[:3]:
        value = values.iloc[position]
        text = "missing" if missing.iloc[position] else repr(value) if isinstance(value, str) else str(value)
        large = ", which is too large" if _is_too_large(value, column) else ""
        yield f"{where}: row {values.index[position] + 1}: {column.name} is {text}{large}; expected {_expected(column)}"
    if len(positions) > 3:
        yield f"{where}: {len(positions) - 3} more rows have such a fault in {column.name}"


def _is_too_large(value: object, column: Column) -> bool:
    """Whether a value is a number that is only too large: floats hold larger whole numbers no longer exactly."""
    import pandas as pd

    most = LARGEST_WHOLE if column.maximum is None else column.maximum
    return column.kind == "integer" and bool(pd.to_numeric(value, errors="coerce") > most)


def _expected(column: Column) -> str:
    if column.choices:
        return f"one of {', '.join(column.choices)}"
    kind = {"integer": "a whole number", "number": "a number", "text": "text"}[column.kind]
    bound = f" above {column.above:g}" if column.above is not None else ""
    bound = f" of at least {column.minimum:g}" if column.minimum is not None else bound
    bound = f"{bound} and at most {column.maximum:g}" if column.maximum is not None else bound
    return f"{kind}{bound}{f' [{column.unit}]' if column.unit else ''}"
