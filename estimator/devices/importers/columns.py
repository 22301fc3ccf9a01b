"""Foreign table → the columns of MEASUREMENTS, by the names of its headers.

A reader finds the tables of its format, as cells of text under headers; :func:`read_table` converts them. The header
of a time must name a unit, and the time must agree with a product's rate in the same row.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal, InvalidOperation, Overflow

import numpy as np
import pandas as pd

from estimator.core import physics
from estimator.core.errors import EstimatorError
from estimator.core.schema import PASSES
from estimator.core.types import ITEMSIZE
from estimator.devices.importers import names

AddNote = Callable[[str], None]  # adds a note on what was read
Times = dict[str, tuple[str, Decimal]]  # which time → its header, and the seconds of its unit
RATE_TOLERANCE = 0.1  # relative difference of a time and its rate: both are rounded
EXPECTED = "columns such as m, n, k, precision and 'time (usec)'"


def read_table(cells: pd.DataFrame, where: str, add_note: AddNote, *, rounded: bool = False) -> pd.DataFrame:
    """Convert one table of text to the columns of MEASUREMENTS, one row per timed pass; the index is kept.

    ``left_out`` is the reason of a row without time. ``rounded``: each time lies within half a unit of its last digit.
    Raises EstimatorError where no table, no time, a time without a unit, or two columns of one meaning are found.
    """
    base = _translate_values(_known_columns(cells, where, add_note))
    times = _time_columns(cells, where)
    for which, (header, _) in times.items():
        meaning = which if which.startswith("time_") else "time_s"
        _refuse_ambiguous({column: column for column in base} | {header: meaning}, where)
    for end in ("time_low_s", "time_high_s"):
        if end in times:
            header, unit = times.pop(end)
            base[end] = _to_seconds(cells[header], unit)
    frames = [_rows_of_time(base, which, cells[header], unit, rounded) for which, (header, unit) in times.items()]
    rows = pd.concat(frames).sort_index(kind="stable") if frames else base
    return _check_rates(rows, cells, where)


def _known_columns(cells: pd.DataFrame, where: str, add_note: AddNote) -> pd.DataFrame:
    """The known columns under our names, with the op class of the table."""
    headers = list(cells)
    duplicate = next((header for header in headers if headers.count(header) > 1), None)
    if duplicate is not None:
        raise EstimatorError(f"{where}: the column '{duplicate}' stands twice; delete one")
    has_op_class = "op_class" in {names.column_of(header) for header in headers}
    kind = None if has_op_class else names.op_class_of(headers)
    if kind is None and not has_op_class:
        raise EstimatorError(f"{where}: found no table of measurements; expected {EXPECTED}")
    columns = {header: names.column_of(header, names.TABLES[kind or "gemm"][0]) for header in headers}
    known = _refuse_ambiguous({header: column for header, column in columns.items() if column}, where)
    other_headers = (header for header in headers if header and header not in known.values())
    unused = [header for header in other_headers if not names.time_of(header) and not names.rate_of(header)]
    if unused:
        add_note(f"{where}: not used: {', '.join(map(repr, unused))}")
    base = pd.DataFrame({column: cells[header] for column, header in known.items()}, index=cells.index)
    if unit := names.clock_unit(known.get("clock", "")):
        base["clock"] = base["clock"].str.replace(r"^[\d.]+$", rf"\g<0> {unit}", regex=True)
    return base.assign(op_class=kind) if kind else base


def _refuse_ambiguous(meanings: dict[str, str], where: str) -> dict[str, str]:
    """Invert header → meaning. Raises EstimatorError where two headers have one meaning."""
    headers: dict[str, str] = {}
    for header, meaning in meanings.items():
        if meaning in headers:
            raise EstimatorError(f"{where}: '{headers[meaning]}' and '{header}' both are {meaning}; delete one column")
        headers[meaning] = header
    return headers


def _translate_values(base: pd.DataFrame) -> pd.DataFrame:
    """Translate values to our words; join versions in one column; count the bytes of fp32 values."""
    for column in names.WORDS:
        if column in base:
            codes, words = pd.factorize(base[column])
            translated = [names.translate_word(column, str(word)) or pd.NA for word in words]
            base[column] = pd.array([*translated, pd.NA], dtype="string[python]")[codes]  # code -1 is missing
    for name in names.VERSIONS:
        if name in base:
            base["versions"] = join_text(base.get("versions"), f"{name} " + base.pop(name))
    if "floats" in base:
        bytes_sent = ITEMSIZE["fp32"] * pd.to_numeric(base.pop("floats"), errors="coerce")
        base = base.assign(bytes=base.get("bytes", bytes_sent), precision=base.get("precision", "fp32"))
    return base


def _time_columns(cells: pd.DataFrame, where: str) -> Times:
    """The columns of times with their units. Raises EstimatorError where one names no unit."""
    meanings = {header: names.time_of(header) for header in cells if names.column_of(header) is None}
    headers = _refuse_ambiguous({header: which for header, which in meanings.items() if which}, where)
    headers.pop("total", None)
    times = {which: (header, names.name_and_unit(header)[1]) for which, header in headers.items()}
    for header, unit in times.values():
        if unit is None:
            raise EstimatorError(f"{where}: '{header}' has no unit; write one beside it, such as '{header} (usec)'")
    return {which: (header, unit) for which, (header, unit) in times.items() if unit}


def _rows_of_time(base: pd.DataFrame, which: str, text: pd.Series, unit: Decimal, rounded: bool) -> pd.DataFrame:
    """The rows with the times of one column, or the reason why they have none."""
    untimed = text.str.lower().isin(names.UNTIMED)
    rows = base.assign(left_out=text.where(untimed).replace("", "no time"), time_s=_to_seconds(text, unit))
    if which in PASSES:
        rows["pass"] = which
    if which != "forward" and which in PASSES:
        rows = rows.drop(columns="kernel", errors="ignore")  # it names the forward algorithm
    if rounded:
        rows["time_low_s"], rows["time_high_s"] = (_to_seconds(text, unit, half_digits=end) for end in (-1, 1))
    return rows


def _to_seconds(text: pd.Series, unit: Decimal, half_digits: int = 0) -> pd.Series:
    """Times in seconds, exact to the last digit printed, or half a unit of it away.

    Text that is no number is kept; the schema refuses it.
    """

    def scale(cell: str) -> str:
        try:
            value = Decimal(cell)
            exponent = value.as_tuple().exponent
            if half_digits and isinstance(exponent, int):
                value += Decimal(5 * half_digits).scaleb(exponent - 1)
            return str(value * unit)
        except (InvalidOperation, Overflow):
            return cell

    return text.map(scale, na_action="ignore")


def _check_rates(rows: pd.DataFrame, cells: pd.DataFrame, where: str) -> pd.DataFrame:
    """Check times against rates; rows without times get them from rates. Raises EstimatorError where they differ."""
    header = next((header for header in cells if names.rate_of(header)), None)
    products = rows.index.equals(cells.index) and {"m", "n", "k"} <= set(rows)
    if header is None or not products:
        if "time_s" not in rows:
            raise EstimatorError(f"{where}: found no time; expected {EXPECTED}")
        return rows
    batch = to_floats(rows["batch"]).fillna(1) if "batch" in rows else 1
    flop = physics.gemm_flop(batch, *(to_floats(rows[name]) for name in ("m", "n", "k")))
    rates = (names.rate_of(header) or np.nan) * to_floats(cells[header])
    dense = ~(to_floats(rows["sparsity"]) > 0) if "sparsity" in rows else pd.Series(True, rows.index)
    if "time_s" not in rows and not dense.all():
        row = rows.index[int((~dense).to_numpy().argmax())] + 1
        raise EstimatorError(f"{where}: row {row}: a sparse product's rate gives no time; add a column 'time (usec)'")
    if "time_s" not in rows:
        return rows.assign(time_s=flop / rates.where(rates > 0))
    ratio = flop / to_floats(rows["time_s"]) / rates.where(rates > 0)
    differs = ((ratio > 1 + RATE_TOLERANCE) | (ratio < 1 / (1 + RATE_TOLERANCE))) & dense
    if differs.any():
        row = int(differs.to_numpy().argmax())
        raise EstimatorError(
            f"{where}: row {rows.index[row] + 1}: the rate that the time gives is {ratio.iloc[row]:.4g} x that of "
            f"'{header}' beside it; check the units of both"
        )
    return rows


def join_text(first: pd.Series | None, second: pd.Series) -> pd.Series:
    """Join two columns of text, either of which may be missing."""
    return second if first is None else (first + ", " + second).fillna(first).fillna(second)


def to_floats(values: pd.Series) -> pd.Series:
    """The values as floats; NaN where they are no numbers."""
    return pd.to_numeric(values.astype("object"), errors="coerce").astype(float)
