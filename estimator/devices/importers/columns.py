"""A foreign table → the columns of MEASUREMENTS, by the names of its headers.

A reader finds the tables of its format, as cells of text under their headers; :func:`read_table` does the rest. A time
is taken only where its header names a unit, and must agree with the rate of a product that stands beside it.
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

Tell = Callable[[str], None]  # takes a sentence on what was read
Times = dict[str, tuple[str, Decimal]]  # which time → its header, and the seconds of its unit
RATES_DIFFER = 0.1  # share by which a time and the rate beside it may differ: both are rounded
EXPECTED = "columns such as m, n, k, precision and 'time (usec)'"


def read_table(cells: pd.DataFrame, where: str, tell: Tell, *, rounded: bool = False) -> pd.DataFrame:
    """One table of text in the columns of MEASUREMENTS, a row for each pass that it times; the index stays.

    Rows without a time say why in ``left_out``. ``rounded``: each time lies within half a unit of its last digit.
    Raises EstimatorError where no table, no time, a time without a unit, or two columns of one meaning are found.
    """
    base = _translated(_named(cells, where, tell))
    times = _times(cells, where)
    for which, (header, _) in times.items():
        meaning = which if which.startswith("time_") else "time_s"
        _distinct({column: column for column in base} | {header: meaning}, where)
    for end in ("time_low_s", "time_high_s"):
        if end in times:
            header, unit = times.pop(end)
            base[end] = _scaled(cells[header], unit)
    frames = [_timed(base, which, cells[header], unit, rounded) for which, (header, unit) in times.items()]
    rows = pd.concat(frames).sort_index(kind="stable") if frames else base
    return _with_rates(rows, cells, where)


def _named(cells: pd.DataFrame, where: str, tell: Tell) -> pd.DataFrame:
    """The columns that are known, under our names, with the op class of the table."""
    headers = list(cells)
    twice = next((header for header in headers if headers.count(header) > 1), None)
    if twice is not None:
        raise EstimatorError(f"{where}: the column '{twice}' stands twice; delete one")
    said = "op_class" in {names.column_of(header) for header in headers}
    kind = None if said else names.kind_of(headers)
    if kind is None and not said:
        raise EstimatorError(f"{where}: found no table of measurements; expected {EXPECTED}")
    columns = {header: names.column_of(header, names.KINDS[kind or "gemm"][0]) for header in headers}
    known = _distinct({header: column for header, column in columns.items() if column}, where)
    others = (header for header in headers if header and header not in known.values())
    unused = [header for header in others if not names.time_of(header) and not names.rate_of(header)]
    if unused:
        tell(f"{where}: not used: {', '.join(map(repr, unused))}")
    base = pd.DataFrame({column: cells[header] for column, header in known.items()}, index=cells.index)
    if unit := names.clock_unit(known.get("clock", "")):
        base["clock"] = base["clock"].str.replace(r"^[\d.]+$", rf"\g<0> {unit}", regex=True)
    return base.assign(op_class=kind) if kind else base


def _distinct(meanings: dict[str, str], where: str) -> dict[str, str]:
    """Meaning → header. Raises EstimatorError where two headers have one meaning."""
    found: dict[str, str] = {}
    for header, meaning in meanings.items():
        if meaning in found:
            raise EstimatorError(f"{where}: '{found[meaning]}' and '{header}' both are {meaning}; delete one column")
        found[meaning] = header
    return found


def _translated(base: pd.DataFrame) -> pd.DataFrame:
    """The values in our words: precisions, transposes, cells; versions in one column; the bytes of fp32 values."""
    for column in names.WORDS:
        if column in base:
            codes, found = pd.factorize(base[column])
            ours = [names.word(column, str(word)) or pd.NA for word in found]
            base[column] = pd.array([*ours, pd.NA], dtype="string[python]")[codes]  # code -1 is missing
    for name in names.VERSIONS:
        if name in base:
            base["versions"] = joined(base.get("versions"), f"{name} " + base.pop(name))
    if "floats" in base:
        sent = ITEMSIZE["fp32"] * pd.to_numeric(base.pop("floats"), errors="coerce")
        base = base.assign(bytes=base.get("bytes", sent), precision=base.get("precision", "fp32"))
    return base


def _times(cells: pd.DataFrame, where: str) -> Times:
    """The columns that hold times in a unit. Raises EstimatorError where one names no unit."""
    meanings = {header: names.time_of(header) for header in cells if names.column_of(header) is None}
    found = _distinct({header: which for header, which in meanings.items() if which}, where)
    found.pop("total", None)
    times = {which: (header, names.named_unit(header)[1]) for which, header in found.items()}
    for header, unit in times.values():
        if unit is None:
            raise EstimatorError(f"{where}: '{header}' has no unit; write one beside it, such as '{header} (usec)'")
    return {which: (header, unit) for which, (header, unit) in times.items() if unit}


def _timed(base: pd.DataFrame, which: str, text: pd.Series, unit: Decimal, rounded: bool) -> pd.DataFrame:
    """The rows with the times of one column, or why they have none."""
    untimed = text.str.lower().isin(names.UNTIMED)
    rows = base.assign(left_out=text.where(untimed).replace("", "no time"), time_s=_scaled(text, unit))
    if which in PASSES:
        rows["pass"] = which
    if which != "forward" and which in PASSES:
        rows = rows.drop(columns="kernel", errors="ignore")  # it is the forward algorithm's name
    if rounded:
        rows["time_low_s"], rows["time_high_s"] = (_scaled(text, unit, half_digits=end) for end in (-1, 1))
    return rows


def _scaled(text: pd.Series, unit: Decimal, half_digits: int = 0) -> pd.Series:
    """Times in seconds, exact to the last digit printed, or half a unit of it away.

    What is no number stays, for the schema to refuse.
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


