"""Errors of predicted times in percent: by slice, and the worst rows.

A group is a data set on a device. The figure of a slice is the unweighted mean over its groups, so that all devices
have the same weight; its max is the largest error of any row.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from estimator.core.format_shape import format_shape
from estimator.validation.tables import GROUP, KEYS

if TYPE_CHECKING:
    import pandas as pd

SLICES: tuple[list[str], ...] = ([], ["path"], ["op_class"], ["precision"], ["data_set"], ["family"], GROUP)
FIGURES = ["median", "mean", "p90", "p95", "max", "bias"]
COLUMNS = ["problem", "method", *KEYS, "groups", "n", *FIGURES]
PAIR_COLUMNS = ["problem", "source", "target", "model", "error"]  # of a whole model, from one device to another
PAIR = {"source", "target", "model"}
OVER_GROUPS = {**dict.fromkeys(FIGURES, "mean"), "max": "max", "n": "sum", "groups": "sum"}
TIME, MEASURED = "time_s", "measured"  # columns of the truth: of a time, and of a power or energy
DIGITS = 2  # of a percentage


def held_out(judged: Mapping[str, pd.DataFrame], methods: Sequence[str]) -> pd.DataFrame:
    """HELD_OUT, shipped with the fit: COLUMNS of each problem, method and slice; an empty key means all.

    A key with one value in all rows makes no slice.

    ``n`` counts rows, ``groups`` data sets on devices. Figures are of the absolute percentage error, but for bias: the
    median of the signed one, negative where predictions are too fast.
    """
    import pandas as pd

    tables = [
        _slice(rows, method, keys).assign(problem=problem, method=method)
        for problem, rows in ((name, _labelled(rows)) for name, rows in judged.items())
        for method in methods
        if method in rows
        for keys in SLICES
        if len(keys) != 1 or rows[keys[0]].nunique() > 1
    ]
    table = pd.concat(tables, ignore_index=True).reindex(columns=COLUMNS)
    return table.round(DIGITS).fillna(dict.fromkeys(KEYS, ""))


def of_pairs(judged: Mapping[str, pd.DataFrame], method: str) -> pd.DataFrame:
    """HELD_OUT_PAIRS, shipped with the fit: PAIR_COLUMNS of each judged whole model, with one method's signed error.

    From it figures of some of the devices can be computed.
    """
    import pandas as pd

    pairs = [rows.assign(problem=problem) for problem, rows in judged.items() if set(rows) >= PAIR]
    if not pairs:
        return pd.DataFrame(columns=PAIR_COLUMNS)
    table = pd.concat(pairs, ignore_index=True)
    return table.assign(error=_signed(table, method).round(DIGITS))[PAIR_COLUMNS]


def _labelled(rows: pd.DataFrame) -> pd.DataFrame:
    """The rows, with batched products as a separate op class."""
    if "batch" not in rows:
        return rows
    batched = rows["batch"].groupby(rows["data_set"]).transform("median") > 1
    return rows.assign(op_class=rows["op_class"].mask(batched.fillna(False), "batched " + rows["op_class"]))


def _slice(rows: pd.DataFrame, method: str, keys: list[str]) -> pd.DataFrame:
    """The figures of one method for each value of the keys; without keys those of all rows together."""
    signed = _signed(rows, method)
    groups = rows[KEYS].assign(error=signed.abs(), signed=signed).groupby([*dict.fromkeys([*keys, *GROUP])])
    error, other_keys = groups["error"], [key for key in KEYS if key not in GROUP]
    figures = error.agg(["median", "mean", "max"]).assign(
        n=error.size(), p90=error.quantile(0.9), p95=error.quantile(0.95), bias=groups["signed"].median(), groups=1
    )
    if keys == GROUP:
        return figures.join(groups[other_keys].agg(_common_value)).reset_index()
    figures = figures.reset_index()
    return figures.groupby(keys or np.zeros(len(figures))).agg(OVER_GROUPS).reset_index(drop=not keys)


def _signed(rows: pd.DataFrame, method: str) -> pd.Series:
    """Percentage error, negative where the prediction is too fast."""
    return 100.0 * (rows[method] / rows[TIME if TIME in rows else MEASURED] - 1.0)


def _common_value(values: pd.Series) -> str:
    """The value that all rows share; empty where they differ."""
    return str(values.iloc[0]) if values.nunique() == 1 else ""


def worst(rows: pd.DataFrame, method: str, count: int = 10, unit: str = "s") -> list[dict[str, Any]]:
    """The rows with the largest error factors of a method, with what was measured and predicted, in seconds or bytes.

    ``unit`` ends the keys of both.
    """
    factor = np.abs(np.log((rows[method] / rows["time_s"]).to_numpy()))
    worst_rows = rows.iloc[np.argsort(-factor, kind="stable")[:count]]
    shown_columns = [*GROUP, "op_class", "precision"]
    return [
        {
            **row[shown_columns],
            "shape": format_shape(row.dropna().to_dict()),
            f"measured_{unit}": row["time_s"],
            f"predicted_{unit}": row[method],
        }
        for _, row in worst_rows.iterrows()
    ]