def _with_rates(rows: pd.DataFrame, cells: pd.DataFrame, where: str) -> pd.DataFrame:
    """The rows, timed by their rates where nothing else times them. Raises EstimatorError where the two differ."""
    header = next((header for header in cells if names.rate_of(header)), None)
    products = rows.index.equals(cells.index) and {"m", "n", "k"} <= set(rows)
    if header is None or not products:
        if "time_s" not in rows:
            raise EstimatorError(f"{where}: found no time; expected {EXPECTED}")
        return rows
    batch = numbers(rows["batch"]).fillna(1) if "batch" in rows else 1
    flop = physics.gemm_flop(batch, *(numbers(rows[name]) for name in ("m", "n", "k")))
    rates = (names.rate_of(header) or np.nan) * numbers(cells[header])
    dense = ~(numbers(rows["sparsity"]) > 0) if "sparsity" in rows else pd.Series(True, rows.index)
    if "time_s" not in rows and not dense.all():
        row = rows.index[int((~dense).to_numpy().argmax())] + 1
        raise EstimatorError(f"{where}: row {row}: a sparse product's rate gives no time; add a column 'time (usec)'")
    if "time_s" not in rows:
        return rows.assign(time_s=flop / rates.where(rates > 0))
    ratio = flop / numbers(rows["time_s"]) / rates.where(rates > 0)
    differ = ((ratio > 1 + RATES_DIFFER) | (ratio < 1 / (1 + RATES_DIFFER))) & dense
    if differ.any():
        row = int(differ.to_numpy().argmax())
        raise EstimatorError(
            f"{where}: row {rows.index[row] + 1}: the rate that the time gives is {ratio.iloc[row]:.4g} x that of "
            f"'{header}' beside it; check the units of both"
        )
    return rows


def joined(first: pd.Series | None, second: pd.Series) -> pd.Series:
    """Two columns of text as one, where either says something."""
    return second if first is None else (first + ", " + second).fillna(first).fillna(second)


def numbers(values: pd.Series) -> pd.Series:
    """The values as floats, NaN where they are none."""
    return pd.to_numeric(values.astype("object"), errors="coerce").astype(float)
